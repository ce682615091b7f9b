"""classify-images evaluate, and how all commands show the figures of a test."""

from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import terminal, verb
from visualwords.apps.command_line.verb import argument

if TYPE_CHECKING:
    from visualwords import ImageClassifier
    from visualwords.apps.evaluation.figures import Evaluation
    from visualwords.apps.evaluation.trial import PairedTrials, Trial
    from visualwords.folders import ImageFolder

MOST_CHANGES = 20  # images that are listed
MOST_POINTS = 4  # classes whose thresholds are printed
MOST_CLASSES = 60  # in the table of results
COLORS = {"better": "green", "worse": "red", "both wrong": "dim"}


class Evaluate(options.Deciding, options.Reading):
    """Evaluate MODEL on the labelled images of FOLDER (its test split, if it has one).

    With two models, show both results, the images whose label changed, and whether chance
    explains the difference (McNemar's exact test).
    """

    models: tuple[str, ...] = argument(required=True, metavar="MODEL [OTHER]")
    folder: str = argument()
    label_from: str | None = options.label_from
    report: str | None = verb.report
    network: str | None = options.network

    def work(self) -> None:
        """Test one model, or two."""
        from visualwords.apps.evaluation.trial import pair_trials
        from visualwords.apps.pipeline.dataset import test_part
        from visualwords.folders import ImageFolder

        if len(self.models) > 2:
            raise click.UsageError(
                f"{len(self.models)} models are given; evaluate compares one or two"
            )
        if self.report is not None and len(self.models) > 1:
            raise click.UsageError("--report is that of one model; evaluate the other one alone")
        images = ImageFolder(self.folder, label_from=self.label_from)
        self.skip(images.skipped)
        testing, trials = test_part(images), []
        for path in self.models:
            classifier = self.load(path, self.network, **self.resources)
            trials.append(run_test(self, classifier, testing))
            if len(self.models) == 2:
                say_warnings(trials[-1], path)
        if len(self.models) == 1:
            about = {"model": self.models[0]}
            show_trial(self, classifier, trials[0], self.folder, self.report, about)
            return
        pair = pair_trials(*trials)
        tested = dict(zip(self.models, (pair.first.evaluation, pair.second.evaluation)))
        if not self.as_json:
            print_changes(self.models, pair)
            for path, evaluation in tested.items():
                terminal.show(f"{path}: {evaluation.headline}")
            terminal.show(str(pair))
        results = [{"model": path, "test": found.to_json()} for path, found in tested.items()]
        self.print_summary({"models": results, "comparison": pair.to_json()})


def run_test(run: options.Reading, model: "ImageClassifier", images: "ImageFolder") -> "Trial":
    """Compare a model's labels with the true ones."""
    from visualwords.apps.evaluation.trial import run_trial

    with run.progress() as progress:
        trial = run_trial(model, run.dataset(images), progress=progress)
    run.skip(trial.skipped)
    run.check_strict()
    return trial


def say_warnings(trial: "Trial", title: str) -> None:
    """Warn of test images that flatter a model, or that it can't get right."""
    if trial.n_known:
        terminal.say(
            f"warning: {title}: {trial.n_known} of {len(trial.paths)} test images were in the "
            "training set too; the results are optimistic"
        )
    if unknown := sorted(set(trial.truth) - set(trial.classes)):
        terminal.say(
            f"warning: the model has no class {', '.join(unknown)}; images with these labels "
            "count as errors"
        )


def show_trial(
    run: options.Reading,
    model: "ImageClassifier",
    trial: "Trial",
    title: str,
    report: str | None,
    summary: dict[str, Any],
) -> None:
    """Show the figures of a trial: a table or JSON, and the report if one is wanted."""
    say_warnings(trial, title)
    if report is not None:
        from visualwords.apps.report import write_report

        about: dict[str, Any] = {"title": title, "command": terminal.equivalent_command()}
        with run.progress() as progress:
            about |= {"seconds": run.times.seconds.copy(), "progress": progress}
            write_report(report, model, trial, **about)
        terminal.note(f"{report}: report written")
    if run.as_json:
        run.print_summary(summary | {"test": trial.to_json(), "report": report})
        return
    print_results(trial.evaluation)
    if trial.cost is not None:
        mean, (low, high) = trial.cost
        terminal.show(f"mean cost {mean:.3f} (95 % interval {low:.3f} to {high:.3f})")
    if trial.alarm is not None:
        terminal.show(str(trial.alarm))
    if len(trial.curves) > MOST_POINTS:
        terminal.note(
            f"thresholds of the {len(trial.curves)} classes for few false alarms: see --report or "
            "--json"
        )
        return
    for point in (curve.point() for curve in trial.curves):
        if point is not None and point.means_something:
            terminal.show(str(point))


def print_results(evaluation: "Evaluation") -> None:
    """Print precision and recall of every class, of many those with the lowest recall."""
    recall, support = evaluation.recall, evaluation.support
    by_recall = sorted(range(len(recall)), key=lambda i: recall[i] if support[i] else 2.0)
    rows: list[list[terminal.Cell]] = []
    for i in sorted(by_recall[:MOST_CLASSES]):
        name, numbers = evaluation.classes[i], [str(support[i])]
        if support[i]:
            numbers += [str(evaluation.confusion[i, i]), f"{evaluation.precision[i]:.1%}"]
            color = "green" if recall[i] >= 0.9 else "yellow"
            rows.append([name, *numbers, f"{recall[i]:.1%}", ("█" * round(20 * recall[i]), color)])
        else:
            rows.append([name, *numbers, "", "", "", ("not tested", "dim")])
    if left_out := len(recall) - len(rows):
        rows.append([(f"… and {left_out:,} with higher recall (--json lists all)", "dim")])
    columns = ("images", "right", "precision", "recall")
    terminal.print_table(["class", *columns, ""], rows, right=columns)
    terminal.show(evaluation.headline)


def print_changes(paths: tuple[str, ...], pair: "PairedTrials") -> None:
    """Print the images that two models label differently."""
    rows: list[list[terminal.Cell]] = [
        [(one.verdict, COLORS[one.verdict]), one.path, one.label, one.first, one.second]
        for one in pair.changed[:MOST_CHANGES]
    ]
    if len(pair.changed) > MOST_CHANGES:
        rows.append(["", f"… and {len(pair.changed) - MOST_CHANGES} more (--json lists all)"])
    if rows:
        terminal.print_table(["", "image", "label", *paths], rows)
