"""What several commands of classify-images ask for, and what it does to a model."""

import secrets
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import Pair, flag
from visualwords.apps.command_line.terminal import note
from visualwords.apps.command_line.verb import Work, usage_checked

if TYPE_CHECKING:
    from collections.abc import Callable

    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.decision import Decision


def _nonempty(text: str) -> str:
    if not text:
        raise ValueError(text)
    return text


def _mistake(text: str) -> tuple[str, str]:
    true, _, said = text.partition(":")
    return _nonempty(true), _nonempty(said)


label_from = flag(
    "--label-from PATTERN",
    "Take labels from file names: the first group of this regular expression, such as "
    "'(.+)_[0-9]+' for cat_17.jpg.",
)
network = flag(
    "--network PATH",
    "The ONNX file that the model needs, or its folder [default: beside the model].",
)
min_confidence = flag(
    "--min-confidence P",
    'Print "unknown" where the probability of the label is below P.',
    default=0.0,
)
sort_into = flag(
    "--sort-into DIR", "Copy the images into DIR/label; never move or overwrite a file."
)
cache = flag(
    "--cache DIR", "Feature cache [default: in the user's cache folder].", name="cache_dir"
)
max_pixels = flag("--max-pixels N", "Skip images with more pixels.", default=100_000_000)


class Reading(Work):
    """A command that reads many images: with threads, a cache, and files that are skipped."""

    jobs: int | None = shared.jobs
    cache_dir: str | None = cache
    cache_size: int = flag(
        "--cache-size SIZE",
        "Size of the feature cache; beyond it, the least recently used entries are deleted.",
        default=10_000_000_000,
        show_default="10GB",
    )
    no_cache: bool = flag("--no-cache", "Do not cache features on disk.")
    max_pixels: int = max_pixels
    scheduler: Any = shared.scheduler
    quiet: Any = shared.quiet
    strict: bool = shared.strict
    as_json: bool = shared.as_json

    def run(self) -> int:
        """Import what reads images, and do the work."""
        from visualwords.apps.classify_images.running import Run

        run = Run(self)
        return self.work(run) or run.exit_code()

    def work(self, run: "Run") -> int | None:
        """Do the work; return the exit code where it is not that of skipped files."""
        raise NotImplementedError


class Deciding(Work):
    """A command that can change how probabilities become labels; empty leaves a model's own."""

    costs: tuple[tuple[tuple[str, str], float], ...] = flag(
        "--cost TRUE:SAID=X",
        "Cost of predicting SAID for an image of TRUE, such as defect:ok=10; other mistakes cost "
        "1. May be repeated.",
        Pair("TRUE:SAID=COST, such as defect:ok=10", "=", _mistake, float),
        name="costs",
        multiple=True,
    )
    thresholds: tuple[tuple[str, float], ...] = flag(
        "--threshold CLASS=P",
        "Predict a class if its probability is at least P, and only then; may be repeated.",
        Pair("CLASS=NUMBER, such as defect=0.2", "=", _nonempty, float),
        name="thresholds",
        multiple=True,
    )
    unknown: float | None = flag(
        "--unknown RATE",
        'Label images unlike all training images "unknown", and at most about this share of known '
        "ones, such as 0.05 [default: every image gets a class].",
    )

    @property
    def rule(self) -> dict[str, Any]:
        """What is asked for, by the names of `ImageClassifier`; None leaves the model's own."""
        costs, thresholds = dict(self.costs) or None, dict(self.thresholds) or None
        return {"costs": costs, "thresholds": thresholds, "unknown": self.unknown}

    def decision(self, classes: Any) -> "Decision":
        """The decision that the flags ask for; classes that do not exist are refused."""
        from visualwords.apps.pipeline.decision import Decision

        with usage_checked():
            return Decision.of(classes, **self.rule)

    def decide(self, classifier: "ImageClassifier", path: str) -> None:
        """Change the decision of a model; what the flags leave out stays."""
        from visualwords.errors import FolderError

        if self.unknown is not None and classifier.novelty_ is None:
            raise FolderError(
                f"{path}: the model can't detect unknown images, because a class had a single "
                "training image; omit --unknown or train it again with more"
            )
        asked = self.decision(classifier.classes_)
        changed = {n: getattr(asked, n) for n, value in self.rule.items() if value is not None}
        classifier.decision_ = replace(classifier.decision_, **changed)


class Serving(Work):
    """A command that opens a page on the network."""

    host: str = flag("--host ADDRESS", "Address to listen on.", default="127.0.0.1")
    port: int = flag(
        "--port N",
        "Port to listen on; 0 chooses a free one.",
        click.IntRange(0, 65535),
        default=8000,
    )
    names: tuple[str, ...] = flag(
        "--allow-host NAME",
        "Accept requests for this host name too; may be repeated.",
        name="names",
        multiple=True,
    )
    api_key_file: str | None = flag(
        "--api-key-file FILE",
        "Answer only requests with the key in this file, or in VISUALWORDS_API_KEY.",
    )
    open_browser: bool = flag("--open", "Open the page in a browser.", name="open_browser")
    quiet: Any = shared.quiet

    def serve(self, make: "Callable[..., Any]", limits: Any, hint: str, secret: bool) -> int:
        """Serve what a function makes of the rules for requests, until interrupted.

        A ``secret`` page that other machines can reach has a key, even if none was given.
        """
        from visualwords.apps.page import serving

        key = serving.read_key(self.api_key_file)
        with serving.listen(self.host, self.port) as listener:
            is_open = not serving.is_loopback(listener)
            if secret and is_open and key is None:
                key = secrets.token_hex(16)
            names = serving.names_of(listener, self.host, self.names)
            address = serving.announce(listener, self.host, key)
            app = make(limits=limits, names=names, any_address=is_open, key=key)
            click.echo(address)
            note(f"{hint}; Ctrl-C stops the server.")
            if self.open_browser:
                click.launch(address)
            serving.serve(app, listener, limits)
        return 0


def output_format(as_json: bool, as_csv: bool, output: str | None, others: str) -> str:
    """Return "json", "csv" or another form: as flags ask, else as the name of a file ends."""
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    ending = (output or "").lower().rpartition(".")[2]
    named = ending if ending in ("csv", "json") else others
    return "json" if as_json else "csv" if as_csv else named


@shared.starting
def complete_recipes(_: click.Context) -> dict[str, str]:
    from visualwords.apps.pipeline.recipes import RECIPES

    known = {"auto": "choose one by cross-validation"}
    return known | {recipe.name: recipe.summary for recipe in RECIPES.values()}


@shared.starting
def complete_kernels(_: click.Context) -> list[str]:
    from visualwords.apps.pipeline.recipe_text import kernel_names

    return list(kernel_names())


@shared.starting
def complete_classes(ctx: click.Context) -> list[str]:
    """The classes of the model that the command line names; none if it can't be read."""
    from visualwords.errors import VisualWordsError
    from visualwords.model_file import read_manifest

    words = [ctx.params.get("model"), *ctx.args]  # click leaves arguments there before a bare flag
    with suppress(VisualWordsError, OSError, KeyError, TypeError, ValueError):
        return list(read_manifest(next((word for word in words if word), ""))["classes"])
    return []
