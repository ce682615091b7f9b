"""detect-pedestrians run"""

from itertools import groupby
from typing import Any

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.detect_pedestrians import options


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
    "--coco", type=click.Path(dir_okay=False), metavar="FILE", help="Write the boxes as COCO JSON."
)
@click.option(
    "--yolo",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write the boxes as YOLO label files: DIR/labels/NAME.txt.",
)
@click.option(
    "--track",
    is_flag=True,
    help="Give people the same number in all frames of a video, camera or stream.",
)
@shared.streams
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
    coco: str | None,
    yolo: str | None,
    track: bool,
    stream: dict[str, Any],
    allow_url: bool,
    min_height: float | None,
    threshold: float | None,
    classifier: str,
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
    from visualwords.apps.command_line.terminal import check_output
    from visualwords.apps.detect_pedestrians.result_files import ResultFiles
    from visualwords.apps.detect_pedestrians.searching import Searching
    from visualwords.frames import kind_of_source

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    kinds = {kind_of_source(source) for source in sources}
    if track and kinds & {"image", "folder"}:
        raise click.UsageError("--track follows videos, cameras and addresses, not single images")
    if coco is not None:
        check_output(coco)
    detector = options.load_detector(
        model, min_height=min_height, threshold=threshold, classifier=classifier
    )
    shared.check_addresses(sources, allow_url)
    form = "json" if as_json else "csv" if as_csv else "table"
    searching = Searching(
        detector,
        output,
        form,
        as_they_come=not kinds <= {"image", "folder"},
        raw=raw,
        n_jobs=shared.n_threads(jobs),
        quiet=quiet,
        track=track,
        files=ResultFiles(detector.label, coco=coco, yolo=yolo),
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
    searching.print_hint()
    return searching.end(strict)
