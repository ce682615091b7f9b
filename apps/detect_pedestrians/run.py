"""detect-pedestrians run"""

import os
from itertools import groupby

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.detect_pedestrians import options

VIDEOS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".wmv")


@click.command()
@click.argument("sources", type=click.Path(), nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="Folder for annotated pictures, or for a video a file ending in .mp4 or .avi.",
)
@shared.as_csv
@shared.raw
@shared.as_json
@click.option(
    "--every",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Search every N-th frame of a video [default: 1].",
)
@click.option(
    "--frames",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop a video or camera after N frames.",
)
@options.min_height
@options.threshold
@options.classifier
@options.model
@shared.strict
@shared.jobs
@shared.scheduler
@shared.quiet
def run(
    sources: tuple[str, ...],
    output: str | None,
    as_csv: bool,
    raw: bool,
    as_json: bool,
    every: int,
    frames: int | None,
    min_height: float | None,
    threshold: float | None,
    classifier: str,
    model: str,
    strict: bool,
    jobs: int | None,
    quiet: bool,
) -> int:
    """Detect pedestrians in SOURCE: images, folders of images, a video, or a camera's number.

    Boxes are x0, y0, x1, y1 in pixels. The confidence is the estimated probability that a box is
    right, in photographs with one pedestrian on average.
    """
    from visualwords.apps.detect_pedestrians.searching import Searching

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    detector = options.load_detector(
        model, min_height=min_height, threshold=threshold, classifier=classifier
    )
    searching = Searching(detector, output, n_jobs=shared.n_threads(jobs), quiet=quiet)
    for kind, group in groupby(sources, _kind):
        if kind == "image":
            searching.images(list(group))
            continue
        for source in group:
            if kind == "folder":
                searching.folder(source)
            else:
                searching.video(int(source) if kind == "camera" else source, every, frames)
    searching.print_results("json" if as_json else "csv" if as_csv else "table", raw)
    return searching.end(strict)


def _kind(source: str) -> str:
    if os.path.isdir(source):
        return "folder"
    if source.isdecimal() and not os.path.exists(source):
        return "camera"
    return "video" if source.lower().endswith(VIDEOS) else "image"
