"""visualwords: recognise objects, scenes and pedestrians on ordinary CPUs.

The headline names are loaded on first use, so that ``import visualwords`` and the commands'
``--help`` stay instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector
    from visualwords.apps.image_classifier import ImageClassifier
    from visualwords.apps.loading import load

__version__ = "0.1.0"

__all__ = ["ImageClassifier", "PedestrianDetector", "__version__", "load"]

_HOME_OF = {
    "ImageClassifier": "visualwords.apps.image_classifier",
    "PedestrianDetector": "visualwords.apps.detection.detector",
    "load": "visualwords.apps.loading",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'visualwords' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
