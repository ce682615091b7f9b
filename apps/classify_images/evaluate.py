"""classify-images evaluate"""

from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.evaluation.paired import PairedTrials

MOST_CHANGES = 20  # images that are listed
COLORS = {"better": "green", "worse": "red", "both wrong": "dim"}


@click.command(cls=Verb)
@click.argument("models", type=click.Path(), nargs=-1, required=True, metavar="MODEL [OTHER]")
@click.argument("folder", type=click.Path())
@options.label_from
@shared.report
@options.deciding
@options.network
@options.reading
def evaluate(
    models: tuple[str, ...],
    folder: str,
    label_from: str | None,
    report: str | None,
    rule: options.Rule,
    network: str | None,
    run: "Run",
) -> int:
    """Evaluate MODEL on the labelled images of FOLDER (its test split, if it has one).

    With two models, show both results, the images whose label changed, and whether chance
    explains the difference (McNemar's exact test).
    """
    from visualwords.apps.classify_images.running import say_warnings
    from visualwords.apps.evaluation.paired import pair_trials
    from visualwords.apps.pipeline.dataset import test_part
    from visualwords.folders import ImageFolder

    if len(models) > 2:
        raise click.UsageError(f"{len(models)} models are given; evaluate compares one or two")
    if report is not None and len(models) > 1:
        raise click.UsageError("--report is that of one model; evaluate the other one alone")
    images = ImageFolder(folder, label_from=label_from)
    run.skip(images.skipped)
    testing = test_part(images)
    trials = []
    for path in models:
        classifier = run.load(path, network, rule)
        trials.append(run.test(classifier, testing))
        if len(models) == 2:
            say_warnings(trials[-1], path)
    if len(models) == 1:
        run.show_trial(classifier, trials[0], folder, report, {"model": models[0]})
        return run.exit_code()
    pair = pair_trials(*trials)
    if not run.as_json:
        _print(models, pair)
    results = [
        {"model": path, "test": trial.evaluation.to_json()}
        for path, trial in zip(models, (pair.first, pair.second))
    ]
    run.print_summary({"models": results, "comparison": pair.to_json()})
    return run.exit_code()


def _print(paths: tuple[str, ...], pair: "PairedTrials") -> None:
    from rich.text import Text

    from visualwords.apps.command_line.terminal import print_table, show

    rows: list[list[str | Text]] = [
        [Text(one.verdict, COLORS[one.verdict]), one.path, one.truth, one.first, one.second]
        for one in pair.changed[:MOST_CHANGES]
    ]
    if len(pair.changed) > MOST_CHANGES:
        rows.append(["", f"… and {len(pair.changed) - MOST_CHANGES} more (--json lists all)"])
    if rows:
        print_table(["", "image", "label", *paths], rows)
    for path, trial in zip(paths, (pair.first, pair.second)):
        show(f"{path}: {trial.evaluation.headline}")
    show(str(pair))
