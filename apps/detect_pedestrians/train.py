"""detect-pedestrians train"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from visualwords.apps.command_line import verb as shared
from visualwords.apps.command_line.verb import (
    DONE,
    OUTPUT,
    SKIPPED,
    Work,
    argument,
    flag,
    parts,
)
from visualwords.apps.detect_pedestrians import options

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import ImageOrPath, PedestrianDetector

SETTINGS = ("window", "object_share", "label", "tree_depth")  # of the detector, as flags


class TrainingData(NamedTuple):
    """What a detector learns from.

    Attributes
    ----------
    crops, backgrounds : sequences of images
    summary : what there is, in one line
    skipped : list of (name, reason)
    """

    crops: "Sequence[ImageOrPath]"
    backgrounds: "Sequence[ImageOrPath]"
    summary: str
    skipped: Sequence[tuple[str, str]]


class Train(Work):
    """Train a detector on POSITIVES, a folder of crops, and NEGATIVES, photographs without objects.

    Crops show the object in the middle; the window is cut from there. Their mirror images are
    added. Hard negatives are mined from the photographs in several rounds.

    With --annotations, POSITIVES are photographs with boxes: objects are cut out as crops, and the
    rest serves as photographs without objects, so that NEGATIVES may be omitted.

    At the end, figures of quality are printed: detectors of two thirds of the images each search
    the last third.
    """

    positives: str = argument()
    negatives: str | None = argument(required=False)
    annotations: str | None = options.annotations
    output: str = flag("-o --output MODEL", "Model file to write.", OUTPUT, required=True)
    window: tuple[int, int] | None = flag(
        "--window WxH",
        "Size of the window in pixels, multiples of 8 [default: 64x128; with --annotations, the "
        "shape of the median box].",
        parts("like 64x128", r"(\d+)x(\d+)", int, int),
    )
    object_share: tuple[float, float] | None = flag(
        "--object-share WxH",
        "Share of the window's width and height that the object takes [default: 0.6x0.75; with "
        "--annotations, by the median box].",
        parts("like 0.6x0.75", "([^x]+)x([^x]+)", float, float),
    )
    label: str | None = flag(
        "--label NAME",
        "Class name of the objects [default: person; with --annotations, their only label].",
    )
    rounds: int | None = flag(
        "--rounds N", "Rounds of hard negative mining [default: 3].", click.IntRange(min=0)
    )
    tree_depth: int | None = flag(
        "--tree-depth N", "Comparisons of each boosted tree [default: 4].", click.IntRange(1, 8)
    )
    seed: int = shared.seed
    jobs: int | None = shared.jobs
    scheduler: Any = shared.scheduler
    quiet: Any = shared.quiet

    def run(self) -> int:
        """Train, save, and print the held-out figures."""
        from visualwords.apps.command_line.terminal import progress_bars, say, say_skipped

        own = self.detector()  # wrong settings are reported before anything is read
        if self.annotations is not None:
            own, data = self.from_boxes(self.annotations)
        elif self.negatives is not None:
            data = self.from_crops(self.negatives)
        else:
            raise click.UsageError(
                "give NEGATIVES, a folder of photographs without the object, or --annotations "
                "with the boxes of the objects"
            )
        with progress_bars(self.quiet) as progress:
            own.fit(data.crops, data.backgrounds, progress=progress)
        own.save(self.output)
        say(data.summary)
        for number, (n_negatives, n_new) in enumerate(own.training_["rounds"]):
            name = f"round {number}" if number else "random windows"
            say(f"{name}: {n_new:,} new, {n_negatives:,} negative windows in all")
        sentence = "{found} of {crops} objects found, {false} false detections in {photographs} "
        sentence = sentence.format(**own.training_["held_out"]) + "images without the object"
        say(f"held out, from confidence {own.threshold:g}: {sentence}")
        skipped = [*data.skipped, *own.skipped_]
        say_skipped(skipped)
        say(f"{self.output}: {os.path.getsize(self.output) / 1000:,.0f} kB")
        return SKIPPED if skipped else DONE

    def detector(self, **fitting: Any) -> "PedestrianDetector":
        """The detector that the flags ask for; ``fitting`` is used where they are silent."""
        from visualwords.apps.detection.detector import PedestrianDetector

        asked = {name: getattr(self, name) for name in SETTINGS} | {"n_rounds": self.rounds}
        asked |= {"random_state": self.seed, "n_jobs": shared.n_threads(self.jobs)}
        given = {name: value for name, value in asked.items() if value is not None}
        detector = PedestrianDetector(**fitting | given)
        try:
            detector.check_parameters()
        except ValueError as problem:
            raise click.UsageError(str(problem)) from None
        return detector

    def from_crops(self, negatives: str) -> TrainingData:
        """The images of two folders: crops, and photographs without the object."""
        from visualwords.folders import list_files

        (crops, skipped), (photographs, others) = list_files(self.positives), list_files(negatives)
        summary = f"{len(crops)} crops and their mirror images, {len(photographs)} photographs "
        return TrainingData(crops, photographs, f"{summary}without the object", [*skipped, *others])

    def from_boxes(self, annotations: str) -> tuple["PedestrianDetector", TrainingData]:
        """A detector for the objects of photographs with boxes, the objects and the backgrounds.

        Images of the folder that the annotations do not name are left out: they may show the
        object.
        """
        from visualwords.apps.annotations import reading
        from visualwords.apps.detection.boxed_training import fitting_parameters, training_regions
        from visualwords.folders import list_files

        boxes = reading.read_annotations(annotations, self.positives)
        label = reading.chosen_label(boxes, self.label, "person")
        found = reading.find_photographs(boxes, self.positives)
        own: dict[str, Any] = {"label": label or "object"}
        if self.window is None and self.object_share is None:
            own |= fitting_parameters(found.images, label)
        detector = self.detector(**own)
        regions = training_regions(found.images, detector, label)
        others, unreadable = list_files(self.negatives) if self.negatives else ([], [])
        n_crops, n_parts = len(regions.crops), len(regions.backgrounds)
        summary = f"{n_crops} objects and their mirror images in {len(found.images)} photographs; "
        summary += f"{n_parts} parts and {len(others)} photographs without the object"
        if found.others:
            summary += f"; {len(found.others)} images without annotations left out"
        skipped = [*boxes.skipped, *found.missing, *regions.skipped, *unreadable]
        return detector, TrainingData(
            regions.crops, [*regions.backgrounds, *others], summary, skipped
        )


train = Train.command()
