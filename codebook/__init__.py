"""Local descriptors → visual words → histograms, or feature sets."""

from visualwords.codebook.bag_of_words import BagOfWords
from visualwords.codebook.feature_sets import FeatureSetEncoder
from visualwords.codebook.fisher import FisherVectors
from visualwords.codebook.hik import HIKCodebook
from visualwords.codebook.kmeans import KMeansCodebook
from visualwords.codebook.point_sets import FeatureSets
from visualwords.codebook.pyramid_embedding import PyramidMatchEmbedding
from visualwords.codebook.spatial_pyramid import SpatialPyramid
from visualwords.codebook.vlad import VLAD

__all__ = [
    "VLAD",
    "BagOfWords",
    "FeatureSetEncoder",
    "FeatureSets",
    "FisherVectors",
    "HIKCodebook",
    "KMeansCodebook",
    "PyramidMatchEmbedding",
    "SpatialPyramid",
]
