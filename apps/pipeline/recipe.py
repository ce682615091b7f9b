"""What a recipe consists of: channels, how their numbers become a row, and a classifier."""

from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

from visualwords.features.extractor import Extractor
from visualwords.features.registry import find_extractor

CLASSIFIERS = {  # and the modules that have them, of which a recipe needs one
    "ICDClassifier": "visualwords.classifiers.icd",
    "LinearClassifier": "visualwords.classifiers.linear",
    "ByteLinearClassifier": "visualwords.classifiers.byte_linear",
    "PmSVMClassifier": "visualwords.classifiers.pmsvm",
}


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
class Fisher:
    """Fisher vectors of patches in windows, kept as signed bytes for a linear classifier.

    ``root`` takes square roots of the descriptors first, which suits counts; ``weights`` are those
    of the pyramid's levels.
    """

    n_gaussians: int = 64
    n_components: int = 64
    pyramid: int = 8
    weights: tuple[float, ...] | None = (2.0, 1.0, 1.4)
    root: bool = False


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

    Patches are counted as visual words, turned into Fisher vectors or matched as sets. Counts of a
    whole image are divided by their sum and raised to ``power``: images of different sizes become
    alike, and a power below one keeps large uniform areas from drowning everything else. Where
    ``power`` is None the extractor has normalised its numbers itself.

    ``linear`` says that the row is for a linear classifier: brought to length 1, times ``weight``
    (the root of what its kernel counts), as signed bytes. Others are for additive kernels.

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

    def __post_init__(self) -> None:
        if self.power is not None and not self.power > 0:
            raise ValueError(f"power={self.power!r} must be positive, or None")

    def build(self) -> Extractor:
        """Make the extractor."""
        return find_extractor(self.extractor)(**self.params)

    @property
    def learns(self) -> bool:
        """Whether something is learned from patches before images can be encoded."""
        return not (self.words is None and self.fisher is None and self.sets is None)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Channel":
        """Restore a channel from what JSON made of it."""
        parts = {"words": Words, "fisher": Fisher, "sets": MatchedSets}
        restored = {
            name: None if values[name] is None else kind(**values[name])
            for name, kind in parts.items()
        }
        fisher = values["fisher"]
        if fisher is not None and fisher["weights"] is not None:
            restored["fisher"] = Fisher(**{**fisher, "weights": tuple(fisher["weights"])})
        return cls(**{**values, **restored})


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
    def cost(self) -> float:
        """Milliseconds of one core for an image: an estimate."""
        return sum(channel.cost for channel in self.channels)

    @property
    def representation(self) -> str:
        """What the classifier sees: "pyramid-match", "fisher", "words" or "histogram"."""
        for name, part in (("pyramid-match", "sets"), ("fisher", "fisher"), ("words", "words")):
            if any(getattr(channel, part) is not None for channel in self.channels):
                return name
        return "histogram"

    def build_classifier(self, seed: int = 0, n_jobs: int | None = None) -> Any:
        """Make the classifier."""
        kind = getattr(import_module(CLASSIFIERS[self.classifier]), self.classifier)
        return kind(random_state=seed, n_jobs=n_jobs, **self.classifier_params)

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Recipe":
        """Restore a recipe from `to_json`."""
        channels = tuple(Channel.from_json(channel) for channel in values["channels"])
        return cls(**{**values, "channels": channels})
