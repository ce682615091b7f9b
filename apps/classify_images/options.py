"""Options that several verbs of classify-images share, and what they do to a model's decision."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import click

from visualwords.apps.command_line import options as shared

if TYPE_CHECKING:
    from visualwords.apps.pipeline.decision import Decision
    from visualwords.apps.pipeline.image_classifier import ImageClassifier

Costs = tuple[tuple[tuple[str, str], float], ...]
Thresholds = tuple[tuple[str, float], ...]
UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class Bytes(click.ParamType):
    """An amount of memory, with or without a unit: ``2000000``, ``500MB``, ``2GiB``."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Return the number of bytes."""
        if isinstance(value, int):
            return value
        number, unit = re.fullmatch(r"([0-9.]*)\s*(.*)", value, re.S).groups()  # type: ignore[union-attr]
        try:
            return int(float(number) * UNITS[unit.lower()])
        except (KeyError, ValueError, OverflowError):
            self.fail(f"{value!r} is not a memory size; write it like 500MB or 2GB", param, ctx)


class Seconds(click.ParamType):
    """A duration: ``90``, ``90s``, ``10m`` or ``1h``."""

    name = "time"
    _units: ClassVar = {"s": 1.0, "m": 60.0, "h": 3600.0}

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return seconds."""
        if isinstance(value, float):
            return value
        number, unit = (value[:-1], value[-1:]) if value[-1:] in self._units else (value, "s")
        try:
            seconds = float(number) * self._units[unit]
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            self.fail(f"{value!r} is not a duration; write it like 90s, 10m or 1h", param, ctx)
        return seconds


class ClassNumber(click.ParamType):
    """A number of a class: ``defect=0.2``."""

    name = "class=number"
    form = "CLASS=NUMBER, such as defect=0.2"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, float]:
        """Return the class and the number."""
        if isinstance(value, tuple):
            return value
        name, found, number = value.rpartition("=")
        try:
            return name, float(number if found and name else "")
        except ValueError:
            self.fail(f"{value!r} must be written {self.form}", param, ctx)


class MistakeCost(ClassNumber):
    """The cost of a mistake: ``defect:ok=10``."""

    name = "true:said=cost"
    form = "TRUE:SAID=COST, such as defect:ok=10"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the true class, the predicted one, and the cost."""
        if isinstance(value, tuple) and not isinstance(value[0], str):
            return value
        names, cost = super().convert(value, param, ctx)
        true, found, said = names.partition(":")
        if not (found and true and said):
            self.fail(f"{value!r} must be written {self.form}", param, ctx)
        return (true, said), cost


def deciding(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that change how probabilities become labels."""
    for option in (
        click.option(
            "--unknown",
            type=shared.Number(0, 1, min_open=True, max_open=True),
            metavar="RATE",
            help='Label strange images "unknown", and at most about this share of known ones, '
            "such as 0.05 [default: every image gets a class].",
        ),
        click.option(
            "--threshold",
            "thresholds",
            type=ClassNumber(),
            multiple=True,
            metavar="CLASS=P",
            help="Predict a class from this probability on, and never below it; may be repeated.",
        ),
        click.option(
            "--cost",
            "costs",
            type=MistakeCost(),
            multiple=True,
            metavar="TRUE:SAID=X",
            help="Cost of predicting SAID for an image of TRUE, such as defect:ok=10; other "
            "mistakes cost 1. May be repeated.",
        ),
    ):
        verb = option(verb)
    return verb


def check_decision(
    classes: Any, costs: Costs, thresholds: Thresholds, unknown: float | None
) -> "Decision":
    """Return the rule that the flags ask for; refuse classes that do not exist."""
    from visualwords.apps.pipeline.decision import Decision

    try:
        return Decision.of(classes, dict(costs), dict(thresholds), unknown)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


def decide_otherwise(
    classifier: "ImageClassifier",
    path: str,
    costs: Costs,
    thresholds: Thresholds,
    unknown: float | None,
) -> None:
    """Replace the rule of a model by that of the flags; what they leave out stays."""
    from visualwords.apps.pipeline.decision import Decision
    from visualwords.errors import FolderError

    if not (costs or thresholds or unknown is not None):
        return
    if unknown is not None and classifier.novelty_ is None:
        raise FolderError(
            f"{path}: the model can't tell unknown images: it was saved by an older version, or a "
            "class had a single training image; omit --unknown or train it again"
        )
    asked = check_decision(classifier.classes_, costs, thresholds, unknown)
    kept = classifier.decision_
    classifier.decision_ = Decision(
        asked.classes,
        asked.costs if costs else kept.costs,
        asked.thresholds if thresholds else kept.thresholds,
        kept.unknown if unknown is None else unknown,
    )


label_from = click.option(
    "--label-from",
    metavar="PATTERN",
    help="Take labels from file names: the first group of this regular expression, such as "
    "'(.+)_[0-9]+' for cat_17.jpg.",
)
network = click.option(
    "--network",
    type=click.Path(),
    metavar="PATH",
    help="The ONNX file that the model needs, or its folder [default: beside the model].",
)
cache = click.option(
    "--cache",
    "cache_dir",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Feature cache [default: in the user's cache folder].",
)
cache_size = click.option(
    "--cache-size",
    type=Bytes(),
    default=10_000_000_000,
    show_default="10GB",
    metavar="SIZE",
    help="Size of the feature cache; beyond it, the least recently used entries are deleted.",
)
min_confidence = click.option(
    "--min-confidence",
    type=shared.Number(0, 1),
    default=0.0,
    metavar="P",
    help='Print "unknown" where the probability of the label is below P [default: 0].',
)
sort_into = click.option(
    "--sort-into",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Copy the images into DIR/label; never move or overwrite a file.",
)
max_pixels = click.option(
    "--max-pixels",
    type=click.IntRange(min=1),
    default=100_000_000,
    show_default=True,
    help="Skip images with more pixels.",
)


def reading(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of verbs that read many images."""
    for option in (
        shared.scheduler,
        max_pixels,
        click.option("--no-cache", is_flag=True, help="Do not cache features on disk."),
        cache_size,
        cache,
        shared.jobs,
        shared.quiet,
        shared.strict,
        shared.as_json,
    ):
        verb = option(verb)
    return verb


def cache_folder(cache_dir: str | None, no_cache: bool) -> str | None:
    """Return the folder of the feature cache; None for no cache."""
    from visualwords.cache import default_folder

    if no_cache:
        return None
    folder = cache_dir or default_folder()
    return None if folder is None else str(folder)
