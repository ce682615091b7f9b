"""What a recipe consists of: channels, how their numbers become a row, and a classifier."""

import math
import os
import re
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from visualwords.apps.pipeline.view import View, check_views
from visualwords.errors import RecipeError
from visualwords.features.extractor import Extractor
from visualwords.features.local_features import LocalFeatures
from visualwords.features.registry import PREFIX, find_extractor, register_transformer

CLASSIFIERS = {  # and the modules that have them, of which a recipe needs one
    "ICDClassifier": "visualwords.classifiers.icd",
    "LinearClassifier": "visualwords.classifiers.linear",
    "ByteLinearClassifier": "visualwords.classifiers.linear",
    "PmSVMClassifier": "visualwords.classifiers.pmsvm",
    "KernelSVC": "visualwords.classifiers.kernel_svc",
}
POWER_MEANS = {"chi2": -1.0, "hik": -math.inf, "intersection": -math.inf}  # their exponents
NETWORK = "ONNXFeatures"  # the extractor that is a file of its own
ONE_SIZE = (128, 128)  # width and height that images get for a descriptor of a fixed size
PARTS_OF_PATCHES = ("words", "fisher", "second_order", "sets")  # of which a channel has one at most
# Not in older files; written if they differ.
LATER_FIELDS = {"hashes": None, "rescale": True, "second_order": None}
LATER_RECIPE_FIELDS: dict[str, Any] = {"min_side": None, "views": ()}


def windows_of(pyramid: Any) -> Any:
    """Return the windows that a recipe's pyramid means: "3x1" is a grid of rows and columns.

    Examples
    --------
    >>> windows_of(31), windows_of("3x1"), windows_of(["1x1", "2x2"])
    (31, [(3, 1)], [(1, 1), (2, 2)])
    """
    if pyramid in (1, 8, 21, 31):
        return pyramid
    grids = pyramid if isinstance(pyramid, list | tuple) else [pyramid]
    found = [re.fullmatch(r"([1-9]\d?)x([1-9]\d?)", str(grid)) for grid in grids]
    if not found or None in found:
        raise RecipeError(
            f"pyramid = {pyramid!r}: choose 1, 8, 21 or 31 windows, a grid of rows and columns "
            "such as '3x1', or a list of grids"
        )
    return [(int(match[1]), int(match[2])) for match in found if match]


@dataclass(frozen=True)
class Words:
    """Visual words: what a codebook learns from patches, and how windows count them.

    ``pyramid`` is 1, 8, 21 or 31 windows, a grid such as "3x1" (rows x columns), or a list of
    grids. ``norm=None`` gives natural counts. The defaults are those that folds of scene15's
    training images preferred (docs/codebooks.md).
    """

    codebook: str = "KMeansCodebook"
    codebook_params: dict[str, Any] = field(default_factory=lambda: {"root": True})
    n_words: int = 200
    pyramid: Any = 31
    norm: str | None = "l1"
    scope: str = "level"
    power: float = 1.0


@dataclass(frozen=True)
class Fisher:
    """Fisher vectors of patches in windows, kept as signed bytes for a linear classifier.

    ``root`` takes square roots of the descriptors first, which suits counts; ``weights`` are those
    of the pyramid's levels.
    """

    n_gaussians: int = 64
    n_components: int = 64
    pyramid: Any = 8
    weights: tuple[float, ...] | None = (2.0, 1.0, 1.4)
    root: bool = False


@dataclass(frozen=True)
class SecondOrder:
    """Second-order pooling of patches in windows, as signed bytes for a linear classifier.

    ``weights`` are those of the pyramid's levels.
    """

    n_components: int = 64
    pyramid: Any = 8
    weights: tuple[float, ...] | None = (2.0, 1.0, 1.4)


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
class Hashes:
    """Rows hashed by consistent weighted sampling: the NGMM kernel at the cost of a linear one.

    Parameters are those of `visualwords.classifiers.GCWSHasher`; ``normalize=False`` is GMM.
    """

    n_hashes: int = 256
    n_bits: int = 8
    normalize: bool = True


PARTS: dict[str, Any] = {
    "words": Words,
    "fisher": Fisher,
    "second_order": SecondOrder,
    "sets": MatchedSets,
    "hashes": Hashes,
}
REPRESENTATIONS = {  # of recipes, by the part that decides
    "pyramid-match": "sets",
    "fisher": "fisher",
    "second-order": "second_order",
    "words": "words",
}


@dataclass(frozen=True)
class Channel:
    """One way to look at an image: an extractor, and how its numbers become a row.

    Patches are counted as visual words, turned into Fisher vectors or second moments, or matched as
    sets. Counts of a whole image are divided by their sum and raised to ``power``: images of
    different sizes become alike, and a power below one keeps large uniform areas from drowning
    everything else. Where ``power`` is None the extractor has normalised its numbers itself. An
    extractor whose vector has the size of the image (one with a parameter ``resize_wh`` that is not
    given, such as HOG) gets every image stretched to 128×128 pixels.

    ``linear`` says that the row is for a linear classifier: brought to one length, as signed bytes,
    times ``weight`` (the root of what its kernel counts), rounded again. Others are for kernels:
    all numbers are divided by the training images' 97.5th percentile (natural numbers stay with
    ``rescale=False``) and multiplied by ``weight``. With ``hashes`` the row is then hashed.

    ``extractor`` is a name, or a fitted scikit-learn transformer that takes a list of RGB images
    and gives rows; such a recipe works in the program that made it, and can't be saved.

    ``cost`` is an estimate by which "auto" plans: milliseconds of one core for an image of 300×250
    pixels. It changes nothing else.
    """

    extractor: str
    params: dict[str, Any] = field(default_factory=dict)
    power: float | None = 0.5
    words: Words | None = None
    fisher: Fisher | None = None
    sets: MatchedSets | None = None
    linear: bool = False
    weight: float = 1.0
    cost: float = field(default=5.0, repr=False, compare=False)
    hashes: Hashes | None = None
    rescale: bool = True
    second_order: SecondOrder | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.extractor, str):
            object.__setattr__(self, "extractor", register_transformer(self.extractor))
        if self.power is not None and not self.power > 0:
            raise ValueError(f"power={self.power!r} must be positive, or None")

    def build(self) -> Extractor:
        """Make the extractor."""
        made = find_extractor(self.extractor)(**self.params)
        if not self.learns and getattr(made, "resize_wh", ONE_SIZE) is None:
            made.set_params(resize_wh=ONE_SIZE)
        return made

    @property
    def representation(self) -> str | None:
        """The part that describes patches, such as "words"; None for one vector."""
        return next((p for p in PARTS_OF_PATCHES if getattr(self, p) is not None), None)

    def described(self) -> str:
        """Return the extractor, and what its patches become, in a few words."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        patches = " in sets" if self.sets is not None else ""
        if self.words is not None:
            patches = f" in {self.words.n_words} words"
        elif self.fisher is not None:
            patches = f" in Fisher vectors of {self.fisher.n_gaussians} Gaussians"
        elif self.second_order is not None:
            patches = f" in second moments of {self.second_order.n_components} components"
        return f"{self.extractor}({settings}){patches}"

    def see(self, pixels: np.ndarray) -> "np.ndarray | LocalFeatures":
        """Return what the extractor makes of an image: its patches, or one vector."""
        extractor = self.build()
        return extractor.extract(pixels) if self.learns else extractor.describe(pixels)

    @property
    def learns(self) -> bool:
        """Whether something is learned from patches before images can be encoded."""
        return self.representation is not None

    @property
    def is_network(self) -> bool:
        """Whether the extractor is a network, with a file of its own."""
        return self.extractor == NETWORK

    @property
    def plain(self) -> "Channel":
        """The channel of a network's vectors as they are, of which all its rows are made.

        Other channels are themselves.
        """
        if not self.is_network or self.learns:
            return self
        return Channel(self.extractor, self.params, power=None)

    @property
    def unweighted(self) -> "Channel":
        """The channel with weight 1: what is learned and kept of images is the same for both."""
        return self if self.weight == 1 else replace(self, weight=1.0)

    @property
    def is_transformer(self) -> bool:
        """Whether the extractor is a fitted transformer of this program."""
        return self.extractor.startswith(PREFIX)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Channel":
        """Restore a channel from what JSON made of it."""
        restored: dict[str, Any] = {}
        for name, kind in PARTS.items():
            part = values.get(name)
            if part is not None and part.get("weights") is not None:
                part = {**part, "weights": tuple(part["weights"])}
            restored[name] = None if part is None else kind(**part)
        return cls(**{**values, **restored})


@dataclass(frozen=True)
class Recipe:
    """Everything that happens to an image before the classifier, and the classifier's settings.

    Images whose longer side is larger than ``max_side`` are shrunk to it; those whose longer side
    is smaller than ``min_side`` are enlarged to it, so that patches of a fixed size see parts of
    tiny images too. ``views`` are further training images, made of each: "mirror" (left and right
    exchanged), "rotations" (by quarter turns), or both, which are seven. They stay in the fold of
    their original, and all figures are those of originals.
    """

    name: str
    summary: str
    channels: tuple[Channel, ...]
    max_side: int | None = 640
    classifier: str = "ICDClassifier"
    classifier_params: dict[str, Any] = field(default_factory=dict)
    min_side: int | None = None
    views: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, side in (("max_side", self.max_side), ("min_side", self.min_side)):
            if side is not None and not side >= 1:
                raise ValueError(f"{name}={side!r} must be at least 1, or None")
        if self.max_side is not None and (self.min_side or 0) > self.max_side:
            raise RecipeError(
                f"min_side = {self.min_side} must be at most max_side = {self.max_side}"
            )
        object.__setattr__(self, "views", check_views(self.views))

    def __repr__(self) -> str:
        channels = ", ".join(channel.described() for channel in self.channels)
        settings = ", ".join(f"{name}={value!r}" for name, value in self.classifier_params.items())
        return f"<Recipe {self.name}: {channels}; {self.classifier}({settings})>"

    @property
    def view(self) -> View:
        """The size that images get."""
        return View(self.max_side, self.min_side)

    def image_views(self) -> list[View]:
        """Return the views of each training image, the original first."""
        return [self.view, *self.view.others(self.views)]

    @property
    def has_network(self) -> bool:
        """Whether a channel is a network; see `visualwords.apps.pipeline.networks`."""
        return any(channel.is_network for channel in self.channels)

    @property
    def cost(self) -> float:
        """Milliseconds of one core for an image: an estimate."""
        return sum(channel.cost for channel in self.channels)

    @property
    def representation(self) -> str:
        """What the classifier sees, by the largest part: "fisher", "words", "histogram", …"""
        for name, part in REPRESENTATIONS.items():
            if any(getattr(channel, part) is not None for channel in self.channels):
                return name
        return "histogram"

    def build_classifier(
        self, seed: int = 0, n_jobs: int | None = None, class_weight: Any = None
    ) -> Any:
        """Make the classifier; class weights are those of the recipe unless they are given."""
        kind = getattr(import_module(CLASSIFIERS[self.classifier]), self.classifier)
        params = dict(self.classifier_params)
        if params.get("kernel") == "pyramid_match":
            # Rows of sets are vectors whose products are the pyramid match.
            params |= {"kernel": "polynomial", "kernel_params": {"degree": 1}}
        elif self.classifier == "PmSVMClassifier" and params.get("kernel") in POWER_MEANS:
            params["p"] = POWER_MEANS[params.pop("kernel")]
        if class_weight is not None:
            params["class_weight"] = class_weight
        return kind(random_state=seed, n_jobs=n_jobs, **params)

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as what JSON can hold."""
        values = asdict(self)
        for name, usual in LATER_RECIPE_FIELDS.items():
            if values[name] == usual:
                del values[name]
        for channel in values["channels"]:
            for name, usual in LATER_FIELDS.items():
                if channel[name] == usual:
                    del channel[name]
        return values

    def to_toml(self) -> str:
        """Return the recipe as the text of a TOML file, from which `from_toml` restores it."""
        from visualwords.apps.pipeline.recipe_text import to_toml

        return to_toml(self)

    @classmethod
    def from_toml(cls, path_or_text: "str | os.PathLike[str]") -> "Recipe":
        """Read a recipe from a TOML file, or from the text of one.

        Parameters
        ----------
        path_or_text : path-like or str
            A path, or a text of several lines.

        Raises
        ------
        RecipeError
            A name or value that does not exist, in one sentence with those that do.

        Examples
        --------
        >>> recipe = Recipe.from_toml('''
        ... name = "chi2-words"
        ... [[channels]]
        ... extractor = "DenseSIFT"
        ... words = { codebook = "hik", n_words = 100 }
        ... [classifier]
        ... kind = "pmsvm"
        ... kernel = "chi2"
        ... ''')
        >>> recipe.channels[0].words.n_words, recipe.classifier
        (100, 'PmSVMClassifier')
        """
        from visualwords.apps.pipeline.recipe_text import from_toml

        return from_toml(path_or_text)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Recipe":
        """Restore a recipe from `to_json`."""
        channels = tuple(Channel.from_json(channel) for channel in values["channels"])
        return cls(**{**values, "channels": channels})
