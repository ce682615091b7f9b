"""detect-pedestrians evaluate"""

import shlex
from typing import TYPE_CHECKING

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.exit_codes import DONE, SKIPPED
from visualwords.apps.detect_pedestrians import options

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from visualwords.apps.detection.detector import PedestrianDetector
    from visualwords.apps.detection.detector_figures import DetectionFigures
    from visualwords.errors import Skipped


@click.command()
@click.argument("scenes", type=click.Path())
@options.annotations
@click.option("--label", metavar="NAME", help="Label of the boxes to find [default: the model's].")
@shared.report
@click.option(
    "--curves",
    type=click.Path(dir_okay=False),
    metavar="PNG",
    help="Write the precision and miss rate curves.",
)
@click.option(
    "--aspect",
    type=shared.Number(0.01, 100),
    metavar="RATIO",
    help="Compare boxes of one width over height, around the middles of the given ones; 0.41 is "
    "the convention of pedestrian benchmarks [default: as they are].",
)
@options.min_height
@options.classifier
@options.model
@shared.jobs
@shared.scheduler
@shared.as_json
@shared.quiet
def evaluate(
    scenes: str,
    annotations: str | None,
    label: str | None,
    report: str | None,
    curves: str | None,
    aspect: float | None,
    min_height: float | None,
    classifier: str,
    model: str,
    jobs: int | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Evaluate a detector on SCENES, a folder of images with annotated boxes.

    Prints average precision and the log-average miss rate (intersection over union of at least
    one half). Images that the annotations do not name are taken to show no object. Crowds and
    difficult objects count neither as missed nor as false.
    """
    from visualwords.apps.annotations.boxed_image import BoxedImage
    from visualwords.apps.annotations.reading import (
        chosen_label,
        find_photographs,
        read_annotations,
    )
    from visualwords.apps.command_line.terminal import check_output, say_skipped
    from visualwords.apps.detection.detector_figures import compare_detections, drop_ignored
    from visualwords.apps.detection.photograph_folds import LOWEST, true_boxes
    from visualwords.boxes import with_aspect
    from visualwords.files import write_atomically

    if annotations is None:
        raise click.UsageError("--annotations is missing: the file or folder of the true boxes")
    for path in (report, curves):
        if path is not None:
            check_output(path)
    detector = options.load_detector(model, min_height=min_height, classifier=classifier)
    usual = detector.threshold
    boxes = read_annotations(annotations, scenes)
    wanted = chosen_label(boxes, label, detector.label)
    photographs = find_photographs(boxes, scenes)
    images = [*photographs.images, *(BoxedImage(path) for path in photographs.others)]
    images.sort(key=lambda image: image.name)
    names = [image.name for image in images]
    found, failed = _detect(detector.set_params(threshold=LOWEST), names, jobs, quiet)
    searched = [image for image in images if image.name in found]
    paths = [image.name for image in searched]
    truths = [true_boxes(image, wanted) for image in searched]
    if aspect is not None:
        truths = [(with_aspect(boxes, aspect), ignored) for boxes, ignored in truths]
        found = {path: (with_aspect(boxes, aspect), own) for path, (boxes, own) in found.items()}
    marked = [objects for objects, _ in truths]
    detections = [
        drop_ignored(*found[path], objects, ignored)
        for path, (objects, ignored) in zip(paths, truths)
    ]
    figures = compare_detections(detections, marked)
    if curves is not None:
        from visualwords.apps.detection.curves import draw_curves

        write_atomically(curves, draw_curves(figures))
    if report is not None:
        from visualwords.apps.detection.detection_report import write_detection_report

        words = click.get_current_context().command_path
        command = f"{words} {scenes} --annotations {annotations} --model {model}"
        command += f" --aspect {aspect:g}" if aspect is not None else ""
        command += f" --label {shlex.quote(label)}" if label is not None else ""
        write_detection_report(
            report, figures, paths, detections, marked, threshold=usual, command=command
        )
    left_out: list[Iterable[str]] = [*boxes.skipped, *photographs.missing, *failed]
    _print(figures, usual, as_json, left_out)
    say_skipped(left_out)
    return SKIPPED if left_out else DONE


def _detect(
    detector: "PedestrianDetector", paths: list[str], jobs: int | None, quiet: bool
) -> tuple[dict[str, tuple["np.ndarray", "np.ndarray"]], "list[Skipped]"]:
    """Return the detections of readable images, and the others with the reason."""
    from visualwords.apps.command_line.terminal import progress_bars
    from visualwords.apps.detect_pedestrians.one_image import search_files
    from visualwords.errors import Skipped

    found, failed = {}, []
    with progress_bars(quiet) as progress:
        progress.start("searching", len(paths))
        answers = search_files(detector, paths, False, shared.n_threads(jobs))
        for path, result in zip(paths, answers):
            if isinstance(result, Skipped):
                failed.append(result)
            else:
                found[path] = result.boxes, result.confidences
            progress.advance()
    return found, failed


def _print(
    figures: "DetectionFigures", threshold: float, as_json: bool, skipped: "Sequence[Iterable[str]]"
) -> None:
    at = figures.at_threshold(threshold)
    if as_json:
        listed = [{"path": path, "reason": reason} for path, reason in skipped]
        summary = figures.to_json() | {"threshold": threshold, **at, "skipped": listed}
        from visualwords.apps.command_line.terminal import print_json

        print_json(summary)
        return
    print(f"{figures.n_objects} objects in {figures.n_images} images")
    print(f"average precision      {figures.average_precision:.3f}")
    print(f"log-average miss rate  {figures.log_average_miss_rate:.3f}")
    for point in (0.01, 0.1, 1.0):
        print(
            f"miss rate at {point:<4g} false positives per image  {figures.miss_rate_at(point):.3f}"
        )
    print(
        f"from confidence {threshold:g}: precision {at['precision']:.1%}, recall "
        f"{at['recall']:.1%}, {at['false_per_image']:.2f} false positives per image"
    )
