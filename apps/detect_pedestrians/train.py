"""detect-pedestrians train"""

import os
from typing import TYPE_CHECKING

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.exit_codes import DONE, SKIPPED

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector


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
@click.argument("negatives", type=click.Path())
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
    type=click.Choice(["both", "hog", "census"]),
    default="both",
    show_default=True,
    help="Descriptors of a window.",
)
@click.option(
    "--window",
    type=_Size(int),
    default=(64, 128),
    help="Size of the window in pixels, multiples of 8 [default: 64x128].",
)
@click.option(
    "--object-share",
    type=_Size(float),
    default=(0.6, 0.75),
    help="Share of the window's width and height that the object takes [default: 0.6x0.75].",
)
@click.option("--label", default="person", show_default=True, help="Class name of the objects.")
@click.option(
    "--rounds",
    type=click.IntRange(min=0),
    metavar="N",
    help="Rounds of hard negative mining [default: 3].",
)
@shared.seed
@shared.jobs
@shared.scheduler
@shared.quiet
def train(
    positives: str,
    negatives: str,
    output: str,
    features: str,
    window: tuple[int, int],
    object_share: tuple[float, float],
    label: str,
    rounds: int | None,
    seed: int,
    jobs: int | None,
    quiet: bool,
) -> int:
    """Train a detector on POSITIVES, a folder of crops, and NEGATIVES, photographs without objects.

    Crops show the object in the middle; the window is cut from there. Their mirror images are
    added. Hard negatives are mined from the photographs in several rounds.
    """
    from visualwords.apps.command_line.terminal import check_output, progress_bars, say, say_skipped
    from visualwords.apps.detection.detector import PedestrianDetector
    from visualwords.folders import list_files

    check_output(output)
    try:
        detector = PedestrianDetector(
            features,
            window=window,
            object_share=object_share,
            label=label,
            random_state=seed,
            n_jobs=shared.n_threads(jobs),
        )
        if rounds is not None:
            detector.set_params(n_rounds=rounds)
        detector.check_parameters()
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    (crops, skipped), (photographs, others) = list_files(positives), list_files(negatives)
    with progress_bars(quiet) as progress:
        detector.fit(crops, photographs, progress=progress)
    detector.save(output)
    _print_summary(detector, len(crops), len(photographs))
    skipped = [*skipped, *others, *detector.skipped_]
    say_skipped(skipped)
    say(f"{output}: {os.path.getsize(output) / 1000:,.0f} kB")
    return SKIPPED if skipped else DONE


def _print_summary(detector: "PedestrianDetector", n_crops: int, n_photographs: int) -> None:
    from visualwords.apps.command_line.terminal import say

    say(f"{n_crops} crops and their mirror images, {n_photographs} photographs without the object")
    for number, one in enumerate(detector.rounds_):
        name = f"round {number}" if number else "random windows"
        say(f"{name}: {one.n_new:,} new, {one.n_negatives:,} negative windows in all")
