"""visualwords: recognise objects, scenes and pedestrians on ordinary CPUs.

The headline names are loaded on first use, so that ``import visualwords`` and the commands'
``--help`` stay instant.
"""

from typing import TYPE_CHECKING

from visualwords.first_use import on_first_use

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector
    from visualwords.apps.evaluation.comparing import compare
    from visualwords.apps.pipeline.image_classifier import ImageClassifier
    from visualwords.apps.pipeline.loading import load
    from visualwords.apps.pipeline.recipe import Recipe

__version__ = "0.1.0"

__all__ = ["ImageClassifier", "PedestrianDetector", "Recipe", "__version__", "compare", "load"]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "ImageClassifier": "visualwords.apps.pipeline.image_classifier",
        "PedestrianDetector": "visualwords.apps.detection.detector",
        "Recipe": "visualwords.apps.pipeline.recipe",
        "compare": "visualwords.apps.evaluation.comparing",
        "load": "visualwords.apps.pipeline.loading",
    },
)
