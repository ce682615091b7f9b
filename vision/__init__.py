"""visualwords: recognise objects, scenes and pedestrians on ordinary CPUs.

The headline names are loaded on first use, so that ``import visualwords`` and the commands'
``--help`` stay instant.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector
    from visualwords.apps.evaluation.comparing import compare
    from visualwords.apps.export.exporting import export_onnx
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.loading import load
    from visualwords.apps.pipeline.recipe import Recipe

__version__ = "0.1.0"

__all__ = [
    "ImageClassifier",
    "PedestrianDetector",
    "Recipe",
    "__version__",
    "compare",
    "export_onnx",
    "load",
]


def on_first_use(
    package: str, home_of: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package whose names are loaded lazily.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    home_of : dict of name → module that has it

    Examples
    --------
    >>> get, names = on_first_use("numbers", {"Fraction": "fractions"})
    >>> get("Fraction")(1, 2), names()
    (Fraction(1, 2), ['Fraction'])
    """

    def get(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home_of[name]), name)

    return get, lambda: sorted(home_of)


__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "ImageClassifier": "visualwords.apps.pipeline.classifier",
        "PedestrianDetector": "visualwords.apps.detection.detector",
        "Recipe": "visualwords.apps.pipeline.recipe",
        "compare": "visualwords.apps.evaluation.comparing",
        "export_onnx": "visualwords.apps.export.exporting",
        "load": "visualwords.apps.pipeline.loading",
    },
)
