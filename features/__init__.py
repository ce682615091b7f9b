"""Image array → local descriptors, or one vector for the whole image."""

from visualwords.features.centrist import Centrist
from visualwords.features.color import ColorHistogram
from visualwords.features.hog import HOG
from visualwords.features.keypoint_sift import KeypointSIFT
from visualwords.features.sift import DenseSIFT

__all__ = ["HOG", "Centrist", "ColorHistogram", "DenseSIFT", "KeypointSIFT"]
