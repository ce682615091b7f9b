"""detect-pedestrians run"""

from itertools import groupby
from typing import Any

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import FOLDER, OUTPUT, PATH, argument, flag
from visualwords.apps.command_line.verb import Work
from visualwords.apps.detect_pedestrians import options


class Run(Work):
    """Detect pedestrians in SOURCE: images, folders, a video, a camera's number or an address.

    The results of videos, cameras and addresses are printed frame by frame, as they come: with
    --json one object a line, with --csv one row a box. An image without detections has a row
    without a box.

    Boxes are x0, y0, x1, y1 in pixels, inside the image. The confidence is the estimated
    probability that a box is right, in photographs with one pedestrian on average.
    """

    sources: tuple[str, ...] = argument("sources", nargs=-1, required=True, metavar="SOURCE...")
    output: str | None = flag(
        "-o --output OUT",
        "Folder for annotated pictures, or for a video a file ending in .mp4 or .avi.",
        PATH,
    )
    as_csv: bool = shared.as_csv
    raw: bool = shared.raw
    as_json: bool = shared.as_json
    coco: str | None = flag("--coco FILE", "Write the boxes as COCO JSON.", OUTPUT)
    yolo: str | None = flag(
        "--yolo DIR", "Write the boxes as YOLO label files: DIR/labels/NAME.txt.", FOLDER
    )
    track: bool = flag(
        "--track", "Give people the same number in all frames of a video, camera or stream."
    )
    stream: dict[str, Any] = shared.streams
    allow_url: bool
    min_height: float | None = options.min_height
    threshold: float | None = options.threshold
    model: str = options.model
    strict: bool = shared.strict
    jobs: int | None = shared.jobs
    scheduler: str | None = shared.scheduler
    quiet: bool = shared.quiet

    def run(self) -> int:
        """Search all sources, one after the other."""
        from visualwords.apps.detect_pedestrians.searching import ResultFiles, Searching
        from visualwords.apps.detection.tracking import Tracker
        from visualwords.frames import kind_of_source

        if self.as_csv and self.as_json:
            raise click.UsageError("--csv and --json exclude each other")
        kinds = {kind_of_source(source) for source in self.sources}
        if self.track and kinds & {"image", "folder"}:
            raise click.UsageError(
                "--track follows videos, cameras and addresses, not single images"
            )
        detector = options.load_detector(
            self.model, min_height=self.min_height, threshold=self.threshold
        )
        shared.check_addresses(self.sources, self.allow_url)
        searching = Searching(
            detector,
            ResultFiles(detector.label, self.output, self.coco, self.yolo),
            "json" if self.as_json else "csv" if self.as_csv else "table",
            as_they_come=not kinds <= {"image", "folder"},
            raw=self.raw,
            n_jobs=shared.n_threads(self.jobs),
            quiet=self.quiet,
            tracker=Tracker() if self.track else None,
        )
        try:
            for kind, group in groupby(self.sources, kind_of_source):
                if kind == "image":
                    searching.images(list(group))
                    continue
                for source in group:
                    if kind == "folder":
                        searching.folder(source)
                    else:
                        searching.video(source, **self.stream)
        finally:  # also what was found when Ctrl-C ends a camera
            searching.files.close()
        searching.print_results()
        return searching.end(self.strict)


run = Run.command()
