"""Image array → local descriptors, or one vector for the whole image.

Each class is loaded on first use: a recipe needs few of them.
"""

from typing import TYPE_CHECKING

from visualwords import on_first_use

if TYPE_CHECKING:
    from visualwords.features.centrist import Centrist
    from visualwords.features.color import ColorHistogram
    from visualwords.features.color_statistics import ColorStatistics
    from visualwords.features.filters import DenseFilters
    from visualwords.features.hog import HOG
    from visualwords.features.keypoint_sift import KeypointSIFT
    from visualwords.features.onnx_features import ONNXFeatures
    from visualwords.features.sift import DenseSIFT

__all__ = [
    "HOG",
    "Centrist",
    "ColorHistogram",
    "ColorStatistics",
    "DenseFilters",
    "DenseSIFT",
    "KeypointSIFT",
    "ONNXFeatures",
]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "HOG": "visualwords.features.hog",
        "Centrist": "visualwords.features.centrist",
        "ColorHistogram": "visualwords.features.color",
        "ColorStatistics": "visualwords.features.color_statistics",
        "DenseFilters": "visualwords.features.filters",
        "DenseSIFT": "visualwords.features.sift",
        "KeypointSIFT": "visualwords.features.keypoint_sift",
        "ONNXFeatures": "visualwords.features.onnx_features",
    },
)
