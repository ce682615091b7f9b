"""Image array → local descriptors, or one vector for the whole image.

Each class is loaded on first use: a recipe needs few of them.
"""

from typing import TYPE_CHECKING

from visualwords import on_first_use

if TYPE_CHECKING:
    from visualwords.features.centrist import Centrist as Centrist
    from visualwords.features.color import ColorHistogram as ColorHistogram
    from visualwords.features.color import ColorStatistics as ColorStatistics
    from visualwords.features.filters import DenseFilters as DenseFilters
    from visualwords.features.hog import HOG as HOG
    from visualwords.features.onnx import ONNXFeatures as ONNXFeatures
    from visualwords.features.sift import DenseSIFT as DenseSIFT
    from visualwords.features.sift import KeypointSIFT as KeypointSIFT

# The class of an extractor and the module that has it: a line here registers a new one.
EXTRACTORS = {
    "HOG": "visualwords.features.hog",
    "Centrist": "visualwords.features.centrist",
    "ColorHistogram": "visualwords.features.color",
    "ColorStatistics": "visualwords.features.color",
    "DenseFilters": "visualwords.features.filters",
    "DenseSIFT": "visualwords.features.sift",
    "KeypointSIFT": "visualwords.features.sift",
    "ONNXFeatures": "visualwords.features.onnx",
}
__all__ = ["EXTRACTORS", *EXTRACTORS]

__getattr__, __dir__ = on_first_use(__name__, EXTRACTORS)
