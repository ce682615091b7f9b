"""The parts of a recipe: channels, what their patches become, and the classifier.

The dataclasses below, and `visualwords.apps.pipeline.recipe.Recipe`, are the one schema. Every
field has its type, default, check and help; TOML files, flags, ``--set``, model files and Python
read and write the same fields (`visualwords.apps.pipeline.recipe_text`).
"""

import math
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, field, fields, replace
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np

from visualwords.errors import RecipeError
from visualwords.features.extractor import Extractor
from visualwords.features.local_features import LocalFeatures
from visualwords.features.registry import PREFIX, find_extractor, register_transformer

__all__ = [
    "KINDS",
    "OF_CODEBOOKS",
    "PARTS",
    "Channel",
    "Classifier",
    "Fisher",
    "Hashes",
    "MatchedSets",
    "Part",
    "SecondOrder",
    "Words",
    "setting",
    "settings_of",
    "windows_of",
]

NETWORK = "ONNXFeatures"  # the extractor that is a file of its own
ONE_SIZE = (128, 128)  # width and height that images get for a descriptor of a fixed size
USUAL = "usual"  # the power that suits an extractor: none of numbers that are normalised
OF_CODEBOOKS = ("init", "n_levels", "center", "max_iter", "tol", "max_descriptors")
KINDS = {  # of classifiers, and where they are
    "icd": "visualwords.classifiers.icd.ICDClassifier",
    "pmsvm": "visualwords.classifiers.pmsvm.PmSVMClassifier",
    "kernel": "visualwords.classifiers.kernel_svc.KernelSVC",
    "linear": "visualwords.classifiers.linear.ByteLinearClassifier",
}


def nearest(name: object, known: Iterable[str]) -> str | None:
    """The name that somebody may have meant; None if no name is near."""
    by_lower = {one.lower(): one for one in known}
    found = get_close_matches(str(name).lower(), by_lower, 1, 0.6)
    return by_lower[found[0]] if found else None


def check_name(what: str, name: object, choices: Iterable[str]) -> str:
    """A name that exists; else raise with those that do, the nearest one first.

    Examples
    --------
    >>> check_name("codebook", "kmean", ["kmeans", "hik"])
    Traceback (most recent call last):
    visualwords.errors.RecipeError: there is no codebook 'kmean'; did you mean 'kmeans'? \
Choose from kmeans, hik
    """
    known = list(choices)
    if name in known:
        return name
    meant = nearest(name, known)
    guess = f"did you mean {meant!r}? Choose" if meant else "choose"
    raise RecipeError(f"there is no {what} {name!r}; {guess} from {', '.join(known)}")


# Checks: each returns a value as the field keeps it, or raises what is wrong with it.


def windows_of(pyramid: object) -> int | list[tuple[int, int]]:
    """The windows that a recipe's pyramid means: "3x1" is a grid of rows and columns.

    Examples
    --------
    >>> windows_of(31), windows_of("3x1"), windows_of(["1x1", "2x2"])
    (31, [(3, 1)], [(1, 1), (2, 2)])
    """
    if isinstance(pyramid, Integral) and pyramid in (1, 8, 21, 31) and pyramid is not True:
        return int(pyramid)
    grids = pyramid if isinstance(pyramid, list | tuple) else [pyramid]
    found = [re.fullmatch(r"([1-9]\d?)x([1-9]\d?)", str(grid)) for grid in grids]
    if not found or None in found:
        raise RecipeError(
            f"pyramid = {pyramid!r}: choose 1, 8, 21 or 31 windows, a grid of rows and columns "
            "such as '3x1', or a list of grids"
        )
    return [(int(match[1]), int(match[2])) for match in found if match]


def _pyramid(value: object) -> object:
    windows = windows_of(value)
    if isinstance(windows, int):
        return windows
    return tuple(value) if isinstance(value, list) else value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise RecipeError("must be a text in quotes")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise RecipeError("must be true or false")
    return value


def whole(least: int) -> Callable[[object], int]:
    def check(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise RecipeError(f"must be a whole number, at least {least}")
        return int(value)

    return check


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise RecipeError("must be a positive number")
    return int(value) if isinstance(value, Integral) else float(value)


def _power(value: object) -> float | str:
    return value if value == USUAL else _number(value)


def _one_of(*choices: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if value in choices:
            return value
        meant = nearest(value, choices)
        guess = f"; did you mean {meant!r}?" if meant else ""
        raise RecipeError(f"must be one of {', '.join(choices)}{guess}")

    return check


def _weights(value: object) -> tuple[float, ...]:
    try:
        return tuple(map(_number, value if isinstance(value, list | tuple) else [None]))
    except RecipeError:
        raise RecipeError("must be a list of positive numbers, or none") from None


def setting(default: Any, check: Callable[[object], object], help: str, none: bool = False) -> Any:
    """A field of the schema; ``none`` says whether it may be None ("none" in texts)."""
    return field(default=default, metadata={"check": check, "help": help, "none": none})


def settings_of(part: Any) -> dict[str, Any]:
    """The fields of a part of the schema that people set, by name: those that have a check."""
    return {one.name: one for one in fields(part) if "check" in one.metadata}


class Part:
    """A part of a recipe: its fields are checked when it is made."""

    def __post_init__(self) -> None:
        for name, one in settings_of(type(self)).items():
            value = getattr(self, name)
            if value is None and one.metadata["none"]:
                continue
            try:
                object.__setattr__(self, name, one.metadata["check"](value))
            except RecipeError as problem:
                sentence = str(problem)
                known = sentence.startswith(name)
                raise RecipeError(sentence if known else f"{name} = {value!r} {sentence}") from None

    def to_table(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        return {
            name: getattr(self, name)
            for name, one in settings_of(type(self)).items()
            if one.default is MISSING or getattr(self, name) != one.default
        }


@dataclass(frozen=True)
class Words(Part):
    """Visual words: what a codebook learns from patches, and how windows count them.

    The defaults are those that folds of scene15's training images preferred.
    """

    codebook: str = setting(
        "kmeans-root", _one_of("kmeans", "kmeans-root", "hik"), "Codebook that learns the words."
    )
    n_words: int = setting(200, whole(1), "Number of words.")
    pyramid: int | str | tuple[str, ...] = setting(
        31, _pyramid, "Windows: 1, 8, 21, 31, a grid '3x1', or a list."
    )
    norm: str | None = setting("l1", _one_of("l1", "l2"), "Norm of counts.", none=True)
    scope: str = setting("level", _one_of("level", "window", "image"), "What a norm is taken over.")
    power: float = setting(1.0, _number, "Power of counts.")
    init: str | None = setting(None, _one_of("k-means++"), "First words of k-means.", none=True)
    n_levels: int | None = setting(None, whole(2), "Levels of HIK words.", none=True)
    center: str | None = setting(None, _one_of("mean", "median"), "Centre of HIK words.", none=True)
    max_iter: int | None = setting(None, whole(1), "Iterations of the codebook.", none=True)
    tol: float | None = setting(None, _number, "Tolerance of the codebook.", none=True)
    max_descriptors: int | None = setting(
        None, whole(1), "Descriptors that words are learned from.", none=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        others = ("init",) if self.codebook == "hik" else ("n_levels", "center")
        for name in others:
            if getattr(self, name) is not None:
                raise RecipeError(f"{name} is no setting of the codebook {self.codebook!r}")

    def codebook_settings(self) -> dict[str, Any]:
        """The parameters of the codebook that are given."""
        given = {name: getattr(self, name) for name in OF_CODEBOOKS}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Fisher(Part):
    """Fisher vectors of patches in windows, kept as signed bytes for a linear classifier."""

    n_gaussians: int = setting(64, whole(1), "Gaussians of the mixture.")
    n_components: int = setting(64, whole(1), "Principal components of a descriptor.")
    pyramid: int | str | tuple[str, ...] = setting(8, _pyramid, "Windows, as of words.")
    weights: tuple[float, ...] | None = setting(
        (2.0, 1.0, 1.4), _weights, "Weights of the pyramid's levels.", none=True
    )
    root: bool = setting(False, _flag, "Take square roots of descriptors, which suits counts.")


@dataclass(frozen=True)
class SecondOrder(Part):
    """Second-order pooling of patches in windows, as signed bytes for a linear classifier."""

    n_components: int = setting(64, whole(1), "Principal components of a descriptor.")
    pyramid: int | str | tuple[str, ...] = setting(8, _pyramid, "Windows, as of words.")
    weights: tuple[float, ...] | None = setting(
        (2.0, 1.0, 1.4), _weights, "Weights of the pyramid's levels.", none=True
    )


@dataclass(frozen=True)
class MatchedSets(Part):
    """Sets of patches compared by the pyramid match, as sparse vectors.

    The finest bins are those that folds of caltech101's training images preferred.
    """

    n_components: int = setting(6, whole(1), "Principal components of a descriptor.")
    finest_level: int = setting(6, whole(0), "Smallest bins have side 2^this.")
    n_shifts: int = setting(3, whole(1), "Randomly shifted pyramids that are added up.")
    min_sets: int = setting(2, whole(1), "Sets that share a bin which is kept.")
    normalization: str | None = setting(
        "self",
        _one_of("self", "min_cardinality"),
        "Divisor of the match; min_cardinality needs the kernel pyramid_match.",
        none=True,
    )


@dataclass(frozen=True)
class Hashes(Part):
    """Rows hashed by consistent weighted sampling: the NGMM kernel at the cost of a linear one."""

    n_hashes: int = setting(256, whole(1), "Number of hashes.")
    n_bits: int | None = setting(8, whole(1), "Bits of i* that are kept.", none=True)
    t_bits: int = setting(0, whole(0), "Bits of t* that are kept.")
    normalize: bool = setting(True, _flag, "NGMM kernel; false is GMM.")


PARTS: dict[str, Any] = {  # what patches become, one of them a channel
    "words": Words,
    "fisher": Fisher,
    "second_order": SecondOrder,
    "sets": MatchedSets,
}


@dataclass(frozen=True)
class Channel(Part):
    """One way to look at an image: an extractor, and how its numbers become a row.

    Patches are counted as visual words, turned into Fisher vectors or second moments, or matched as
    sets. Counts of a whole image are divided by their sum and raised to ``power``: images of
    different sizes become alike, and a power below one keeps large uniform areas from drowning
    everything else. An extractor whose vector has the size of the image (one with a parameter
    ``resize_wh`` that is not given, such as HOG) gets every image stretched to 128×128 pixels.

    A recipe with a linear classifier makes its channels ``linear``: rows of one length, as signed
    bytes, times ``weight`` (the root of what its kernel counts), rounded again. Others are for
    kernels: numbers are divided by the training images' 97.5th percentile (not with
    ``rescale=False``), multiplied by ``weight``, and hashed if there are ``hashes``.

    ``extractor`` is a name, or a fitted scikit-learn transformer that takes a list of RGB images
    and gives rows; such a recipe works in the program that made it, and can't be saved. ``cost``
    is an estimate by which "auto" plans; it changes nothing else.
    """

    extractor: Any  # its name; a fitted transformer gets one
    params: dict[str, Any] = field(default_factory=dict)
    words: Words | None = None
    fisher: Fisher | None = None
    second_order: SecondOrder | None = None
    sets: MatchedSets | None = None
    hashes: Hashes | None = None
    power: float | str | None = setting(
        USUAL, _power, "Power of the shares of counts; none: numbers as they are.", none=True
    )
    weight: float = setting(1.0, _number, "Weight beside other channels.")
    rescale: bool = setting(True, _flag, "Divide numbers by their 97.5th percentile.")
    cost: float = field(
        default=5.0,
        repr=False,
        compare=False,
        metadata={
            "check": _number,
            "help": "Milliseconds of one core for 300×250 pixels, by which auto plans.",
            "none": False,
        },
    )
    linear: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.extractor, str):
            object.__setattr__(self, "extractor", register_transformer(self.extractor))
        super().__post_init__()

    def build(self) -> Extractor:
        """Make the extractor."""
        made = find_extractor(self.extractor)(**self.params)
        if not self.learns and getattr(made, "resize_wh", ONE_SIZE) is None:
            made.set_params(resize_wh=ONE_SIZE)
        return made

    def see(self, pixels: np.ndarray) -> "np.ndarray | LocalFeatures":
        """What the extractor makes of an image: its patches, or one vector."""
        extractor = self.build()
        return extractor.extract(pixels) if self.learns else extractor.describe(pixels)

    @property
    def exponent(self) -> float | None:
        """The power of shares: as given, or the one that suits the extractor."""
        if self.power != USUAL:
            return self.power  # type: ignore[return-value]
        return None if find_extractor(self.extractor).is_normalized else 0.5

    @property
    def representation(self) -> str | None:
        """The part that describes patches, such as "words"; None for one vector."""
        return next((part for part in PARTS if getattr(self, part) is not None), None)

    @property
    def learns(self) -> bool:
        """Whether something is learned from patches before images can be encoded."""
        return self.representation is not None

    @property
    def makes_bytes(self) -> bool:
        """Whether rows can be signed bytes for a linear classifier: not of sets and hashes."""
        return self.sets is None and self.hashes is None

    @property
    def is_network(self) -> bool:
        """Whether the extractor is a network, with a file of its own."""
        return self.extractor == NETWORK

    @property
    def unweighted(self) -> "Channel":
        """The channel with weight 1: what is learned and kept of images is the same for both."""
        return self if self.weight == 1 else replace(self, weight=1.0)

    @property
    def is_transformer(self) -> bool:
        """Whether the extractor is a fitted transformer of this program."""
        return self.extractor.startswith(PREFIX)

    @property
    def short_name(self) -> str:
        """The extractor, or a network's file, and what its patches become: "DenseSIFT-fisher"."""
        name = os.path.basename(self.params["path"]) if self.is_network else self.extractor
        color = "color-" * (self.params.get("color") is not None)
        part = self.representation
        return color + name + (f"-{part.replace('_', '-')}" if part else "")

    def described(self) -> str:
        """The extractor, and what its patches become, in a few words."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        part = self.representation
        if part is None:
            return f"{self.extractor}({settings})"
        number = {"words": "n_words", "fisher": "n_gaussians"}.get(part, "n_components")
        became = {
            "words": "{} words",
            "fisher": "Fisher vectors of {} Gaussians",
            "second_order": "second moments of {} components",
            "sets": "sets of points of {} components",
        }[part]
        value = getattr(getattr(self, part), number)
        return f"{self.extractor}({settings}) in {became.format(value)}"


@dataclass(frozen=True)
class Classifier(Part):
    """The classifier of a recipe: a kind, its kernel where it has several, C and parameters."""

    kind: str = setting("icd", _one_of(*KINDS), "Classifier: icd, pmsvm, kernel or linear.")
    kernel: str | None = setting(None, text, "Kernel, such as hik, chi2 or gcs.", none=True)
    C: float | None = setting(None, _number, "Cost of a training error.", none=True)
    params: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        named = {"kernel": self.kernel, "C": self.C} | self.params
        given = [f"{name}={value!r}" for name, value in named.items() if value is not None]
        return f"{self.kind}({', '.join(given)})"
