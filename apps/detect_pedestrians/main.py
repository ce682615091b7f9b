"""The command, with run and demo; everything heavy is imported by the verb that needs it."""

import os
from collections.abc import Sequence
from typing import Any, NoReturn

import click

import visualwords
from visualwords.apps.command_line import verb as shared
from visualwords.apps.command_line.info import info_verb
from visualwords.apps.command_line.process import run_installed
from visualwords.apps.command_line.verb import (
    FOLDER,
    HELP,
    HELP_NAMES,
    OUTPUT,
    PATH,
    VerbGroup,
    Work,
    argument,
    flag,
    run_command,
)
from visualwords.apps.detect_pedestrians import options
from visualwords.apps.detect_pedestrians.evaluate import evaluate
from visualwords.apps.detect_pedestrians.train import train


class Run(Work):
    """Detect pedestrians in SOURCE: images, folders, a video, a camera's number or an address.

    The results of videos, cameras and addresses are printed frame by frame, as they come: with
    --json one object a line, with --csv one row a box. An image without detections has a row
    without a box.

    Boxes are x0, y0, x1, y1 in pixels, inside the image. The confidence is the estimated
    probability that a box is right, in photographs with one pedestrian on average.
    """

    sources: tuple[str, ...] = argument(required=True, metavar="SOURCE...")
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
    stream: Any = shared.streams
    allow_url: bool
    min_height: float | None = options.min_height
    threshold: float | None = options.threshold
    model: str = options.model
    strict: bool = shared.strict
    jobs: int | None = shared.jobs
    scheduler: Any = shared.scheduler
    quiet: Any = shared.quiet

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
        searching.sources(self.sources, self.stream)
        searching.print_results()
        return searching.end(self.strict)


class Demo(Work):
    """Run the detector on a street drawn in code, offline; write it without and with detections."""

    output: str = flag(
        "-o --output DIR", "Output folder for the pictures.", default="pedestrian-demo"
    )
    model: str = options.model

    def run(self) -> int:
        """Detect people, and write both pictures."""
        from visualwords.apps.command_line.terminal import note
        from visualwords.apps.detection.drawing import demo_picture, draw_detections
        from visualwords.files import write_atomically
        from visualwords.images import encode_image

        image = demo_picture()
        boxes, confidences = options.load_detector(self.model).detect(image, order="rgb")
        os.makedirs(self.output, exist_ok=True)
        drawn = draw_detections(image, boxes, confidences)
        for name, picture in {"street.png": image, "detections.png": drawn}.items():
            path = os.path.join(self.output, name)
            write_atomically(path, encode_image(picture), durable=False)
        for box, confidence in zip(boxes.round().astype(int).tolist(), confidences):
            print(f"found at {box}, confidence {confidence:.0%}")
        note(f"{self.output}: 2 pictures written")
        return 0


class _RunByDefault(VerbGroup):
    """Takes ``detect-pedestrians street.jpg`` for ``detect-pedestrians run street.jpg``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            is_source = os.path.exists(args[0]) or args[0].isdecimal() or set(args[0]) & set("./\\")
            if not is_source:  # an image, a folder, a video or a camera's number
                self.fail_unknown(ctx, args[0], "verb or file")
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_RunByDefault, context_settings=HELP_NAMES, epilog=HELP)
@click.version_option(visualwords.__version__, prog_name="detect-pedestrians")
def command() -> None:
    """Detect pedestrians in images and videos, or objects of a class you train on.

    \b
    detect-pedestrians demo                       a first look, offline
    detect-pedestrians street.jpg -o found/       with the bundled model
    detect-pedestrians run walk.mp4 -o found.mp4
    detect-pedestrians train crops/ photos/ -o mugs.vw
    """


for verb in (Run.command(), train, evaluate, Demo.command(), info_verb(options.SHIPPED)):
    command.add_command(verb)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(command, "detect-pedestrians", argv)


def console() -> NoReturn:
    """Run as the installed command."""
    run_installed(main)
