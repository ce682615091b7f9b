"""Local descriptors → visual words → histograms, or feature sets."""

from visualwords.codebook.spatial_pyramid import SpatialPyramid

__all__ = ["SpatialPyramid"]
