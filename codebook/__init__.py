"""Local descriptors → visual words → histograms, or feature sets."""

from visualwords.codebook.bag_of_words import BagOfWords
from visualwords.codebook.hik import HIKCodebook
from visualwords.codebook.kmeans import KMeansCodebook
from visualwords.codebook.spatial_pyramid import SpatialPyramid

__all__ = ["BagOfWords", "HIKCodebook", "KMeansCodebook", "SpatialPyramid"]
