"""The built-in recipes, and the library of channels that "auto" combines."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from visualwords.apps.pipeline.channel import (
    Channel,
    Classifier,
    Fisher,
    MatchedSets,
    SecondOrder,
    Words,
)
from visualwords.apps.pipeline.recipe import Recipe

__all__ = ["LIBRARY", "LINEAR", "RECIPES", "RESULTS", "find_recipe", "load_results"]

LINEAR = Classifier("linear")
RESULTS = Path(__file__).with_name("recipe_results.json")

_COLOR = Channel("ColorHistogram", {"bins": 4, "space": "rgb"}, power=0.25, cost=1)
_TEXTURE = Channel("Centrist", {"layout": "whole"}, cost=1)
_FAST_WORDS = Channel("DenseSIFT", {"bin_size": 4, "step": 8}, Words(pyramid=21), cost=3)
_SIFT_WORDS = Channel("DenseSIFT", {"bin_size": 4, "step": 4}, Words(), cost=4)
_CENTRIST_WORDS = Channel("Centrist", {"layout": "dense"}, Words(), cost=3)
_SCALES = [4, 6, 8, 12]  # bin sizes of patches
_MANY = Words(n_words=1000)
_MANY_WORDS = (
    Channel("DenseSIFT", {"bin_size": _SCALES, "step": 6}, _MANY, cost=10),
    replace(_CENTRIST_WORDS, words=_MANY, cost=6),
    Channel("DenseSIFT", {"bin_size": 4, "step": 4, "sobel": True}, _MANY, cost=8),
    Channel("DenseFilters", {"bin_size": _SCALES, "step": 6}, _MANY, cost=18),
)
_SIFT_SETS = Channel("DenseSIFT", {"bin_size": [6, 12], "step": 8}, sets=MatchedSets(), cost=10)

_SIFT_FISHER = Channel(
    "DenseSIFT", {"bin_size": _SCALES, "step": 8, "root": True}, fisher=Fisher(), cost=5.5
)
_CENTRIST_FISHER = Channel(
    "Centrist",
    {"layout": "dense", "patch_size": 24},
    fisher=Fisher(root=True),
    weight=0.7,
    cost=4,
)
_FILTER_FISHER = Channel("DenseFilters", {"bin_size": _SCALES, "step": 8}, fisher=Fisher(), cost=11)
_COLOR_FILTER_FISHER = replace(
    _FILTER_FISHER, params={**_FILTER_FISHER.params, "color": "opponent"}, cost=26
)
_COLOR_SIFT_FISHER = Channel(
    "DenseSIFT",
    {"bin_size": _SCALES, "step": 6, "root": True, "color": "opponent"},
    fisher=Fisher(n_components=80),
    weight=0.63,
    cost=14,
)
_PATCH_COLORS = Channel(
    "ColorStatistics", {"bin_size": _SCALES, "step": 8}, fisher=Fisher(), weight=0.7, cost=5.5
)
_FINE = SecondOrder(pyramid=31, weights=(2.2, 1.4, 1.0))
_SIFT_MOMENTS = Channel(
    "DenseSIFT",
    {"bin_size": [*_SCALES, 16], "step": 6, "root": True},
    second_order=_FINE,
    cost=12,
)
# Folds prefer magnitudes for second moments, and signs for Fisher vectors.
_FILTER_MOMENTS = Channel(
    "DenseFilters",
    {"bin_size": _SCALES, "step": 8, "order": 4, "signs": False},
    second_order=_FINE,
    cost=13,
)
_COLOR_MOMENTS = replace(_PATCH_COLORS, fisher=None, second_order=SecondOrder(), cost=7)
_SHAPE = Channel("HOG", {"resize_wh": [96, 96]}, weight=3.4, cost=1)
_TEXTURE_WINDOWS = Channel("Centrist", {"layout": "pyramid"}, weight=2.0, cost=1)
_COLOR_WINDOWS = Channel(
    "ColorHistogram",
    {"bins": 6, "space": "hsv", "windows": 3},
    power=0.25,
    weight=2.0,
    cost=1.5,
)

LIBRARY = (  # for linear classifiers, in the order in which "auto" adds them
    _SHAPE,
    _TEXTURE_WINDOWS,
    _COLOR_WINDOWS,
    _SIFT_FISHER,
    _FILTER_MOMENTS,
    _COLOR_MOMENTS,
    _SIFT_MOMENTS,
    _PATCH_COLORS,
    _FILTER_FISHER,
    _CENTRIST_FISHER,
    _COLOR_FILTER_FISHER,
    _COLOR_SIFT_FISHER,
)

RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("tiny", "64-bin RGB histogram and CENTRIST of the whole image", (_COLOR, _TEXTURE)),
        Recipe("fast", "200 words of dense SIFT in 21 windows", (_FAST_WORDS,)),
        Recipe(
            "words",
            "200 words of dense SIFT and 200 of CENTRIST patches in 31 windows, kernels added",
            (_SIFT_WORDS, _CENTRIST_WORDS),
        ),
        Recipe(
            "rich-words",
            "as words, 1,000 each, also of the Sobel image and of filters: slower, larger, better",
            _MANY_WORDS,
        ),
        Recipe(
            "fisher",
            "Fisher vectors of SIFT, and colours in 3×3 windows",
            (_SIFT_FISHER, _COLOR_WINDOWS),
            classifier=LINEAR,
        ),
        Recipe(
            "rich-fisher",
            "Fisher vectors of SIFT, CENTRIST patches and filters: edges, bars, spots, stripes",
            (_SIFT_FISHER, _CENTRIST_FISHER, _FILTER_FISHER),
            classifier=LINEAR,
        ),
        Recipe(
            "moments",
            "second moments of SIFT and of filters in 31 windows; HOG, colours and CENTRIST",
            (_SIFT_MOMENTS, _FILTER_MOMENTS, _SHAPE, _COLOR_WINDOWS, _TEXTURE_WINDOWS),
            classifier=LINEAR,
        ),
        Recipe(
            "pyramid-match",
            "sets of SIFT patches matched in bins that halve",
            (_SIFT_SETS,),
            classifier=LINEAR,
        ),
    )
}


def find_recipe(name: "str | Recipe") -> Recipe:
    """The recipe of a name; a recipe is returned as it is."""
    if isinstance(name, Recipe):
        return name
    if name not in RECIPES:
        raise ValueError(f"there is no recipe {name!r}; choose from auto, {', '.join(RECIPES)}")
    return RECIPES[name]


def load_results() -> dict[str, Any]:
    """What the recipes reached, measured by ``benchmarks.accuracy.all_recipes``.

    ``{"machine": ..., "recipes": {recipe: {data set: figures}}}``
    """
    return json.loads(RESULTS.read_text(encoding="utf-8"))
