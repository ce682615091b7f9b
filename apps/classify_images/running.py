"""What the verbs do in common: read, skip, tell, and end with the right code."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.text import Text

from visualwords.apps.classify_images import options
from visualwords.apps.command_line.exit_codes import DONE, SKIPPED
from visualwords.apps.command_line.options import n_threads
from visualwords.apps.command_line.settings_file import equivalent_command
from visualwords.apps.command_line.terminal import (
    detail,
    note,
    print_json,
    print_results,
    printable,
    progress_bars,
    say,
    say_skipped,
    stdout,
)
from visualwords.apps.evaluation.figures import compare
from visualwords.apps.evaluation.operating_points import (
    ClassCurve,
    class_curves,
    expected_cost,
)
from visualwords.apps.evaluation.trial import Trial, cross_validate, run_trial
from visualwords.apps.pipeline.contents import Contents
from visualwords.apps.pipeline.copies import describe_copies, find_copies, keep_together
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.apps.pipeline.stage import Environment, fingerprint_files
from visualwords.cache import open_cache
from visualwords.errors import FolderError, Skipped, VisualWordsError
from visualwords.folders import ImageFolder
from visualwords.progress import Progress, StageTimes

MOST_POINTS = 4  # classes whose thresholds are printed
OWN_RECIPE = "RECIPE.toml"  # that `train` and `info` print


class Run:
    """One run of a command over many images.

    Parameters are those of `visualwords.apps.classify_images.options.reading`.
    """

    def __init__(
        self,
        *,
        jobs: int | None,
        cache_dir: str | None,
        cache_size: int,
        no_cache: bool,
        max_pixels: int,
        quiet: bool,
        strict: bool,
        as_json: bool,
    ):
        self.n_jobs = n_threads(jobs)
        self.cache_dir = options.cache_folder(cache_dir, no_cache)
        self.cache_size = cache_size
        self.max_pixels = max_pixels
        self.quiet = quiet
        self.strict = strict
        self.as_json = as_json
        self.skipped: list[Skipped | tuple[str, str]] = []
        self.contents = Contents()
        self.times = StageTimes()

    @contextmanager
    def progress(self, *, hidden: bool = False) -> Iterator[Progress]:
        """Show progress unless it is hidden, and take the time of every stage in the block."""
        with progress_bars(self.quiet or hidden) as bars:
            self.times.listener = bars
            yield self.times
            self.times.stop()

    def prepare(self, model: ImageClassifier) -> ImageClassifier:
        """Give a model the settings of this run."""
        return model.set_params(
            n_jobs=self.n_jobs,
            cache_dir=self.cache_dir,
            cache_size=self.cache_size,
            max_pixels=self.max_pixels,
        )

    def environment(self, progress: Progress) -> Environment:
        """Return what stages run in where no model is trained."""
        cache = None if self.cache_dir is None else open_cache(self.cache_dir, self.cache_size)
        return Environment(cache, self.n_jobs, progress, self.max_pixels)

    def dataset(self, images: ImageFolder) -> Dataset:
        """Return all images of a folder; a file is opened once in a run."""
        return Dataset.of_folder(images, contents=self.contents)

    def fingerprints(self, model: ImageClassifier, images: ImageFolder) -> list[bytes]:
        """Return what identifies the content of each file, showing progress."""
        with self.progress() as progress:
            env = self.prepare(model).environment(progress)
            return fingerprint_files(self.dataset(images), env)

    def train(self, model: ImageClassifier, images: ImageFolder) -> None:
        """Fit a model, showing progress."""
        self.prepare(model)
        with self.progress() as progress:
            try:
                model.fit(self.dataset(images), progress=progress, warn=False)
            except VisualWordsError:
                say_skipped(getattr(model, "skipped_", []))
                raise
        self.skip(model.skipped_)
        if model.copies_:
            note(describe_copies(model.copies_))
        _say_what_was_chosen(model)

    def readable(self, images: ImageFolder) -> ImageFolder:
        """Return the images that can be read, near copies in one group; note the others."""
        data = self.dataset(images)
        with self.progress() as progress:
            copies = find_copies(data, self.environment(progress))
        self.skip(copies.skipped)
        broken = {one.source for one in copies.skipped}
        found = images.grouped(keep_together(data, copies))
        return found.select(i for i, path in enumerate(found.paths) if path not in broken)

    def test(self, model: ImageClassifier, images: ImageFolder) -> Trial:
        """Compare a model's labels with the true ones."""
        with self.progress() as progress:
            trial = run_trial(model, self.dataset(images), progress=progress)
        self.skip(trial.skipped)
        self.check_strict()
        return trial

    def cross_validate(self, model: ImageClassifier, images: ImageFolder, n_folds: int) -> Trial:
        """Try a model fold by fold; what can't be read is noted when all images are learned."""
        note(f"{n_folds}-fold cross-validation:")
        with self.progress() as progress:
            data = self.dataset(images)
            return cross_validate(self.prepare(model), data, n_folds, progress=progress)

    def tell(
        self,
        model: ImageClassifier,
        trial: Trial,
        title: str,
        report: str | None,
        summary: dict[str, Any],
    ) -> None:
        """Show the figures of a trial: a table or JSON, and the report if one is wanted."""
        say_warnings(trial, title)
        if report is not None:
            from visualwords.apps.report import write_report

            with self.progress() as progress:
                write_report(
                    report,
                    model,
                    trial,
                    title=title,
                    command=equivalent_command(),
                    seconds=self.times.seconds.copy(),
                    progress=progress,
                )
            note(f"{report}: report written")
        curves, cost = class_curves(trial), expected_cost(trial)
        if not self.as_json:
            print_results(trial.evaluation)
            _print_operating_points(curves, cost)
        figures = trial.evaluation.to_json()
        if cost is not None:
            figures |= {"mean_cost": cost[0], "mean_cost_interval_95": list(cost[1])}
        for curve in curves:
            figures["classes"][curve.name] |= curve.to_json()
        self.print_summary(summary | {"test": figures, "report": report})

    def tell_held_out(self, model: ImageClassifier, summary: dict[str, Any]) -> None:
        """Show the figures of training images by models that did not learn from them."""
        if model.held_out_ is None:
            note("no accuracy: a class has a single image or group; add images of it")
            self.print_summary(summary | {"held_out": None})
            return
        truth, guesses, groups = model.held_out_
        evaluation = compare(truth, guesses, model.classes_.tolist(), groups)
        if not self.as_json:
            print(f"on folds of the training images: {evaluation.headline}")
        chosen = ", and nothing was chosen" if model.tried_ else ""
        note(f"--test-size 0.2 tests on images that no model learned from{chosen}")
        self.print_summary(summary | {"held_out": evaluation.to_json()})

    def print_summary(self, summary: dict[str, Any]) -> None:
        """Print the result as JSON, if that was asked for."""
        if self.as_json:
            skipped = [{"path": path, "reason": reason} for path, reason in self.skipped]
            print_json(summary | {"skipped": skipped})

    def skip(self, skipped: Sequence[Skipped | tuple[str, str]]) -> None:
        """Note files that were left out."""
        self.skipped += skipped

    def check_strict(self) -> None:
        """Stop if files were left out and none may be."""
        if self.strict and self.skipped:
            say_skipped(self.skipped)
            raise FolderError("files had to be skipped, which --strict forbids")

    def exit_code(self) -> int:
        """List the skipped files and return the exit code."""
        for stage, seconds in self.times.seconds.items():
            detail(f"{stage}: {seconds:.1f} s")
        detail(f"{self.n_jobs} threads; cache: {self.cache_dir or 'none'}")
        say_skipped(self.skipped)
        return SKIPPED if self.skipped else DONE


def _print_operating_points(
    curves: list[ClassCurve], cost: tuple[float, tuple[float, float]] | None
) -> None:
    """Print what the labels cost, and a threshold for each of a few classes."""
    if cost is not None:
        mean, (low, high) = cost
        stdout().print(f"mean cost {mean:.3f} (95 % interval {low:.3f} to {high:.3f})")
    if len(curves) > MOST_POINTS:
        note(
            f"thresholds of the {len(curves)} classes for few false alarms: see --report or --json"
        )
        return
    for curve in curves:
        point = curve.point()
        if point is not None and point.means_something:
            stdout().print(Text(printable(str(point))))


def _say_what_was_chosen(model: ImageClassifier) -> None:
    """Say what "auto" chose, and what the deadline left no time for."""
    if not model.tried_:
        return
    note(f"chosen: {model.recipe_.name}")
    if model.cut_off_:
        say(
            f"the deadline of {model.deadline:g} s left no time for {', '.join(model.cut_off_)}; "
            f"this repeats the choice: {_repeating(model)}"
        )


def _repeating(model: ImageClassifier) -> str:
    """Return the command that makes the same choice, or takes its recipe, without a deadline."""
    import click

    ctx = click.get_current_context()
    given = ctx.params
    ctx.params = {**given, "deadline": None}
    if model.repeated_by_ is None:
        name = model.recipe_.name
        known = RECIPES.get(name) == model.recipe_  # auto may have changed it
        ctx.params |= {"recipe": name if known else OWN_RECIPE, "budget": None}
    else:
        ctx.params["budget"] = model.repeated_by_
    try:
        return equivalent_command(ctx)
    finally:
        ctx.params = given


def say_warnings(trial: Trial, title: str) -> None:
    """Warn of test images that flatter a model, or that it can't get right."""
    if trial.n_known:
        say(
            f"warning: {title}: {trial.n_known} of {len(trial.paths)} test images were in the "
            "training set too; the results are optimistic"
        )
    unknown = sorted(set(trial.truth) - set(trial.classes))
    if unknown:
        say(
            f"warning: the model has no class {', '.join(unknown)}; images with these labels "
            "count as errors"
        )
