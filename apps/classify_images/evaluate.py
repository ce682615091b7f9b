"""classify-images evaluate"""

from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import argument
from visualwords.apps.command_line.terminal import Cell, print_table, show

if TYPE_CHECKING:
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.evaluation.trial import PairedTrials

MOST_CHANGES = 20  # images that are listed
COLORS = {"better": "green", "worse": "red", "both wrong": "dim"}


class Evaluate(options.Deciding, options.Reading):
    """Evaluate MODEL on the labelled images of FOLDER (its test split, if it has one).

    With two models, show both results, the images whose label changed, and whether chance
    explains the difference (McNemar's exact test).
    """

    models: tuple[str, ...] = argument("models", nargs=-1, required=True, metavar="MODEL [OTHER]")
    folder: str = argument("folder")
    label_from: str | None = options.label_from
    report: str | None = shared.report
    network: str | None = options.network

    def work(self, run: "Run") -> None:
        """Test one model, or two."""
        from visualwords.apps.classify_images.running import say_warnings
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
        run.skip(images.skipped)
        testing, trials = test_part(images), []
        for path in self.models:
            classifier = run.load(path, self.network, self)
            trials.append(run.test(classifier, testing))
            if len(self.models) == 2:
                say_warnings(trials[-1], path)
        if len(self.models) == 1:
            summary = {"model": self.models[0]}
            run.show_trial(classifier, trials[0], self.folder, self.report, summary)
            return
        pair = pair_trials(*trials)
        tested = dict(zip(self.models, (pair.first.evaluation, pair.second.evaluation)))
        if not self.as_json:
            _print_changes(self.models, pair)
            for path, evaluation in tested.items():
                show(f"{path}: {evaluation.headline}")
            show(str(pair))
        results = [{"model": path, "test": found.to_json()} for path, found in tested.items()]
        run.print_summary({"models": results, "comparison": pair.to_json()})


def _print_changes(paths: tuple[str, ...], pair: "PairedTrials") -> None:
    rows: list[list[Cell]] = [
        [(one.verdict, COLORS[one.verdict]), one.path, one.label, one.first, one.second]
        for one in pair.changed[:MOST_CHANGES]
    ]
    if len(pair.changed) > MOST_CHANGES:
        rows.append(["", f"… and {len(pair.changed) - MOST_CHANGES} more (--json lists all)"])
    if rows:
        print_table(["", "image", "label", *paths], rows)


evaluate = Evaluate.command()
