"""Image array → local descriptors, or one vector for the whole image."""

from visualwords.features.color import ColorHistogram

__all__ = ["ColorHistogram"]
