"""detect-pedestrians run"""

from itertools import groupby
from typing import Any

import click

from visualwords.apps.command_line import verb as shared
from visualwords.apps.command_line.verb import FOLDER, OUTPUT, PATH, flag
from visualwords.apps.detect_pedestrians import options


@click.command()
@click.argument("sources", type=PATH, nargs=-1, required=True, metavar="SOURCE...")
@flag(
    "-o --output OUT",
    "Folder for annotated pictures, or for a video a file ending in .mp4 or .avi.",
    PATH,
)
@shared.as_csv
@shared.raw
@shared.as_json
@flag("--coco FILE", "Write the boxes as COCO JSON.", OUTPUT)
@flag("--yolo DIR", "Write the boxes as YOLO label files: DIR/labels/NAME.txt.", FOLDER)
@flag("--track", "Give people the same number in all frames of a video, camera or stream.")
@shared.streams
@options.min_height
@options.threshold
@options.model
@shared.strict
@shared.jobs
@shared.scheduler
@shared.quiet
def run(
    *,
    sources: tuple[str, ...],
    output: str | None,
    as_csv: bool,
    raw: bool,
    as_json: bool,
    coco: str | None,
    yolo: str | None,
    track: bool,
    stream: dict[str, Any],
    allow_url: bool,
    min_height: float | None,
    threshold: float | None,
    model: str,
    strict: bool,
    jobs: int | None,
    quiet: bool,
) -> int:
    """Detect pedestrians in SOURCE: images, folders, a video, a camera's number or an address.

    The results of videos, cameras and addresses are printed frame by frame, as they come: with
    --json one object a line, with --csv one row a box. An image without detections has a row
    without a box.

    Boxes are x0, y0, x1, y1 in pixels, inside the image. The confidence is the estimated
    probability that a box is right, in photographs with one pedestrian on average.
    """
    from visualwords.apps.detect_pedestrians.searching import ResultFiles, Searching
    from visualwords.apps.detection.tracking import Tracker
    from visualwords.frames import kind_of_source

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    kinds = {kind_of_source(source) for source in sources}
    if track and kinds & {"image", "folder"}:
        raise click.UsageError("--track follows videos, cameras and addresses, not single images")
    detector = options.load_detector(model, min_height=min_height, threshold=threshold)
    shared.check_addresses(sources, allow_url)
    searching = Searching(
        detector,
        ResultFiles(detector.label, output=output, coco=coco, yolo=yolo),
        "json" if as_json else "csv" if as_csv else "table",
        as_they_come=not kinds <= {"image", "folder"},
        raw=raw,
        n_jobs=shared.n_threads(jobs),
        quiet=quiet,
        tracker=Tracker() if track else None,
    )
    try:
        for kind, group in groupby(sources, kind_of_source):
            if kind == "image":
                searching.images(list(group))
                continue
            for source in group:
                if kind == "folder":
                    searching.folder(source)
                else:
                    searching.video(source, **stream)
    finally:  # also what was found when Ctrl-C ends a camera
        searching.files.close()
    searching.print_results()
    return searching.end(strict)
