"""Image array → local descriptors, or one vector for the whole image."""

from visualwords.features.centrist import Centrist
from visualwords.features.color import ColorHistogram
from visualwords.features.sift import DenseSIFT

__all__ = ["Centrist", "ColorHistogram", "DenseSIFT"]
