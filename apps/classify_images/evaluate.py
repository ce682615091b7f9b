"""classify-images evaluate"""

from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.evaluation.paired import PairedTrials
    from visualwords.apps.evaluation.trial import Trial
    from visualwords.folders import ImageFolder

MOST_CHANGES = 20  # images that are listed


@click.command(cls=Verb)
@click.argument("models", type=click.Path(), nargs=-1, required=True, metavar="MODEL [OTHER]")
@click.argument("folder", type=click.Path())
@options.label_from
@options.network
@options.deciding
@shared.report
@options.reading
def evaluate(
    models: tuple[str, ...],
    folder: str,
    label_from: str | None,
    network: str | None,
    costs: tuple[tuple[tuple[str, str], float], ...],
    thresholds: tuple[tuple[str, float], ...],
    unknown: float | None,
    report: str | None,
    **reading: Any,
) -> int:
    """Evaluate MODEL on the labelled images of FOLDER (its test split, if it has one).

    With two models, show both results, the images whose label changed, and whether chance
    explains the difference (McNemar's exact test).
    """
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.command_line.terminal import check_output
    from visualwords.apps.pipeline.dataset import test_part
    from visualwords.folders import ImageFolder

    if len(models) > 2:
        raise click.UsageError(f"{len(models)} models are given; evaluate compares one or two")
    if report is not None:
        if len(models) > 1:
            raise click.UsageError("--report is that of one model; evaluate the other one alone")
        check_output(report)
    run = Run(**reading)
    images = ImageFolder(folder, label_from=label_from)
    run.skip(images.skipped)
    rule = (costs, thresholds, unknown)
    testing = test_part(images)
    if len(models) == 2:
        return _compare(run, models, testing, rule, network)
    classifier = _loaded(run, models[0], rule, network)
    trial = run.test(classifier, testing)
    run.tell(classifier, trial, folder, report, {"model": models[0]})
    return run.exit_code()


def _loaded(run: "Run", path: str, rule: tuple[Any, Any, float | None], network: str | None) -> Any:
    """Return a model of a file, with the decision that the flags ask for."""
    from visualwords.apps.pipeline.loading import load_image_classifier

    classifier = run.prepare(load_image_classifier(path, network))
    options.decide_otherwise(classifier, path, *rule)
    return classifier


def _compare(
    run: "Run",
    paths: tuple[str, ...],
    images: "ImageFolder",
    rule: tuple[Any, Any, float | None],
    network: str | None,
) -> int:
    """Show the trials of two models beside each other."""
    from visualwords.apps.classify_images.running import say_warnings
    from visualwords.apps.evaluation.paired import pair_trials

    trials: list[Trial] = []
    for path in paths:
        trials.append(run.test(_loaded(run, path, rule, network), images))
        say_warnings(trials[-1], path)
    run.skipped = list(dict.fromkeys(run.skipped))
    pair = pair_trials(*trials)
    if run.as_json:
        results = [
            {"model": path, "test": trial.evaluation.to_json()}
            for path, trial in zip(paths, (pair.first, pair.second))
        ]
        run.print_summary({"models": results, "comparison": pair.to_json()})
    else:
        _print(paths, pair)
    return run.exit_code()


def _print(paths: tuple[str, ...], pair: "PairedTrials") -> None:
    from rich.table import Table
    from rich.text import Text

    from visualwords.apps.command_line.terminal import printable, stdout

    console = stdout()
    if pair.changed:
        table = Table("", "image", "label")
        for path in paths:
            table.add_column(Text(printable(path)))
        colors = {"better": "green", "worse": "red", "both wrong": "dim"}
        for one in pair.changed[:MOST_CHANGES]:
            cells = [one.path, one.truth, one.first, one.second]
            table.add_row(
                Text(one.verdict, colors[one.verdict]), *(Text(printable(cell)) for cell in cells)
            )
        if len(pair.changed) > MOST_CHANGES:
            table.add_row("", f"… and {len(pair.changed) - MOST_CHANGES} more (--json lists all)")
        console.print(table)
    for path, trial in zip(paths, (pair.first, pair.second)):
        console.print(Text(f"{printable(path)}: {trial.evaluation.headline}"))
    console.print(Text(str(pair)))
