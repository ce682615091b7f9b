"""What several commands of classify-images do and ask for: images, a decision, a recipe."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.command_line import verb as shared
from visualwords.apps.command_line.terminal import (
    detail,
    listed,
    print_json,
    progress_bars,
    say_skipped,
)
from visualwords.apps.command_line.verb import (
    DONE,
    SKIPPED,
    Number,
    Work,
    at_most_one,
    flag,
    n_threads,
    parts,
    usage_checked,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.dataset import Dataset
    from visualwords.apps.pipeline.decision import Decision
    from visualwords.apps.pipeline.recipe import Recipe
    from visualwords.apps.pipeline.stages import Environment
    from visualwords.errors import Skipped
    from visualwords.folders import ImageFolder
    from visualwords.progress import Progress

NETWORK_COST = 30.0  # milliseconds by which auto plans: of a small network
OF_ALL = {"C", "max_side", "min_side", "views"}  # which "auto" changes in all that it tries
PATCHES = ("codebook", "words", "fisher", "second_order", "sets")  # what patches become
CHANGES = (*PATCHES, "pyramid", "kernel", "solver", "C", "max_side", "min_side", "views")
AS_TOML = ("fisher", "second_order", "pyramid")  # values that are written as in a recipe's file


def complete_recipes(_: click.Context, __: click.Parameter, typed: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    from visualwords.apps.pipeline.recipes import RECIPES

    known = {"auto": "choose one by cross-validation"}
    known |= {recipe.name: recipe.summary for recipe in RECIPES.values()}
    fitting = [(name, about) for name, about in known.items() if name.startswith(typed)]
    return [CompletionItem(name, help=about) for name, about in fitting]


def complete_kernels(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    from visualwords.apps.pipeline.recipe_text import kernel_names

    return [name for name in kernel_names() if name.startswith(typed)]


def complete_classes(ctx: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """The classes of the model that the command line names; none if it can't be read."""
    from visualwords.errors import VisualWordsError
    from visualwords.model_file import read_manifest

    words = [ctx.params.get("model"), *ctx.args]  # click leaves arguments there before a bare flag
    with suppress(VisualWordsError, OSError, KeyError, TypeError, ValueError):
        names = read_manifest(next((word for word in words if word), ""))["classes"]
        return [name for name in names if name.startswith(typed)]
    return []


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


def cache_folder(cache_dir: str | None) -> str | None:
    """The folder of the feature cache; None for no cache."""
    from visualwords.cache import default_folder

    folder = cache_dir or default_folder()
    return None if folder is None else str(folder)


class Reading(Work):
    """A command that reads many images: with threads, a cache, and files that are skipped.

    Attributes
    ----------
    resources : parameters of `ImageClassifier` that the flags ask for
    skipped : files that were left out, each once
    contents : what is known of files; each is opened once in a run
    times : of the stages
    """

    jobs: int | None = shared.jobs
    cache_dir: str | None = cache
    cache_size: int = flag(
        "--cache-size SIZE",
        "Size of the feature cache; beyond it, the least recently used entries are deleted.",
        default="10GB",
    )
    no_cache: bool = flag("--no-cache", "Do not cache features on disk.")
    max_pixels: int = max_pixels
    scheduler: Any = shared.scheduler
    quiet: Any = shared.quiet
    strict: bool = shared.strict
    as_json: bool = shared.as_json

    def __init__(self, **given: Any):
        from visualwords.apps.pipeline.contents import Contents
        from visualwords.progress import StageTimes

        super().__init__(**given)
        self.resources: dict[str, Any] = {
            "n_jobs": n_threads(self.jobs),
            "cache_dir": None if self.no_cache else cache_folder(self.cache_dir),
            "cache_size": self.cache_size,
            "max_pixels": self.max_pixels,
        }
        self.skipped: list[Skipped | tuple[str, str]] = []
        self.contents, self.times = Contents(), StageTimes()

    def run(self) -> int:
        """Do the work, and list the files that were skipped."""
        return self.work() or self.exit_code()

    def work(self) -> int | None:
        """Do the work; return the exit code where it is not that of skipped files."""
        raise NotImplementedError

    @contextmanager
    def progress(self, *, hidden: bool = False) -> "Iterator[Progress]":
        """Show progress unless it is hidden, and take the time of every stage in the block."""
        with progress_bars(self.quiet or hidden) as bars:
            self.times.listener = bars
            yield self.times
            self.times.stop()

    def environment(self, progress: "Progress") -> "Environment":
        """What stages run in where no model is trained."""
        from visualwords.apps.pipeline.classifier import ImageClassifier

        return ImageClassifier(**self.resources).environment(progress)

    def dataset(self, images: "ImageFolder") -> "Dataset":
        """All images of a folder."""
        from visualwords.apps.pipeline.dataset import Dataset

        return Dataset.of_folder(images, contents=self.contents)

    def print_summary(self, summary: dict[str, Any]) -> None:
        """Print the result as JSON, if that was asked for."""
        if self.as_json:
            print_json(summary | {"skipped": listed(self.skipped)})

    def skip(self, skipped: "Sequence[Skipped | tuple[str, str]]") -> None:
        """Note files that were left out, each once."""
        self.skipped[:] = dict.fromkeys([*self.skipped, *skipped])

    def check_strict(self) -> None:
        """Stop if files were left out and none may be."""
        from visualwords.errors import FolderError

        if self.strict and self.skipped:
            say_skipped(self.skipped)
            raise FolderError("files had to be skipped, which --strict forbids")

    def exit_code(self) -> int:
        """List the skipped files; the exit code."""
        for stage, seconds in self.times.seconds.items():
            detail(f"{stage}: {seconds:.1f} s")
        detail(
            f"{self.resources['n_jobs']} threads; cache: {self.resources['cache_dir'] or 'none'}"
        )
        say_skipped(self.skipped)
        return SKIPPED if self.skipped else DONE


class Deciding(Work):
    """A command that can change how probabilities become labels; empty leaves a model's own."""

    costs: tuple[tuple[tuple[str, str], float], ...] = flag(
        "--cost TRUE:SAID=X",
        "Cost of predicting SAID for an image of TRUE, such as defect:ok=10; other mistakes cost "
        "1. May be repeated.",
        parts("TRUE:SAID=COST, such as defect:ok=10", "=", _mistake, float),
        name="costs",
        multiple=True,
    )
    thresholds: tuple[tuple[str, float], ...] = flag(
        "--threshold CLASS=P",
        "Predict a class if its probability is at least P, and only then; may be repeated.",
        parts("CLASS=NUMBER, such as defect=0.2", "=", _nonempty, float),
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

    def decision(self, classes: Sequence[str]) -> "Decision":
        """The decision that the flags ask for; classes that do not exist are refused."""
        from visualwords.apps.pipeline.decision import Decision

        with usage_checked():
            return Decision.of(classes, **self.rule)

    def load(self, path: str, network: str | None, **settings: Any) -> "ImageClassifier":
        """The model of a file, with settings of this run and the decision of the flags."""
        from visualwords.apps.pipeline.classifier import ImageClassifier
        from visualwords.errors import FolderError

        model = ImageClassifier.load(path, network=network).set_params(**settings)
        if self.unknown is not None and model.novelty_ is None:
            raise FolderError(
                f"{path}: the model can't detect unknown images, because a class had a single "
                "training image; omit --unknown or train it again with more"
            )
        asked = self.decision(model.classes_)
        changed = {n: getattr(asked, n) for n, value in self.rule.items() if value is not None}
        model.decision_ = replace(model.decision_, **changed)
        return model


class Composing(Work):
    """A command that learns by one recipe, which flags name or compose."""

    recipe: str = flag(
        "--recipe NAME|FILE.toml",
        "A recipe's name or file, or auto to try several.",
        default="auto",
        shell_complete=complete_recipes,
    )
    features: tuple[str, ...] = flag(
        "--feature 'NAME(key=value, …)'",
        "Use an extractor in place of a recipe's; several are combined. Example: "
        "'DenseSIFT(step=4, bin_size=[4, 8])' or onnx:net.onnx. With --recipe auto, try recipes "
        "with it and without it.",
        name="features",
        multiple=True,
    )
    codebook: str | None = flag("--codebook NAME", "Learn words by kmeans, kmeans-root or hik.")
    words: int | None = flag("--words N", "Count patches as N words.")
    fisher: str | None = flag(
        "--fisher [N]",
        "Turn patches into Fisher vectors of N Gaussians [64].",
        is_flag=False,
        flag_value="true",
    )
    second_order: str | None = flag(
        "--second-order [N]",
        "Turn patches into second moments of N principal components [64].",
        is_flag=False,
        flag_value="true",
    )
    sets: bool = flag("--sets", "Match patches as sets (pyramid match).")
    pyramid: str | None = flag(
        "--pyramid 1|8|21|31|RxC", "Windows that words are counted in, or a grid."
    )
    kernel: str | None = flag(
        "--kernel NAME", "Kernel: hik, chi2, gcs, ngmm, linear, …", shell_complete=complete_kernels
    )
    solver: str | None = flag(
        "--solver NAME",
        "Classifier: icd, pmsvm, kernel or linear; of icd also dual, gram or primal. "
        "[default: the fastest that computes the kernel]",
    )
    C: float | None = flag("--C X", "Cost of a training error.", Number(0, min_open=True), name="C")
    max_side: int | None = flag("--max-side N", "Shrink images to this side.")
    min_side: int | None = flag("--min-side N", "Enlarge images to this side.")
    views: str | None = flag(
        "--views [mirror|rotations|all|none]",
        "Train on views of each image, too: mirrored, rotated by quarter turns, or both.",
        click.Choice(["mirror", "rotations", "all", "none"]),
    )
    settings: tuple[str, ...] = flag(
        "--set KEY=VALUE",
        "Change any other setting of the recipe, such as words.norm=none or loss=hinge.",
        name="settings",
        multiple=True,
    )

    def composed(self) -> "tuple[str | Recipe, dict[str, Any]]":
        """The recipe that the flags describe; or "auto", and what they change in all it tries.

        What is wrong with it is said before any image is read.
        """
        source = click.get_current_context().get_parameter_source("recipe")
        is_named = source is not click.core.ParameterSource.DEFAULT
        changes = self.changes()
        of_all = self.recipe == "auto" and {key for key, _ in changes} <= OF_ALL
        if of_all and not self.features:
            return "auto", dict(changes)
        if self.recipe == "auto" and self.features and is_named:
            if not of_all:
                raise click.UsageError("--recipe auto with --feature takes no other settings")
            channels = checked_recipe("auto", self.features).channels
            if any(channel.learns for channel in channels):
                raise click.UsageError(
                    "--recipe auto adds extractors of one vector an image; for words of patches "
                    "omit --recipe auto"
                )
            added = tuple(replace(channel, cost=NETWORK_COST) for channel in channels)
            return "auto", dict(changes) | {"channels": added}
        return checked_recipe(self.recipe, self.features, changes), {}

    def changes(self) -> list[tuple[str, Any]]:
        """The settings that flags change, in the order of the flags."""
        from visualwords.apps.pipeline.composing import parsed, setting

        values = {name: getattr(self, name) for name in CHANGES}
        given = {name: value for name, value in values.items() if value not in (None, False)}
        if not {"codebook", "words"} >= given.keys() & {*PATCHES}:
            at_most_one(**{name: given.get(name) for name in PATCHES})
        with usage_checked():
            others = [setting(text) for text in self.settings]
        return [(n, parsed(v) if n in AS_TOML else v) for n, v in given.items()] + others


def checked_recipe(
    name: str, features: Sequence[str] = (), changes: Sequence[tuple[str, Any]] = ()
) -> "Recipe":
    """Return a recipe, or one of extractors, with changes; what can't work is a usage error."""
    from visualwords.apps.pipeline.composing import compose, read_recipe
    from visualwords.apps.pipeline.recipe_check import check_recipe
    from visualwords.apps.pipeline.recipes import RECIPES

    at_most_one(recipe=name != "auto", feature=features)
    with usage_checked():
        made = compose(None if name == "auto" else read_recipe(name), features, changes)
        if made not in RECIPES.values():  # these are known to work
            check_recipe(made)
    return made
