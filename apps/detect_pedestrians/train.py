"""detect-pedestrians train"""

import os
from typing import TYPE_CHECKING

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.exit_codes import DONE, SKIPPED
from visualwords.apps.detect_pedestrians import options

if TYPE_CHECKING:
    from visualwords.apps.detect_pedestrians.training_data import TrainingData
    from visualwords.apps.detection.detector_figures import DetectionFigures

WORTH_A_HINT = 0.05  # by which another threshold's F1 score is better


class _Size(click.ParamType):
    """Two numbers with an x between them."""

    def __init__(self, kind: type):
        self.kind = kind
        self.name = "WxH"

    def convert(self, value, param, ctx):
        if isinstance(value, tuple):
            return value
        try:
            width, height = (self.kind(part) for part in value.lower().split("x"))
        except ValueError:
            self.fail(f"{value!r}; two numbers like {'64x128' if self.kind is int else '0.6x0.75'}")
        return width, height


@click.command()
@click.argument("positives", type=click.Path())
@click.argument("negatives", type=click.Path(), required=False)
@options.annotations
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    required=True,
    metavar="MODEL",
    help="Model file to write.",
)
@click.option(
    "--features",
    type=click.Choice(["all", "quick", "both", "hog", "census", "acf"]),
    default="all",
    show_default=True,
    help="Descriptors of a window; both are hog and census, quick these and acf, all also cosines.",
)
@click.option(
    "--window",
    type=_Size(int),
    help="Size of the window in pixels, multiples of 8 [default: 64x128; with --annotations, the "
    "shape of the median box].",
)
@click.option(
    "--object-share",
    type=_Size(float),
    help="Share of the window's width and height that the object takes [default: 0.6x0.75; with "
    "--annotations, by the median box].",
)
@click.option(
    "--label",
    metavar="NAME",
    help="Class name of the objects [default: person; with --annotations, their only label].",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=0),
    metavar="N",
    help="Rounds of hard negative mining [default: 3].",
)
@click.option(
    "--tree-depth",
    type=click.IntRange(1, 8),
    metavar="N",
    help="Comparisons of each boosted tree [default: 4].",
)
@click.option(
    "--folds",
    type=click.IntRange(0, 100),
    metavar="N",
    help="With --annotations, train without each N-th of the photographs and test on it [default: "
    "3; 0: no test].",
)
@shared.seed
@shared.jobs
@shared.scheduler
@shared.quiet
def train(
    positives: str,
    negatives: str | None,
    annotations: str | None,
    output: str,
    features: str,
    window: tuple[int, int] | None,
    object_share: tuple[float, float] | None,
    label: str | None,
    rounds: int | None,
    tree_depth: int | None,
    folds: int | None,
    seed: int,
    jobs: int | None,
    quiet: bool,
) -> int:
    """Train a detector on POSITIVES, a folder of crops, and NEGATIVES, photographs without objects.

    Crops show the object in the middle; the window is cut from there. Their mirror images are
    added. Hard negatives are mined from the photographs in several rounds.

    With --annotations, POSITIVES are photographs with boxes: objects are cut out as crops, and the
    rest serves as photographs without objects, so that NEGATIVES may be omitted. The detector is
    then tested on photographs that were held out.
    """
    from visualwords.apps.command_line.terminal import check_output, progress_bars, say, say_skipped
    from visualwords.apps.detect_pedestrians.training_data import from_boxes, from_crops

    check_output(output)
    given = {
        "window": window,
        "object_share": object_share,
        "n_rounds": rounds,
        "tree_depth": tree_depth,
        "label": label,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    settings |= {"features": features, "random_state": seed, "n_jobs": shared.n_threads(jobs)}
    if annotations is not None:
        data = from_boxes(positives, negatives, annotations, settings)
    elif negatives is None:
        raise click.UsageError(
            "give NEGATIVES, a folder of photographs without the object, or --annotations with the "
            "boxes of the objects"
        )
    else:
        if folds:
            raise click.UsageError("--folds needs photographs with boxes: --annotations")
        data = from_crops(positives, negatives, settings)
    with progress_bars(quiet) as progress:
        data.detector.fit(data.crops, data.backgrounds, progress=progress)
    data.detector.save(output)
    _print_summary(data)
    n_folds = 3 if folds is None else folds
    if data.photographs and n_folds:
        from visualwords.apps.detection.photograph_folds import held_out_figures

        with progress_bars(quiet) as progress:
            figures = held_out_figures(
                data.detector,
                data.photographs,
                data.label,
                negatives=data.negatives,
                n_folds=n_folds,
                progress=progress,
            )
        _print_held_out(figures, data.detector.threshold, n_folds)
    skipped = [*data.skipped, *data.detector.skipped_]
    say_skipped(skipped)
    say(f"{output}: {os.path.getsize(output) / 1000:,.0f} kB")
    return SKIPPED if skipped else DONE


def _print_summary(data: "TrainingData") -> None:
    from visualwords.apps.command_line.terminal import say

    say(data.summary)
    for number, one in enumerate(data.detector.rounds_):
        name = f"round {number}" if number else "random windows"
        say(f"{name}: {one.n_new:,} new, {one.n_negatives:,} negative windows in all")


def _print_held_out(figures: "DetectionFigures", threshold: float, n_folds: int) -> None:
    """Print how the detector does on held-out photographs, and a better threshold if there is."""
    from visualwords.apps.command_line.terminal import say
    from visualwords.apps.detection.photograph_folds import best_threshold

    at = figures.at_threshold(threshold)
    say(
        f"held out, {n_folds} folds: average precision {figures.average_precision:.3f}, "
        f"{figures.n_objects} objects in {figures.n_images} photographs"
    )
    say(
        f"held out, from confidence {threshold:g}: precision {at['precision']:.1%}, recall "
        f"{at['recall']:.1%}"
    )
    total = at["precision"] + at["recall"]
    usual = 2 * at["precision"] * at["recall"] / total if total else 0.0
    better, best = best_threshold(figures)
    if best > usual + WORTH_A_HINT:
        other = figures.at_threshold(better)
        say(
            f"hint: run --threshold {max(better, 0.01):.2f} would have precision "
            f"{other['precision']:.1%}, recall {other['recall']:.1%}"
        )
