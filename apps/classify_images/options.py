"""Options that several verbs of classify-images share, and what they do to a model's decision."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import DECISIONS, FILE, FOLDER, RESOURCES, flag, group

if TYPE_CHECKING:
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.decision import Decision


class ClassNumber(click.ParamType):
    """A number of a class: ``defect=0.2``."""

    name = "class=number"
    form = "CLASS=NUMBER, such as defect=0.2"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[Any, float]:
        """Return the class and the number."""
        if isinstance(value, tuple):
            return value
        name, equals, number = value.rpartition("=")
        try:
            return self.key_of(name), float(number if equals and name else "")
        except ValueError:
            self.fail(f"{value!r} must be written {self.form}", param, ctx)

    def key_of(self, name: str) -> Any:
        """What the number belongs to."""
        return name


class MistakeCost(ClassNumber):
    """The cost of a mistake: ``defect:ok=10``."""

    name = "true:said=cost"
    form = "TRUE:SAID=COST, such as defect:ok=10"

    def key_of(self, name: str) -> tuple[str, str]:
        """The true class and the predicted one."""
        true, _, said = name.partition(":")
        if not (true and said):
            raise ValueError(name)
        return true, said


class Rule(NamedTuple):
    """What flags ask of a decision; empty where they leave the model's own.

    Attributes
    ----------
    costs : ((true class, predicted class), cost), ...
    thresholds : (class, probability), ...
    unknown : share of known images that may be called unknown, or None
    """

    costs: tuple[tuple[tuple[str, str], float], ...]
    thresholds: tuple[tuple[str, float], ...]
    unknown: float | None

    def checked(self, classes: Any) -> "Decision":
        """The decision that the flags ask for; classes that do not exist are refused."""
        from visualwords.apps.pipeline.decision import Decision

        try:
            return Decision.of(classes, dict(self.costs), dict(self.thresholds), self.unknown)
        except ValueError as problem:
            raise click.UsageError(str(problem)) from None

    def change(self, classifier: "ImageClassifier", path: str) -> None:
        """Change the decision of a model; what the flags leave out stays."""
        from visualwords.apps.pipeline.decision import Decision
        from visualwords.errors import FolderError

        if not any(self):
            return
        if self.unknown is not None and classifier.novelty_ is None:
            raise FolderError(
                f"{path}: the model can't detect unknown images, because a class had a single "
                "training image; omit --unknown or train it again with more"
            )
        asked, kept = self.checked(classifier.classes_), classifier.decision_
        classifier.decision_ = Decision(
            asked.classes,
            asked.costs if self.costs else kept.costs,
            asked.thresholds if self.thresholds else kept.thresholds,
            kept.unknown if self.unknown is None else self.unknown,
        )


DECIDING = (
    flag(
        "--cost TRUE:SAID=X",
        "Cost of predicting SAID for an image of TRUE, such as defect:ok=10; other mistakes cost "
        "1. May be repeated.",
        MistakeCost(),
        name="costs",
        multiple=True,
    ),
    flag(
        "--threshold CLASS=P",
        "Predict a class if its probability is at least P, and only then; may be repeated.",
        ClassNumber(),
        name="thresholds",
        multiple=True,
    ),
    flag(
        "--unknown RATE",
        'Label images unlike all training images "unknown", and at most about this share of known '
        "ones, such as 0.05 [default: every image gets a class].",
        shared.SHARE,
    ),
)


def deciding(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that change how probabilities become labels; the verb gets ``rule``."""

    @functools.wraps(verb)
    def with_rule(*args: Any, costs: Any, thresholds: Any, unknown: Any, **others: Any) -> Any:
        return verb(*args, rule=Rule(costs, thresholds, unknown), **others)

    return group(DECISIONS, *DECIDING)(with_rule)


label_from = flag(
    "--label-from PATTERN",
    "Take labels from file names: the first group of this regular expression, such as "
    "'(.+)_[0-9]+' for cat_17.jpg.",
)
network = group(
    RESOURCES,
    flag(
        "--network PATH",
        "The ONNX file that the model needs, or its folder [default: beside the model].",
        shared.PATH,
    ),
)
cache = flag(
    "--cache DIR", "Feature cache [default: in the user's cache folder].", FOLDER, name="cache_dir"
)
min_confidence = group(
    DECISIONS,
    flag(
        "--min-confidence P",
        'Print "unknown" where the probability of the label is below P.',
        shared.Number(0, 1),
        default=0.0,
    ),
)
sort_into = flag(
    "--sort-into DIR", "Copy the images into DIR/label; never move or overwrite a file.", FOLDER
)
output = functools.partial(flag, kind=shared.OUTPUT)
max_pixels = group(
    RESOURCES,
    flag("--max-pixels N", "Skip images with more pixels.", shared.COUNT, default=100_000_000),
)
CACHING = (
    cache,
    flag(
        "--cache-size SIZE",
        "Size of the feature cache; beyond it, the least recently used entries are deleted.",
        shared.SIZE,
        default=10_000_000_000,
        show_default="10GB",
    ),
    flag("--no-cache", "Do not cache features on disk."),
)


def reading(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of verbs that read many images; the verb gets ``run``."""

    @functools.wraps(verb)
    def with_run(*args: Any, **others: Any) -> Any:
        from visualwords.apps.classify_images.running import Run

        names = ("jobs", "cache_dir", "cache_size", "no_cache", "max_pixels", "quiet", "strict")
        settings = {name: others.pop(name) for name in (*names, "as_json")}
        return verb(*args, run=Run(**settings), **others)

    made: Callable[..., Any] = with_run
    for option in (
        shared.scheduler,
        max_pixels,
        group(RESOURCES, *CACHING),
        shared.jobs,
        shared.quiet,
        shared.strict,
        shared.as_json,
    ):
        made = option(made)
    return made


host = flag("--host ADDRESS", "Address to listen on.", default="127.0.0.1")
port = flag(
    "--port N", "Port to listen on; 0 chooses a free one.", click.IntRange(0, 65535), default=8000
)
allow_host = flag(
    "--allow-host NAME",
    "Accept requests for this host name too; may be repeated.",
    name="names",
    multiple=True,
)
api_key_file = flag(
    "--api-key-file FILE",
    "Answer only requests with the key in this file, or in VISUALWORDS_API_KEY.",
    FILE,
)
open_browser = flag("--open", "Open the page in a browser.", name="open_browser")
