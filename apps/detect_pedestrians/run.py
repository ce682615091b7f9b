"""detect-pedestrians run"""

import os
from itertools import groupby

import click

from visualwords.apps.command_line.commands import scheduler
from visualwords.apps.detect_pedestrians import options

VIDEOS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".wmv")


@click.command()
@click.argument("sources", type=click.Path(), nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="A folder for annotated pictures; for a video also a file ending in .mp4 or .avi.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print the results as CSV.")
@options.as_json
@click.option(
    "--every", type=click.IntRange(min=1), default=1, metavar="N", help="Every n-th frame only."
)
@click.option(
    "--frames", type=click.IntRange(min=1), metavar="N", help="Stop a video or camera after N."
)
@options.min_height
@options.threshold
@options.classifier
@options.model
@click.option("--strict", is_flag=True, help="Fail if any file has to be skipped.")
@options.jobs
@scheduler
@options.quiet
def run(
    sources: tuple[str, ...],
    output: str | None,
    as_csv: bool,
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
    """Find pedestrians in SOURCE: images, folders of images, a video, or a camera's number.

    Boxes are x0, y0, x1, y1 in pixels. The confidence estimates how probable it is that a box is
    right in photographs with one pedestrian on average.
    """
    from joblib import cpu_count

    from visualwords.apps.detect_pedestrians.searching import Searching

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    detector = options.load_detector(
        model, min_height=min_height, threshold=threshold, classifier=classifier
    )
    searching = Searching(detector, output, n_jobs=jobs or cpu_count(), quiet=quiet)
    for kind, group in groupby(sources, _kind):
        if kind == "image":
            searching.images(list(group))
            continue
        for source in group:
            if kind == "folder":
                searching.folder(source)
            else:
                searching.video(int(source) if kind == "camera" else source, every, frames)
    searching.print_results("json" if as_json else "csv" if as_csv else "table")
    return searching.end(strict)


def _kind(source: str) -> str:
    if os.path.isdir(source):
        return "folder"
    if source.isdecimal() and not os.path.exists(source):
        return "camera"
    return "video" if source.lower().endswith(VIDEOS) else "image"
