"""Local descriptors → visual words → histograms, or feature sets."""

from visualwords.codebook.bag_of_words import BagOfWords
from visualwords.codebook.correspondences import Matches, match_points
from visualwords.codebook.feature_sets import FeatureSetEncoder
from visualwords.codebook.fisher import FisherVectors
from visualwords.codebook.hik import HIKCodebook
from visualwords.codebook.kmeans import KMeansCodebook
from visualwords.codebook.match_picture import draw_matches
from visualwords.codebook.point_sets import FeatureSets
from visualwords.codebook.pyramid_embedding import PyramidMatchEmbedding
from visualwords.codebook.second_order import SecondOrderPooling
from visualwords.codebook.spatial_pyramid import SpatialPyramid

__all__ = [
    "BagOfWords",
    "FeatureSetEncoder",
    "FeatureSets",
    "FisherVectors",
    "HIKCodebook",
    "KMeansCodebook",
    "Matches",
    "PyramidMatchEmbedding",
    "SecondOrderPooling",
    "SpatialPyramid",
    "draw_matches",
    "match_points",
]
