"""detect-pedestrians train"""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.command_line import verb as shared
from visualwords.apps.command_line.verb import DONE, OUTPUT, PATH, SKIPPED, flag
from visualwords.apps.detect_pedestrians import options

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import ImageOrPath, PedestrianDetector


def pair(kind: type, example: str) -> Callable[[str], tuple[float, float]]:
    """Return what reads two numbers with an x between them."""

    def read(value: str) -> tuple[float, float]:
        try:
            width, height = map(kind, value.lower().split("x"))
        except ValueError:
            raise click.BadParameter(f"{value!r}; two numbers like {example}") from None
        return width, height

    return read


# crops, backgrounds, what there is in one line, and what was skipped
TrainingData = tuple[
    "Sequence[ImageOrPath]", "Sequence[ImageOrPath]", str, Sequence[tuple[str, str]]
]


@click.command()
@click.argument("positives", type=PATH)
@click.argument("negatives", type=PATH, required=False)
@options.annotations
@flag("-o --output MODEL", "Model file to write.", OUTPUT, required=True)
@flag(
    "--window WxH",
    "Size of the window in pixels, multiples of 8 [default: 64x128; with --annotations, the shape "
    "of the median box].",
    pair(int, "64x128"),
)
@flag(
    "--object-share WxH",
    "Share of the window's width and height that the object takes [default: 0.6x0.75; with "
    "--annotations, by the median box].",
    pair(float, "0.6x0.75"),
)
@flag(
    "--label NAME",
    "Class name of the objects [default: person; with --annotations, their only label].",
)
@flag("--rounds N", "Rounds of hard negative mining [default: 3].", click.IntRange(min=0))
@flag("--tree-depth N", "Comparisons of each boosted tree [default: 4].", click.IntRange(1, 8))
@shared.seed
@shared.jobs
@shared.scheduler
@shared.quiet
def train(
    *,
    positives: str,
    negatives: str | None,
    annotations: str | None,
    output: str,
    rounds: int | None,
    seed: int,
    jobs: int | None,
    quiet: bool,
    **given: Any,
) -> int:
    """Train a detector on POSITIVES, a folder of crops, and NEGATIVES, photographs without objects.

    Crops show the object in the middle; the window is cut from there. Their mirror images are
    added. Hard negatives are mined from the photographs in several rounds.

    With --annotations, POSITIVES are photographs with boxes: objects are cut out as crops, and the
    rest serves as photographs without objects, so that NEGATIVES may be omitted.

    At the end, figures of quality are printed: detectors of two thirds of the images each search
    the last third.
    """
    from visualwords.apps.command_line.terminal import progress_bars, say, say_skipped

    given |= {"n_rounds": rounds, "random_state": seed, "n_jobs": shared.n_threads(jobs)}
    settings = {name: value for name, value in given.items() if value is not None}
    if annotations is not None:
        detector, data = _from_boxes(positives, negatives, annotations, settings)
    elif negatives is not None:
        detector, data = _detector(settings), _from_crops(positives, negatives)
    else:
        raise click.UsageError(
            "give NEGATIVES, a folder of photographs without the object, or --annotations with the "
            "boxes of the objects"
        )
    crops, backgrounds, summary, skipped = data
    with progress_bars(quiet) as progress:
        detector.fit(crops, backgrounds, progress=progress)
    detector.save(output)
    say(summary)
    for number, (n_negatives, n_new) in enumerate(detector.training_["rounds"]):
        name = f"round {number}" if number else "random windows"
        say(f"{name}: {n_new:,} new, {n_negatives:,} negative windows in all")
    held_out = detector.training_["held_out"]
    sentence = "{found} of {crops} objects found, {false} false detections in {photographs} images "
    sentence = sentence.format(**held_out) + "without the object"
    say(f"held out, from confidence {detector.threshold:g}: {sentence}")
    skipped = [*skipped, *detector.skipped_]
    say_skipped(skipped)
    say(f"{output}: {os.path.getsize(output) / 1000:,.0f} kB")
    return SKIPPED if skipped else DONE


def _from_crops(positives: str, negatives: str) -> TrainingData:
    """The images of two folders: crops, and photographs without the object."""
    from visualwords.folders import list_files

    (crops, skipped), (photographs, others) = list_files(positives), list_files(negatives)
    summary = f"{len(crops)} crops and their mirror images, {len(photographs)} photographs without"
    return crops, photographs, f"{summary} the object", [*skipped, *others]


def _from_boxes(
    folder: str, negatives: str | None, annotations: str, settings: dict[str, Any]
) -> tuple["PedestrianDetector", TrainingData]:
    """A detector for the objects of photographs with boxes, the objects and the backgrounds.

    Images of the folder that the annotations do not name are left out: they may show the object.
    """
    from visualwords.apps.annotations import reading
    from visualwords.apps.detection.boxed_training import fitting_parameters, training_regions
    from visualwords.folders import list_files

    _detector(settings)  # wrong settings are reported before anything is read
    boxes = reading.read_annotations(annotations, folder)
    label = reading.chosen_label(boxes, settings.get("label"), "person")
    found = reading.find_photographs(boxes, folder)
    own = {"label": label or "object"}
    if "window" not in settings and "object_share" not in settings:
        own |= fitting_parameters(found.images, label)
    detector = _detector({**own, **settings})
    regions = training_regions(found.images, detector, label)
    others, unreadable = list_files(negatives) if negatives is not None else ([], [])
    n_crops, n_parts, n_images = len(regions.crops), len(regions.backgrounds), len(found.images)
    summary = (
        f"{n_crops} objects and their mirror images in {n_images} photographs; {n_parts} parts "
    )
    summary += f" and {len(others)} photographs without the object"
    if found.others:
        summary += f"; {len(found.others)} images without annotations left out"
    skipped = [*boxes.skipped, *found.missing, *regions.skipped, *unreadable]
    return detector, (regions.crops, [*regions.backgrounds, *others], summary, skipped)


def _detector(settings: dict[str, Any]) -> "PedestrianDetector":
    from visualwords.apps.detection.detector import PedestrianDetector

    detector = PedestrianDetector(**settings)
    try:
        detector.check_parameters()
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    return detector
