"""detect-pedestrians evaluate"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.command_line import verb as shared
from visualwords.apps.command_line.verb import DONE, OUTPUT, SKIPPED, Number, Work, argument, flag
from visualwords.apps.detect_pedestrians import options

if TYPE_CHECKING:
    from visualwords.apps.detection.detector_figures import DetectionFigures

LOWEST = 1e-3  # lowest confidence of the detections that curves are made of


class Evaluate(Work):
    """Evaluate a detector on SCENES, a folder of images with annotated boxes.

    Prints average precision and the log-average miss rate (intersection over union of at least
    one half). Images that the annotations do not name are taken to show no object. Crowds and
    difficult objects count neither as missed nor as false.
    """

    scenes: str = argument()
    annotations: str | None = options.annotations
    label: str | None = flag("--label NAME", "Label of the boxes to find [default: the model's].")
    report: str | None = shared.report
    curves: str | None = flag("--curves PNG", "Write the precision and miss rate curves.", OUTPUT)
    aspect: float | None = flag(
        "--aspect RATIO",
        "Compare boxes of one width over height, around the middles of the given ones; 0.41 is "
        "the convention of pedestrian benchmarks [default: as they are].",
        Number(0.01, 100),
    )
    min_height: float | None = options.min_height
    model: str = options.model
    jobs: int | None = shared.jobs
    scheduler: Any = shared.scheduler
    as_json: bool = shared.as_json
    quiet: Any = shared.quiet

    def run(self) -> int:
        """Search all scenes and compare with their boxes."""
        import numpy as np

        from visualwords.apps.annotations import reading
        from visualwords.apps.annotations.boxed_image import BoxedImage
        from visualwords.apps.command_line import terminal
        from visualwords.apps.detect_pedestrians.searching import search_files
        from visualwords.apps.detection import detector_figures
        from visualwords.boxes import with_aspect
        from visualwords.errors import Skipped
        from visualwords.files import write_atomically

        if self.annotations is None:
            raise click.UsageError("--annotations is missing: the file or folder of the true boxes")
        detector = options.load_detector(self.model, min_height=self.min_height)
        usual = detector.threshold
        boxes = reading.read_annotations(self.annotations, self.scenes)
        wanted = reading.chosen_label(boxes, self.label, detector.label)
        photographs = reading.find_photographs(boxes, self.scenes)
        unnamed = [BoxedImage(path) for path in photographs.others]
        images = sorted([*photographs.images, *unnamed], key=lambda image: image.name)
        names, detections, marked, paths = [image.name for image in images], [], [], []
        left_out: list[Iterable[str]] = [*boxes.skipped, *photographs.missing]
        with terminal.progress_bars(self.quiet) as progress:
            progress.start("searching", len(names))
            detector.set_params(threshold=LOWEST)
            answers = search_files(detector, names, shared.n_threads(self.jobs))
            for image, answer in zip(images, answers):
                progress.advance()
                if isinstance(answer, Skipped):
                    left_out.append(answer)
                    continue
                found, scores = answer.boxes_xyxy, np.array(answer.confidences)
                truth, ignored = image.boxes_of(wanted)
                if self.aspect is not None:
                    found, truth = (with_aspect(these, self.aspect) for these in (found, truth))
                paths.append(image.name)
                marked.append(truth)
                detections.append(detector_figures.drop_ignored(found, scores, truth, ignored))
        figures = detector_figures.compare_detections(detections, marked)
        if self.curves is not None:
            write_atomically(self.curves, detector_figures.draw_curves(figures))
        if self.report is not None:
            searched, command = (paths, detections, marked), terminal.equivalent_command()
            detector_figures.write_detection_report(
                self.report, figures, *searched, threshold=usual, command=command
            )
        self.show(figures, usual, left_out)
        terminal.say_skipped(left_out)
        return SKIPPED if left_out else DONE

    def show(
        self, figures: "DetectionFigures", threshold: float, skipped: Sequence[Iterable[str]]
    ) -> None:
        """Print the figures, those from a confidence on last."""
        from visualwords.apps.command_line.terminal import print_json

        at = figures.at_threshold(threshold)
        if self.as_json:
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


evaluate = Evaluate.command()
