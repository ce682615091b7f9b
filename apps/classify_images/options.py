"""What several commands of classify-images do and ask for: images, a decision, a recipe."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.command_line import terminal, verb
from visualwords.apps.command_line.verb import Work, flag, parts
from visualwords.errors import FolderError, Skipped, VisualWordsError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from visualwords import ImageClassifier, Recipe
    from visualwords.apps.pipeline.dataset import Dataset
    from visualwords.apps.pipeline.decision import Decision
    from visualwords.apps.pipeline.stages import Environment
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
    from visualwords.model_file import read_manifest

    words = [ctx.params.get("model"), *ctx.args]  # click leaves arguments there before a bare flag
    with suppress(VisualWordsError, OSError, KeyError, TypeError, ValueError):
        names = read_manifest(next((word for word in words if word), ""))["classes"]
        return [name for name in names if name.startswith(typed)]
    return []


class Shared:
    """Options of several commands.

    Parameters
    ----------
    label_from
        Take labels from file names: the first group of this regular expression, such as
        '(.+)_[0-9]+' for cat_17.jpg.
    network
        The ONNX file that the model needs, or its folder [default: beside the model].
    min_confidence
        Print "unknown" where the probability of the label is below P.
    sort_into
        Copy the images into DIR/label; never move or overwrite a file.
    cache_dir
        Feature cache [default: in the user's cache folder].
    max_pixels
        Skip images with more pixels.
    """

    label_from: str | None = flag("--label-from PATTERN")
    network: str | None = flag("--network PATH")
    min_confidence: float = flag("--min-confidence P", default=0.0)
    sort_into: str | None = flag("--sort-into DIR")
    cache_dir: str | None = flag("--cache DIR")
    max_pixels: int = flag("--max-pixels N", default=100_000_000)


label_from, network, min_confidence, sort_into, cache, max_pixels = verb.fields_of(Shared).values()


@contextmanager
def usage_checked() -> Iterator[None]:
    """Turn a ValueError of the block, which names a wrong setting, into one of the command line."""
    try:
        yield
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


def at_most_one(why: str = "", **given: Any) -> None:
    """Refuse options that exclude each other: their names, and what they are."""
    asked = [name for name, value in given.items() if value not in (None, False, ())]
    flags = [f"--{name.replace('_', '-')}" for name in asked]
    if len(flags) > 1:
        raise click.UsageError(f"{' and '.join(flags)} exclude each other{why}")


def form_of(output: str | None, others: str, **asked: bool) -> str:
    """How results are written: "json", "csv" or another form, as a flag or a file's name asks."""
    at_most_one("", **asked)
    ending = (output or "").lower().rpartition(".")[2]
    named = ending if ending in ("csv", "json") else others
    return next((form for form, is_asked in asked.items() if is_asked), named)


def cache_folder(cache_dir: str | None) -> str | None:
    """The folder of the feature cache; None for no cache."""
    from visualwords.cache import default_folder

    folder = cache_dir or default_folder()
    return None if folder is None else str(folder)


class Reading(Work):
    """A command that reads many images: with threads, a cache, and files that are skipped.

    Parameters
    ----------
    cache_size
        Size of the feature cache; beyond it, the least recently used entries are deleted.
    no_cache
        Do not cache features on disk.

    Attributes
    ----------
    resources : parameters of `ImageClassifier` that the flags ask for
    skipped : files that were left out, each once
    contents : what is known of files; each is opened once in a run
    times : of the stages
    """

    jobs: int | None = verb.jobs
    cache_dir: str | None = cache
    cache_size: int = flag("--cache-size SIZE", default="10GB")
    no_cache: bool = flag("--no-cache")
    max_pixels: int = max_pixels
    scheduler: Any = verb.scheduler
    quiet: Any = verb.quiet
    strict: bool = verb.strict
    as_json: bool = verb.as_json

    def __init__(self, **given: Any):
        from visualwords.apps.pipeline.contents import Contents
        from visualwords.progress import StageTimes

        super().__init__(**given)
        self.resources: dict[str, Any] = {
            "n_jobs": verb.n_threads(self.jobs),
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
        with terminal.progress_bars(self.quiet or hidden) as bars:
            self.times.listener = bars
            yield self.times
            self.times.stop()

    def environment(self, progress: "Progress") -> "Environment":
        """What stages run in where no model is trained."""
        from visualwords import ImageClassifier

        return ImageClassifier(**self.resources).environment(progress)

    def dataset(self, images: "ImageFolder") -> "Dataset":
        """All images of a folder."""
        from visualwords.apps.pipeline.dataset import Dataset

        return Dataset.of_folder(images, contents=self.contents)

    def print_summary(self, summary: dict[str, Any]) -> None:
        """Print the result as JSON, if that was asked for."""
        if self.as_json:
            terminal.print_json(summary | {"skipped": terminal.listed(self.skipped)})

    def skip(self, skipped: "Sequence[Skipped | tuple[str, str]]") -> None:
        """Note files that were left out, each once."""
        self.skipped[:] = dict.fromkeys([*self.skipped, *skipped])

    def check_strict(self) -> None:
        """Stop if files were left out and none may be."""
        if self.strict and self.skipped:
            terminal.say_skipped(self.skipped)
            raise FolderError("files had to be skipped, which --strict forbids")

    def exit_code(self) -> int:
        """List the skipped files; the exit code."""
        for stage, seconds in self.times.seconds.items():
            terminal.detail(f"{stage}: {seconds:.1f} s")
        terminal.detail(
            f"{self.resources['n_jobs']} threads; cache: {self.resources['cache_dir'] or 'none'}"
        )
        terminal.say_skipped(self.skipped)
        return verb.SKIPPED if self.skipped else verb.DONE


class Deciding(Work):
    """A command that can change how probabilities become labels; empty leaves a model's own.

    Parameters
    ----------
    costs
        Cost of predicting SAID for an image of TRUE, such as defect:ok=10; other mistakes cost 1.
        May be repeated.
    thresholds
        Predict a class if its probability is at least P, and only then; may be repeated.
    unknown
        Label images unlike all training images "unknown", and at most about this share of known
        ones, such as 0.05 [default: every image gets a class].
    """

    costs: tuple[tuple[str, str, float], ...] = flag(
        "--cost TRUE:SAID=X",
        kind=parts("TRUE:SAID=COST, such as defect:ok=10", "([^:]+):(.+)=(.+)", str, str, float),
    )
    thresholds: tuple[tuple[str, float], ...] = flag(
        "--threshold CLASS=P",
        kind=parts("CLASS=NUMBER, such as defect=0.2", "(.+)=(.+)", str, float),
    )
    unknown: float | None = flag("--unknown RATE")

    @property
    def rule(self) -> dict[str, Any]:
        """What is asked for, by the names of `ImageClassifier`; None leaves the model's own."""
        costs = {(true, said): cost for true, said, cost in self.costs} or None
        return {
            "costs": costs,
            "thresholds": dict(self.thresholds) or None,
            "unknown": self.unknown,
        }

    def decision(self, classes: Sequence[str]) -> "Decision":
        """The decision that the flags ask for; classes that do not exist are refused."""
        from visualwords.apps.pipeline.decision import Decision

        with usage_checked():
            return Decision.of(classes, **self.rule)

    def load(self, path: str, network: str | None, **settings: Any) -> "ImageClassifier":
        """The model of a file, with settings of this run and the decision of the flags."""
        from visualwords import ImageClassifier

        model = ImageClassifier.load(path, network=network).set_params(**settings)
        if self.unknown is not None and model.novelty_ is None:
            raise FolderError(
                f"{path}: the model can't detect unknown images, because a class had a single "
                "training image; omit --unknown or train it again with more"
            )
        asked = self.decision(model.classes_.tolist())
        changed = {n: getattr(asked, n) for n, value in self.rule.items() if value is not None}
        model.decision_ = replace(model.decision_, **changed)
        return model


class Composing(Work):
    """A command that learns by one recipe, which flags name or compose.

    Parameters
    ----------
    recipe
        A recipe's name or file, or auto to try several.
    features
        Use an extractor in place of a recipe's; several are combined. Example: 'DenseSIFT(step=4,
        bin_size=[4, 8])' or onnx:net.onnx. With --recipe auto, try recipes with it and without it.
    codebook
        Learn words by kmeans, kmeans-root or hik.
    words
        Count patches as N words.
    fisher
        Turn patches into Fisher vectors of N Gaussians [64].
    second_order
        Turn patches into second moments of N principal components [64].
    sets
        Match patches as sets (pyramid match).
    pyramid
        Windows that words are counted in, or a grid.
    kernel
        Kernel: hik, chi2, gcs, ngmm, linear, …
    solver
        Classifier: icd, pmsvm, kernel or linear; of icd also dual, gram or primal. [default: the
        fastest that computes the kernel]
    C
        Cost of a training error.
    max_side
        Shrink images to this side.
    min_side
        Enlarge images to this side.
    views
        Train on views of each image, too: mirrored, rotated by quarter turns, or both.
    settings
        Change any other setting of the recipe, such as words.norm=none or loss=hinge.
    """

    recipe: str = flag("--recipe NAME|FILE.toml", default="auto", shell_complete=complete_recipes)
    features: tuple[str, ...] = flag("--feature 'NAME(key=value, …)'")
    codebook: str | None = flag("--codebook NAME")
    words: int | None = flag("--words N")
    fisher: str | None = flag("--fisher [N]", is_flag=False, flag_value="true")
    second_order: str | None = flag("--second-order [N]", is_flag=False, flag_value="true")
    sets: bool = flag("--sets")
    pyramid: str | None = flag("--pyramid 1|8|21|31|RxC")
    kernel: str | None = flag("--kernel NAME", shell_complete=complete_kernels)
    solver: str | None = flag("--solver NAME")
    C: float | None = flag("--C X", kind=verb.Number(0, min_open=True))
    max_side: int | None = flag("--max-side N")
    min_side: int | None = flag("--min-side N")
    views: str | None = flag(
        "--views [mirror|rotations|all|none]",
        kind=click.Choice(["mirror", "rotations", "all", "none"]),
    )
    settings: tuple[str, ...] = flag("--set KEY=VALUE")

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
            at_most_one(": patches become one", **{name: given.get(name) for name in PATCHES})
        with usage_checked():
            others = [setting(text) for text in self.settings]
        return [(n, parsed(v) if n in AS_TOML else v) for n, v in given.items()] + others


def checked_recipe(
    name: str, features: Sequence[str] = (), changes: Sequence[tuple[str, Any]] = ()
) -> "Recipe":
    """A recipe, or one of extractors, with changes; what can't work is a usage error."""
    from visualwords.apps.pipeline.composing import compose, read_recipe
    from visualwords.apps.pipeline.recipe_check import check_recipe
    from visualwords.apps.pipeline.recipes import RECIPES

    at_most_one(recipe=name != "auto", feature=features)
    with usage_checked():
        made = compose(None if name == "auto" else read_recipe(name), features, changes)
        if made not in RECIPES.values():  # these are known to work
            check_recipe(made)
    return made
