"""Recipes: named, readable settings of the whole path from an image file to a label."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from visualwords import features
from visualwords.codebook import BagOfWords, HIKCodebook, KMeansCodebook
from visualwords.features.extractor import Extractor

CODEBOOKS = {"KMeansCodebook": KMeansCodebook, "HIKCodebook": HIKCodebook}


@dataclass(frozen=True)
class Words:
    """Visual words: what a codebook learns from patches, and how windows count them."""

    codebook: str = "KMeansCodebook"
    n_words: int = 200
    pyramid: int = 31
    norm: str | None = "l1"
    power: float = 1.0

    def build(self, n_words: int, seed: int) -> BagOfWords:
        """Make the encoder; ``n_words`` may be fewer where there are few patches to learn from."""
        words = CODEBOOKS[self.codebook](n_words, random_state=seed)
        return BagOfWords(words, self.pyramid, norm=self.norm, power=self.power)


@dataclass(frozen=True)
class Channel:
    """One way to look at an image: an extractor, and how its numbers become a histogram.

    Patches are counted as visual words. Counts of a whole image are divided by their sum and
    raised to ``power``: images of different sizes become alike, and a power below one keeps large
    uniform areas from drowning everything else. Where ``power`` is None the extractor has
    normalised its numbers itself.
    """

    extractor: str
    params: dict[str, Any] = field(default_factory=dict)
    power: float | None = 0.5
    words: Words | None = None

    def build(self) -> Extractor:
        """Make the extractor."""
        if self.extractor not in features.__all__:  # the name may come from a foreign file
            raise ValueError(f"there is no extractor {self.extractor!r}")
        return getattr(features, self.extractor)(**self.params)


@dataclass(frozen=True)
class Recipe:
    """Everything that happens to an image before the classifier, and the classifier's settings."""

    name: str
    summary: str
    channels: tuple[Channel, ...]
    max_side: int | None = 640
    classifier: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Recipe":
        """Restore a recipe from `to_json`."""
        channels = []
        for channel in values["channels"]:
            words = None if channel["words"] is None else Words(**channel["words"])
            channels.append(Channel(**{**channel, "words": words}))
        return cls(**{**values, "channels": tuple(channels)})


_COLOR = Channel("ColorHistogram", {"bins": 4, "space": "rgb"}, power=0.25)

_SIFT_WORDS = Channel("DenseSIFT", {"bin_size": 4, "step": 8}, words=Words())
_SHAPE = Channel("HOG", {"resize_wh": [64, 64]}, power=None)
_TEXTURE = Channel("Centrist", {"layout": "whole"}, power=0.5)

RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("color", "64-bin RGB histogram of the whole image", (_COLOR,)),
        Recipe("texture", "CENTRIST of the whole image, blind to brightness", (_TEXTURE,)),
        Recipe("shape", "HOG of the image brought to 64×64 pixels", (_SHAPE,)),
        Recipe("words", "200 words of dense SIFT in 31 windows", (_SIFT_WORDS,)),
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


def merge_channels(recipes: Iterable[Recipe]) -> Recipe:
    """Return a recipe whose channels are those of all, each once, so that they are read once."""
    recipes = list(recipes)
    channels: list[Channel] = []
    for recipe in recipes:
        channels += [channel for channel in recipe.channels if channel not in channels]
    return Recipe("all", "every channel", tuple(channels), recipes[0].max_side)
