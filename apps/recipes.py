"""Recipes: named, readable settings of the whole path from an image file to a label."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from visualwords.classifiers import ICDClassifier
from visualwords.classifiers.linear import LinearClassifier
from visualwords.codebook import HIKCodebook, KMeansCodebook
from visualwords.features.extractor import Extractor
from visualwords.features.registry import find_extractor

CODEBOOKS = {"KMeansCodebook": KMeansCodebook, "HIKCodebook": HIKCodebook}
CLASSIFIERS = {"ICDClassifier": ICDClassifier, "LinearClassifier": LinearClassifier}


@dataclass(frozen=True)
class Words:
    """Visual words: what a codebook learns from patches, and how windows count them.

    The defaults are those that folds of scene15's training images preferred (docs/codebooks.md).
    """

    codebook: str = "KMeansCodebook"
    codebook_params: dict[str, Any] = field(default_factory=lambda: {"root": True})
    n_words: int = 200
    pyramid: int = 31
    norm: str | None = "l1"
    scope: str = "level"
    power: float = 1.0


@dataclass(frozen=True)
class MatchedSets:
    """Sets of patches compared by the pyramid match, as sparse vectors.

    The finest bins are those that folds of caltech101's training images preferred.
    """

    n_components: int = 6
    finest_level: int = 6
    n_shifts: int = 3
    min_sets: int = 2


@dataclass(frozen=True)
class Channel:
    """One way to look at an image: an extractor, and how its numbers become a row.

    Patches are counted as visual words or matched as sets. Counts of a whole image are divided by
    their sum and raised to ``power``: images of different sizes become alike, and a power below
    one keeps large uniform areas from drowning everything else. Where ``power`` is None the
    extractor has normalised its numbers itself.
    """

    extractor: str
    params: dict[str, Any] = field(default_factory=dict)
    power: float | None = 0.5
    words: Words | None = None
    sets: MatchedSets | None = None

    def __post_init__(self) -> None:
        if self.power is not None and not self.power > 0:
            raise ValueError(f"power={self.power!r} must be positive, or None")

    def build(self) -> Extractor:
        """Make the extractor."""
        return find_extractor(self.extractor)(**self.params)


@dataclass(frozen=True)
class Recipe:
    """Everything that happens to an image before the classifier, and the classifier's settings."""

    name: str
    summary: str
    channels: tuple[Channel, ...]
    max_side: int | None = 640
    classifier: str = "ICDClassifier"
    classifier_params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.max_side is not None and not self.max_side >= 1:
            raise ValueError(f"max_side={self.max_side!r} must be at least 1, or None")

    @property
    def representation(self) -> str:
        """What the classifier sees: "pyramid-match", "words" or "histogram"."""
        if any(channel.sets is not None for channel in self.channels):
            return "pyramid-match"
        if any(channel.words is not None for channel in self.channels):
            return "words"
        return "histogram"

    def build_classifier(self, seed: int = 0, n_jobs: int | None = None) -> Any:
        """Make the classifier."""
        kind = CLASSIFIERS[self.classifier]
        return kind(random_state=seed, n_jobs=n_jobs, **self.classifier_params)

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Recipe":
        """Restore a recipe from `to_json`."""
        channels = []
        for channel in values["channels"]:
            words = None if channel["words"] is None else Words(**channel["words"])
            sets = None if channel["sets"] is None else MatchedSets(**channel["sets"])
            channels.append(Channel(**{**channel, "words": words, "sets": sets}))
        return cls(**{**values, "channels": tuple(channels)})


_COLOR = Channel("ColorHistogram", {"bins": 4, "space": "rgb"}, power=0.25)

_SIFT_WORDS = Channel("DenseSIFT", {"bin_size": 4, "step": 8}, words=Words())
_CENTRIST_WORDS = Channel("Centrist", {"layout": "dense"}, words=Words())
_SIFT_SETS = Channel("DenseSIFT", {"bin_size": [6, 12], "step": 8}, sets=MatchedSets())
_SHAPE = Channel("HOG", {"resize_wh": [64, 64]}, power=None)
_TEXTURE = Channel("Centrist", {"layout": "whole"}, power=0.5)

RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("color", "64-bin RGB histogram of the whole image", (_COLOR,)),
        Recipe("texture", "CENTRIST of the whole image, blind to brightness", (_TEXTURE,)),
        Recipe("shape", "HOG of the image brought to 64×64 pixels", (_SHAPE,)),
        Recipe(
            "words",
            "200 words of dense SIFT and 200 of CENTRIST patches in 31 windows, kernels added",
            (_SIFT_WORDS, _CENTRIST_WORDS),
        ),
        Recipe(
            "pyramid-match",
            "sets of SIFT patches matched in bins that halve",
            (_SIFT_SETS,),
            classifier="LinearClassifier",
        ),
        Recipe("color-texture", "colour and texture, their kernels added", (_COLOR, _TEXTURE)),
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
    pyramid: int | None = None,
    C: float | None = None,
    max_side: int | None = None,
    strict: bool = True,
) -> Recipe:
    """Return a recipe with some settings changed; None leaves a setting as it is.

    Parameters
    ----------
    recipe : Recipe
    n_words, pyramid : int, optional
        Of all its words.
    C : float, optional
        Cost of an error of the classifier.
    max_side : int, optional
        Longer side that images are shrunk to.
    strict : bool
        Whether it is an error to change words of a recipe that has none.

    Examples
    --------
    >>> change_recipe(RECIPES["words"], n_words=50).channels[0].words.n_words
    50
    """
    of_words = {k: v for k, v in (("n_words", n_words), ("pyramid", pyramid)) if v is not None}
    if strict and of_words and not any(channel.words for channel in recipe.channels):
        raise ValueError(f"recipe {recipe.name!r} has no words; {', '.join(of_words)} can't be set")
    channels = tuple(
        channel
        if channel.words is None
        else replace(channel, words=replace(channel.words, **of_words))
        for channel in recipe.channels
    )
    params = recipe.classifier_params if C is None else {**recipe.classifier_params, "C": C}
    side = recipe.max_side if max_side is None else max_side
    return replace(recipe, channels=channels, classifier_params=params, max_side=side)


def recipe_of_extractors(names: Sequence[str]) -> Recipe:
    """Return a recipe of extractors with their default parameters, their kernels added.

    Names are those of `visualwords.features.registry.list_extractors`, extractors of other
    installed packages among them. Patches are counted as visual words.
    """
    channels = []
    for name in names:
        channel = Channel(name)
        words = Words() if channel.build().is_local else None
        channels.append(replace(channel, words=words))
    return Recipe("+".join(names), "extractors with their defaults", tuple(channels))


def recipes_to_try(representation: str | None = None) -> list[Recipe]:
    """Return the recipes that "auto" tries: those of a representation, or all but matching sets.

    Sets are left out unless they are asked for: their model has a weight for every bin.
    """
    return [
        recipe
        for recipe in RECIPES.values()
        if recipe.representation == representation
        or (representation is None and recipe.representation != "pyramid-match")
    ]


def merge_channels(recipes: Iterable[Recipe]) -> Recipe:
    """Return a recipe whose channels are those of all, each once, so that they are read once."""
    recipes = list(recipes)
    channels: list[Channel] = []
    for recipe in recipes:
        channels += [channel for channel in recipe.channels if channel not in channels]
    return Recipe("all", "every channel", tuple(channels), recipes[0].max_side)
