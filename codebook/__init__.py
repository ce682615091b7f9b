"""Local descriptors → visual words → histograms, or feature sets.

Each class is loaded on first use: a recipe needs few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from visualwords import on_first_use

if TYPE_CHECKING:
    from visualwords.codebook.bag_of_words import BagOfWords as BagOfWords
    from visualwords.codebook.codebook import Codebook as Codebook
    from visualwords.codebook.feature_sets import FeatureSetEncoder as FeatureSetEncoder
    from visualwords.codebook.feature_sets import FeatureSets as FeatureSets
    from visualwords.codebook.fisher import FisherVectors as FisherVectors
    from visualwords.codebook.hik import HIKCodebook as HIKCodebook
    from visualwords.codebook.kmeans import KMeansCodebook as KMeansCodebook
    from visualwords.codebook.pyramid_match import PyramidMatchEmbedding as PyramidMatchEmbedding
    from visualwords.codebook.second_order import SecondOrderPooling as SecondOrderPooling
    from visualwords.codebook.spatial_pyramid import SpatialPyramid as SpatialPyramid

# The name of a codebook in recipes, its module and class, and its parameters: a line here
# registers a new one.
CODEBOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "kmeans": ("visualwords.codebook.kmeans:KMeansCodebook", {}),
    "kmeans-root": ("visualwords.codebook.kmeans:KMeansCodebook", {"root": True}),
    "hik": ("visualwords.codebook.hik:HIKCodebook", {}),
}

_HOMES = {
    "BagOfWords": "visualwords.codebook.bag_of_words",
    "FeatureSetEncoder": "visualwords.codebook.feature_sets",
    "FeatureSets": "visualwords.codebook.feature_sets",
    "FisherVectors": "visualwords.codebook.fisher",
    "HIKCodebook": "visualwords.codebook.hik",
    "KMeansCodebook": "visualwords.codebook.kmeans",
    "PyramidMatchEmbedding": "visualwords.codebook.pyramid_match",
    "SecondOrderPooling": "visualwords.codebook.second_order",
    "SpatialPyramid": "visualwords.codebook.spatial_pyramid",
}
__all__ = ["CODEBOOKS", "find_codebook", *_HOMES]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)


def find_codebook(name: str) -> tuple[type["Codebook"], dict[str, Any]]:
    """The class of a codebook of recipes, and the parameters that its name stands for.

    Examples
    --------
    >>> kind, parameters = find_codebook("kmeans-root")
    >>> kind.__name__, parameters
    ('KMeansCodebook', {'root': True})
    """
    if name not in CODEBOOKS:
        raise ValueError(f"no codebook is named {name!r}; choose one of {', '.join(CODEBOOKS)}")
    place, parameters = CODEBOOKS[name]
    module, kind = place.split(":")
    return getattr(import_module(module), kind), dict(parameters)
