"""What the commands do in common: read, skip, print results, and end with the right code."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from visualwords.apps.command_line.exit_codes import DONE, SKIPPED
from visualwords.apps.command_line.options import n_threads
from visualwords.apps.command_line.terminal import (
    Cell,
    detail,
    equivalent_command,
    note,
    print_json,
    print_table,
    progress_bars,
    say,
    say_skipped,
    show,
)
from visualwords.apps.evaluation.figures import Evaluation, compare
from visualwords.apps.evaluation.operating_points import (
    alarm_curve,
    class_curves,
    describe_alarm,
    expected_cost,
)
from visualwords.apps.evaluation.trial import Trial, run_trial
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.contents import Contents
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.near_duplicates import describe_duplicates
from visualwords.cache import default_folder
from visualwords.errors import FolderError, Skipped, VisualWordsError
from visualwords.folders import ImageFolder
from visualwords.progress import Progress, StageTimes

if TYPE_CHECKING:
    from visualwords.apps.classify_images.options import Deciding, Reading
    from visualwords.apps.pipeline.stages import Environment

MOST_POINTS = 4  # classes whose thresholds are printed
MOST_CLASSES = 60  # in the table of results
OWN_RECIPE = "RECIPE.toml"  # that `train` and `info` print


class Run:
    """One run of a command over many images.

    Parameters
    ----------
    asked : Reading
        The flags of the command.
    """

    def __init__(self, asked: "Reading"):
        self.asked = asked
        self.settings: dict[str, Any] = {  # of the library: parameters of ImageClassifier
            "n_jobs": n_threads(asked.jobs),
            "cache_dir": None if asked.no_cache else cache_folder(asked.cache_dir),
            "cache_size": asked.cache_size,
            "max_pixels": asked.max_pixels,
        }
        self.skipped: list[Skipped | tuple[str, str]] = []
        self.contents = Contents()  # a file is opened once in a run
        self.times = StageTimes()

    @contextmanager
    def progress(self, *, hidden: bool = False) -> Iterator[Progress]:
        """Show progress unless it is hidden, and take the time of every stage in the block."""
        with progress_bars(self.asked.quiet or hidden) as bars:
            self.times.listener = bars
            yield self.times
            self.times.stop()

    def prepare(self, model: ImageClassifier) -> ImageClassifier:
        """Give a model the settings of this run."""
        return model.set_params(**self.settings)

    def environment(self, progress: Progress) -> "Environment":
        """What stages run in where no model is trained."""
        return self.prepare(ImageClassifier()).environment(progress)

    def load(self, path: str, network: str | None, deciding: "Deciding") -> ImageClassifier:
        """The model of a file, with the settings of this run and the decision of the flags."""
        model = self.prepare(ImageClassifier.load(path, network=network))
        deciding.decide(model, path)
        return model

    def dataset(self, images: ImageFolder) -> Dataset:
        """All images of a folder."""
        return Dataset.of_folder(images, contents=self.contents)

    def train(self, model: ImageClassifier, images: ImageFolder) -> None:
        """Fit a model, showing progress, and say what "auto" chose."""
        self.prepare(model)
        with self.progress() as progress:
            try:
                model.fit(self.dataset(images), progress=progress, warn=False)
            except VisualWordsError:
                say_skipped(getattr(model, "skipped_", []))
                raise
        self.skip(model.skipped_)
        if model.duplicates_:
            note(describe_duplicates(model.duplicates_))
        if model.tried_:
            note(f"chosen: {model.recipe_.name}")
        if model.cut_off_:
            say(
                f"the deadline of {model.deadline:g} s left no time for "
                f"{', '.join(model.cut_off_)}; this repeats the choice: {repeating()}"
            )

    def test(self, model: ImageClassifier, images: ImageFolder) -> Trial:
        """Compare a model's labels with the true ones."""
        with self.progress() as progress:
            trial = run_trial(model, self.dataset(images), progress=progress)
        self.skip(trial.skipped)
        self.check_strict()
        return trial

    def show_trial(
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
        figures, lines = trial.evaluation.to_json(), []
        cost, curves = expected_cost(trial), class_curves(trial)
        if cost is not None:
            mean, (low, high) = cost
            lines.append(f"mean cost {mean:.3f} (95 % interval {low:.3f} to {high:.3f})")
            figures |= {"mean_cost": mean, "mean_cost_interval_95": [low, high]}
        if alarm := alarm_curve(trial):
            curve, point = alarm
            lines.append(describe_alarm(point, curve))
            figures["alarm"] = {
                "classes": curve.name.split(" or "),
                "threshold": point.threshold,
                "found": point.found,
                "false_alarms": point.false_alarms,
                "roc_area": curve.area,
            }
        for curve in curves:
            figures["classes"][curve.name] |= curve.to_json()
        if not self.asked.as_json:
            print_results(trial.evaluation)
            if len(curves) > MOST_POINTS:
                note(
                    f"thresholds of the {len(curves)} classes for few false alarms: see --report "
                    "or --json"
                )
            else:
                points = (curve.point() for curve in curves)
                lines += [str(point) for point in points if point and point.means_something]
            for line in lines:
                show(line)
        self.print_summary(summary | {"test": figures, "report": report})

    def show_held_out(self, model: ImageClassifier, summary: dict[str, Any]) -> None:
        """Show the figures of training images by models that did not learn from them."""
        figures = None
        if model.held_out_ is None:
            note("no accuracy: a class has a single image or group; add images of it")
        else:
            truth, guesses, groups = model.held_out_
            evaluation = compare(truth, guesses, model.classes_.tolist(), groups)
            figures = evaluation.to_json()
            if not self.asked.as_json:
                print(f"on folds of the training images: {evaluation.headline}")
            chosen = ", and nothing was chosen" if model.tried_ else ""
            note(f"--test-size 0.2 tests on images that no model learned from{chosen}")
        self.print_summary(summary | {"held_out": figures})

    def print_summary(self, summary: dict[str, Any]) -> None:
        """Print the result as JSON, if that was asked for."""
        if self.asked.as_json:
            skipped = [{"path": path, "reason": reason} for path, reason in self.skipped]
            print_json(summary | {"skipped": skipped})

    def skip(self, skipped: Sequence[Skipped | tuple[str, str]]) -> None:
        """Note files that were left out, each once."""
        self.skipped[:] = dict.fromkeys([*self.skipped, *skipped])

    def check_strict(self) -> None:
        """Stop if files were left out and none may be."""
        if self.asked.strict and self.skipped:
            say_skipped(self.skipped)
            raise FolderError("files had to be skipped, which --strict forbids")

    def exit_code(self) -> int:
        """List the skipped files; the exit code."""
        for stage, seconds in self.times.seconds.items():
            detail(f"{stage}: {seconds:.1f} s")
        detail(f"{self.settings['n_jobs']} threads; cache: {self.settings['cache_dir'] or 'none'}")
        say_skipped(self.skipped)
        return SKIPPED if self.skipped else DONE


def cache_folder(cache_dir: str | None) -> str | None:
    """The folder of the feature cache; None for no cache."""
    folder = cache_dir or default_folder()
    return None if folder is None else str(folder)


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


def repeating() -> str:
    """The command that takes the recipe, which `info` prints, without a search."""
    ctx = click.get_current_context()
    given = ctx.params
    ctx.params = {**given, "deadline": None, "recipe": OWN_RECIPE, "budget": None}
    try:
        return equivalent_command(ctx)
    finally:
        ctx.params = given


def print_results(evaluation: Evaluation) -> None:
    """Print precision and recall of every class, of many those with the lowest recall."""
    tested = np.where(evaluation.support > 0, evaluation.recall, np.inf)
    shown = np.sort(np.argsort(tested, kind="stable")[:MOST_CLASSES]).tolist()
    rows: list[list[Cell]] = []
    for i in shown:
        name, n, recall = evaluation.classes[i], evaluation.support[i], evaluation.recall[i]
        if n:
            shares = [f"{evaluation.precision[i]:.1%}", f"{recall:.1%}"]
            bar = ("█" * round(20 * recall), "green" if recall >= 0.9 else "yellow")
            rows.append([name, str(n), str(evaluation.confusion[i, i]), *shares, bar])
        else:
            rows.append([name, "0", "", "", "", ("not tested", "dim")])
    left_out = len(evaluation.classes) - len(shown)
    if left_out:
        rows.append([(f"… and {left_out:,} with higher recall (--json lists all)", "dim")])
    numbers = ("images", "right", "precision", "recall")
    print_table(["class", *numbers, ""], rows, right=numbers)
    show(evaluation.headline)
