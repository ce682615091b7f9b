"""detect-pedestrians evaluate"""

from typing import TYPE_CHECKING

import click

from visualwords.apps.command_line import verb as shared
from visualwords.apps.command_line.verb import DONE, OUTPUT, PATH, SKIPPED, flag
from visualwords.apps.detect_pedestrians import options

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from visualwords.apps.detection.detector_figures import DetectionFigures

LOWEST = 1e-3  # lowest confidence of the detections that curves are made of


@click.command()
@click.argument("scenes", type=PATH)
@options.annotations
@flag("--label NAME", "Label of the boxes to find [default: the model's].")
@shared.report
@flag("--curves PNG", "Write the precision and miss rate curves.", OUTPUT)
@flag(
    "--aspect RATIO",
    "Compare boxes of one width over height, around the middles of the given ones; 0.41 is the "
    "convention of pedestrian benchmarks [default: as they are].",
    shared.Number(0.01, 100),
)
@options.min_height
@options.model
@shared.jobs
@shared.scheduler
@shared.as_json
@shared.quiet
def evaluate(
    *,
    scenes: str,
    annotations: str | None,
    label: str | None,
    report: str | None,
    curves: str | None,
    aspect: float | None,
    min_height: float | None,
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
    import numpy as np

    from visualwords.apps.annotations import reading
    from visualwords.apps.annotations.boxed_image import BoxedImage
    from visualwords.apps.command_line import terminal
    from visualwords.apps.detect_pedestrians.searching import search_files
    from visualwords.apps.detection import detection_report, detector_figures
    from visualwords.boxes import with_aspect
    from visualwords.errors import Skipped
    from visualwords.files import write_atomically

    if annotations is None:
        raise click.UsageError("--annotations is missing: the file or folder of the true boxes")
    detector = options.load_detector(model, min_height=min_height)
    usual = detector.threshold
    boxes = reading.read_annotations(annotations, scenes)
    wanted = reading.chosen_label(boxes, label, detector.label)
    photographs = reading.find_photographs(boxes, scenes)
    unnamed = [BoxedImage(path) for path in photographs.others]
    images = sorted([*photographs.images, *unnamed], key=lambda image: image.name)
    names, detections, marked, paths = [image.name for image in images], [], [], []
    left_out: list[Iterable[str]] = [*boxes.skipped, *photographs.missing]
    with terminal.progress_bars(quiet) as progress:
        progress.start("searching", len(names))
        detector.set_params(threshold=LOWEST)
        answers = search_files(detector, names, shared.n_threads(jobs))
        for image, answer in zip(images, answers):
            progress.advance()
            if isinstance(answer, Skipped):
                left_out.append(answer)
                continue
            found, scores = answer.boxes_xyxy, np.array(answer.confidences)
            truth, ignored = detector_figures.true_boxes(image, wanted)
            if aspect is not None:
                found, truth = with_aspect(found, aspect), with_aspect(truth, aspect)
            paths.append(image.name)
            marked.append(truth)
            detections.append(detector_figures.drop_ignored(found, scores, truth, ignored))
    figures = detector_figures.compare_detections(detections, marked)
    if curves is not None:
        write_atomically(curves, detection_report.draw_curves(figures))
    if report is not None:
        command = terminal.equivalent_command()
        detection_report.write_detection_report(
            report, figures, paths, detections, marked, threshold=usual, command=command
        )
    _print(figures, usual, as_json, left_out)
    terminal.say_skipped(left_out)
    return SKIPPED if left_out else DONE


def _print(
    figures: "DetectionFigures", threshold: float, as_json: bool, skipped: "Sequence[Iterable[str]]"
) -> None:
    from visualwords.apps.command_line.terminal import print_json

    at = figures.at_threshold(threshold)
    if as_json:
        listed = [{"path": path, "reason": reason} for path, reason in skipped]
        print_json(figures.to_json() | {"threshold": threshold, **at, "skipped": listed})
        return
    print(f"{figures.n_objects} objects in {figures.n_images} images")
    print(f"average precision      {figures.average_precision:.3f}")
    print(f"log-average miss rate  {figures.log_average_miss_rate:.3f}")
    for point in (0.01, 0.1, 1.0):
        rate = figures.miss_rate_at(point)
        print(f"miss rate at {point:<4g} false positives per image  {rate:.3f}")
    print(
        f"from confidence {threshold:g}: precision {at['precision']:.1%}, recall "
        f"{at['recall']:.1%}, {at['false_per_image']:.2f} false positives per image"
    )
