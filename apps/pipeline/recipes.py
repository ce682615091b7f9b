"""Recipes: named, readable settings of the whole path from an image file to a label."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from visualwords.apps.pipeline.recipe import (
    Channel,
    Fisher,
    MatchedSets,
    Recipe,
    SecondOrder,
    Words,
)

__all__ = [
    "RECIPES",
    "Channel",
    "Fisher",
    "MatchedSets",
    "Recipe",
    "SecondOrder",
    "Words",
    "change_recipe",
    "find_recipe",
    "recipes_to_try",
]

_COLOR = Channel("ColorHistogram", {"bins": 4, "space": "rgb"}, power=0.25, cost=1)
_TEXTURE = Channel("Centrist", {"layout": "whole"}, power=0.5, cost=1)
_SHAPE = Channel("HOG", {"resize_wh": [64, 64]}, power=None, cost=1)

_FAST_WORDS = Channel("DenseSIFT", {"bin_size": 4, "step": 8}, words=Words(pyramid=21), cost=3)
_SIFT_WORDS = Channel("DenseSIFT", {"bin_size": 4, "step": 4}, words=Words(), cost=4)
_CENTRIST_WORDS = Channel("Centrist", {"layout": "dense"}, words=Words(), cost=3)
_MANY_WORDS = (
    Channel(
        "DenseSIFT",
        {"bin_size": [4, 6, 8, 12], "step": 6},
        words=Words(n_words=1000),
        cost=10,
    ),
    replace(_CENTRIST_WORDS, words=Words(n_words=1000), cost=6),
    Channel(
        "DenseSIFT",
        {"bin_size": 4, "step": 4, "sobel": True},
        words=Words(n_words=1000),
        cost=8,
    ),
    Channel(
        "DenseFilters",
        {"bin_size": [4, 6, 8, 12], "step": 6},
        words=Words(n_words=1000),
        cost=18,
    ),
)
_SIFT_SETS = Channel("DenseSIFT", {"bin_size": [6, 12], "step": 8}, sets=MatchedSets(), cost=10)

_SIFT_FISHER = Channel(
    "DenseSIFT",
    {"bin_size": [4, 6, 8, 12], "step": 8, "root": True},
    fisher=Fisher(),
    linear=True,
    cost=5.5,
)
_CENTRIST_FISHER = Channel(
    "Centrist",
    {"layout": "dense", "patch_size": 24},
    fisher=Fisher(root=True),
    linear=True,
    weight=0.7,
    cost=4,
)
_RICH_FISHER = replace(_SIFT_FISHER, fisher=Fisher(n_gaussians=128), cost=7.5)
_OBJECT_FISHER = Channel(
    "DenseSIFT",
    {"bin_size": [4, 6, 8, 12, 16], "step": 4, "root": True},
    fisher=Fisher(pyramid=31, weights=(2.2, 1.4, 1.0)),
    linear=True,
    cost=14,
)
_OBJECT_COLOR_FISHER = Channel(
    "DenseSIFT",
    {"bin_size": [4, 6, 8, 12], "step": 6, "root": True, "color": "opponent"},
    fisher=Fisher(n_components=80, pyramid=31, weights=(2.2, 1.4, 1.0)),
    linear=True,
    weight=0.63,
    cost=14,
)
_COLOR_FISHER = replace(_OBJECT_COLOR_FISHER, fisher=Fisher(n_components=80))
PATCH_COLORS = Channel(
    "ColorStatistics",
    {"bin_size": [4, 6, 8, 12], "step": 8},
    fisher=Fisher(),
    linear=True,
    weight=0.7,
    cost=5.5,
)
_FILTER_FISHER = Channel(
    "DenseFilters", {"bin_size": [4, 6, 8, 12], "step": 8}, fisher=Fisher(), linear=True, cost=11
)
_COLOR_FILTER_FISHER = replace(
    _FILTER_FISHER, params={**_FILTER_FISHER.params, "color": "opponent"}, cost=26
)
_OBJECT_MOMENTS = Channel(
    "DenseSIFT",
    {"bin_size": [4, 6, 8, 12, 16], "step": 6, "root": True},
    second_order=SecondOrder(pyramid=31, weights=(2.2, 1.4, 1.0)),
    linear=True,
    cost=12,
)
# Folds prefer magnitudes for second moments, and signs for Fisher vectors.
FILTER_MAGNITUDES = replace(
    _FILTER_FISHER, params={**_FILTER_FISHER.params, "order": 4, "signs": False}
)
_OBJECT_FILTER_MOMENTS = replace(
    FILTER_MAGNITUDES, fisher=None, second_order=_OBJECT_MOMENTS.second_order, cost=13
)
_OBJECT_SHAPE = Channel("HOG", {"resize_wh": [96, 96]}, power=None, linear=True, weight=3.4, cost=1)
_OBJECT_TEXTURE = Channel("Centrist", {"layout": "pyramid"}, linear=True, weight=2.0, cost=1)
_COLOR_WINDOWS = Channel(
    "ColorHistogram",
    {"bins": 6, "space": "hsv", "windows": 3},
    power=0.25,
    linear=True,
    weight=2.0,
    cost=1.5,
)

LINEAR = "ByteLinearClassifier"
ASKED_FOR = ("rich-words", "pyramid-match")  # that "auto" tries among their kind only
# What "auto" adds to the best recipe, if that has nothing of the kind and folds gain: for linear
# classifiers beside Fisher vectors of 8 windows, and for kernels (None: nothing of the kind).
_SHAPE_BESIDE = replace(_OBJECT_SHAPE, weight=2.0)
_TEXTURE_BESIDE = replace(_OBJECT_TEXTURE, weight=1.2)
MORE_LINEAR = (  # the last three, which cost most, after views of training images
    _FILTER_FISHER,
    PATCH_COLORS,
    _SHAPE_BESIDE,
    _COLOR_WINDOWS,
    _TEXTURE_BESIDE,
    _COLOR_FILTER_FISHER,
    _CENTRIST_FISHER,
    _COLOR_FISHER,
)
MORE_HISTOGRAMS = (None, None, _SHAPE, _COLOR, _TEXTURE, None, None, None)

RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("color", "64-bin RGB histogram of the whole image", (_COLOR,)),
        Recipe("texture", "CENTRIST of the whole image, blind to brightness", (_TEXTURE,)),
        Recipe("shape", "HOG of the image brought to 64×64 pixels", (_SHAPE,)),
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
            "scene",
            "Fisher vectors of SIFT at four scales and of CENTRIST patches in 8 windows",
            (_SIFT_FISHER, _CENTRIST_FISHER),
            classifier=LINEAR,
        ),
        Recipe(
            "object",
            "Fisher vectors of SIFT, grey and coloured, in 31 windows; HOG, colours and CENTRIST",
            (
                _OBJECT_FISHER,
                _OBJECT_COLOR_FISHER,
                _OBJECT_SHAPE,
                _COLOR_WINDOWS,
                _OBJECT_TEXTURE,
            ),
            classifier=LINEAR,
        ),
        Recipe(
            "photo",
            "Fisher vectors of SIFT and colours in 3×3 windows",
            (_SIFT_FISHER, _COLOR_WINDOWS),
            classifier=LINEAR,
        ),
        Recipe(
            "vivid",
            "as photo, with Fisher vectors of colours in the cells of patches: slower and better",
            (_SIFT_FISHER, PATCH_COLORS, _COLOR_WINDOWS),
            classifier=LINEAR,
        ),
        Recipe(
            "combined",
            "Fisher vectors of SIFT, grey and coloured, and CENTRIST in 8 windows; HOG, colours",
            (
                _SIFT_FISHER,
                _CENTRIST_FISHER,
                _COLOR_FISHER,
                _SHAPE_BESIDE,
                _COLOR_WINDOWS,
                _TEXTURE_BESIDE,
            ),
            classifier=LINEAR,
        ),
        Recipe(
            "rich",
            "as scene, with 128 Gaussians for SIFT: slower, larger and a little better",
            (_RICH_FISHER, _CENTRIST_FISHER),
            classifier=LINEAR,
        ),
        Recipe(
            "pattern",
            "as scene, with Fisher vectors of responses to filters: edges, bars, spots, stripes",
            (_SIFT_FISHER, _CENTRIST_FISHER, _FILTER_FISHER),
            classifier=LINEAR,
        ),
        Recipe(
            "chromatic",
            "Fisher vectors of filters on opponent colours, and colours in 3×3 windows",
            (_COLOR_FILTER_FISHER, _COLOR_WINDOWS),
            classifier=LINEAR,
        ),
        Recipe(
            "moments",
            "second moments of SIFT and of filters in 31 windows; HOG, colours and CENTRIST",
            (
                _OBJECT_MOMENTS,
                _OBJECT_FILTER_MOMENTS,
                _OBJECT_SHAPE,
                _COLOR_WINDOWS,
                _OBJECT_TEXTURE,
            ),
            classifier=LINEAR,
        ),
        Recipe(
            "pyramid-match",
            "sets of SIFT patches matched in bins that halve",
            (_SIFT_SETS,),
            classifier="LinearClassifier",
        ),
    )
}


def find_recipe(name: "str | Recipe") -> Recipe:
    """Return the recipe of a name; a recipe is returned as it is."""
    if isinstance(name, Recipe):
        return name
    if name not in RECIPES:
        raise ValueError(f"there is no recipe {name!r}; choose from auto, {', '.join(RECIPES)}")
    return RECIPES[name]


def change_recipe(
    recipe: Recipe,
    *,
    n_words: int | None = None,
    n_gaussians: int | None = None,
    pyramid: int | None = None,
    C: float | None = None,
    max_side: int | None = None,
    min_side: int | None = None,
    views: "str | Sequence[str] | None" = None,
    strict: bool = True,
) -> Recipe:
    """Return a recipe with some settings changed; None leaves a setting as it is.

    Parameters
    ----------
    recipe : Recipe
    n_words, n_gaussians : int, optional
        Of all its words, and of all its Fisher vectors.
    pyramid : int, optional
        Windows of both: 1, 8, 21 or 31, their levels with equal weights.
    C : float, optional
        Cost of an error of the classifier.
    max_side : int, optional
        Longer side that images are shrunk to.
    min_side : int, optional
        Longer side that smaller images are enlarged to.
    views : "mirror", "rotations", both of them, "all", or "none"
        Views of each training image to train on, too.
    strict : bool
        Whether it is an error to change words of a recipe that has none.

    Examples
    --------
    >>> change_recipe(RECIPES["words"], n_words=50).channels[0].words.n_words
    50
    """
    channels = [_changed(channel, n_words, n_gaussians, pyramid) for channel in recipe.channels]
    for name, value, part in (
        ("n_words", n_words, "words"),
        ("n_gaussians", n_gaussians, "fisher"),
    ):
        if strict and value is not None and not any(getattr(c, part) for c in channels):
            raise ValueError(f"recipe {recipe.name!r} has no {part}; {name} can't be set")
    if strict and pyramid is not None and not any(c.words or c.fisher for c in channels):
        raise ValueError(f"recipe {recipe.name!r} has no windows; pyramid can't be set")
    params = recipe.classifier_params if C is None else {**recipe.classifier_params, "C": C}
    changed = replace(recipe, channels=tuple(channels), classifier_params=params)
    given: dict[str, Any] = {"max_side": max_side, "min_side": min_side, "views": views}
    return replace(changed, **{name: value for name, value in given.items() if value is not None})


def _changed(
    channel: Channel, n_words: int | None, n_gaussians: int | None, pyramid: int | None
) -> Channel:
    words, fisher = channel.words, channel.fisher
    if words is not None:
        words = replace(words, n_words=n_words or words.n_words, pyramid=pyramid or words.pyramid)
    if fisher is not None:
        fisher = replace(fisher, n_gaussians=n_gaussians or fisher.n_gaussians)
        if pyramid is not None:
            fisher = replace(fisher, pyramid=pyramid, weights=None)
    return replace(channel, words=words, fisher=fisher)


def recipes_to_try(representation: str | None = None) -> list[Recipe]:
    """Return the recipes that "auto" may try: those of a representation, or all but two.

    Sets and thousands of words are left out unless their kind is asked for: their models are large,
    and Fisher vectors are better at less cost.

    Examples
    --------
    >>> [recipe.name for recipe in recipes_to_try("histogram")]
    ['color', 'texture', 'shape', 'tiny']
    """
    return [
        recipe
        for recipe in RECIPES.values()
        if recipe.representation == representation
        or (representation is None and recipe.name not in ASKED_FOR)
    ]
