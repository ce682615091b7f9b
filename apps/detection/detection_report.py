"""The report of a detector: one HTML file with average precision, curves and mistakes."""

import base64
import os
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from visualwords.apps.detection.curves import draw_curves
from visualwords.apps.detection.detector_figures import DetectionFigures, match
from visualwords.apps.detection.drawn_boxes import draw_detections
from visualwords.apps.report.markup import (
    Thumbnails,
    document,
    figure,
    html,
    joined,
    lines,
    picture,
    section,
    table,
    text,
)
from visualwords.errors import ImageError
from visualwords.files import write_atomically
from visualwords.images import read_image, shrink

__all__ = ["write_detection_report"]

MOST_SCENES = 24
SIDE = 320  # pixels of a scene's longer side
LAYOUT = ".scenes{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem}"

Detections = Sequence[tuple[np.ndarray, np.ndarray]]


def write_detection_report(
    path: str | os.PathLike[str],
    figures: DetectionFigures,
    paths: Sequence[str],
    detections: Detections,
    marked: Sequence[np.ndarray],
    *,
    threshold: float,
    command: str,
) -> None:
    """Write the report.

    Parameters
    ----------
    path : path-like
    figures : DetectionFigures
    paths, detections, marked : sequences
        The scenes, their detections, and the true boxes.
    threshold : float
        Lowest confidence of the detections shown.
    command : str
        The command that reproduces the report.
    """
    curves = "data:image/png;base64," + base64.b64encode(draw_curves(figures)).decode()
    body = joined(
        [
            html("<h1>{} objects in {} images</h1>", figures.n_objects, figures.n_images),
            section("figures", "Figures", "", _figures_table(figures, threshold)),
            section("curves", "Curves", "", picture(curves, "precision and miss rate")),
            _scenes(paths, detections, marked, threshold),
            section("repeat", "Repeat", "", lines(command)),
        ]
    )
    title = f"log-average miss rate {figures.log_average_miss_rate:.3f}"
    page = document(title, body, style=LAYOUT)
    write_atomically(path, page.encode("utf-8"))


def _figures_table(figures: DetectionFigures, threshold: float) -> Markup:
    at = figures.at_threshold(threshold)
    rows = {
        "average precision": f"{figures.average_precision:.3f}",
        "log-average miss rate, 0.01 to 1 false positives per image": (
            f"{figures.log_average_miss_rate:.3f}"
        ),
        f"precision from confidence {threshold:g}": f"{at['precision']:.1%}",
        f"recall from confidence {threshold:g}": f"{at['recall']:.1%}",
        f"false positives per image from confidence {threshold:g}": f"{at['false_per_image']:.2f}",
    }
    return table(["figure", ">value"], rows.items(), kind="")


def _scenes(
    paths: Sequence[str], detections: Detections, marked: Sequence[np.ndarray], threshold: float
) -> Markup:
    """Return the scenes, those with the most mistakes first."""
    thumbnails = Thumbnails(MOST_SCENES)
    shown = []
    for path, (boxes, scores), truth in zip(paths, detections, marked):
        kept = scores >= threshold
        right = match(boxes[kept], scores[kept], truth)
        missed, false = len(truth) - int(right.sum()), int((~right).sum())
        shown.append((-(missed + false), path, boxes[kept], scores[kept], missed, false))
    worst = sorted(shown, key=lambda one: one[:2])[:MOST_SCENES]
    scenes = html("<div class=scenes>{}</div>", joined(_scene(thumbnails, *s[1:]) for s in worst))
    lead = "Those with the most mistakes first; green: confidence of at least 50 %."
    return section("scenes", "Scenes", lead, scenes)


def _scene(
    thumbnails: Thumbnails,
    path: str,
    boxes: np.ndarray,
    scores: np.ndarray,
    missed: int,
    false: int,
) -> Markup:
    name = os.path.basename(path)
    try:
        url = thumbnails.of_pixels(shrink(draw_detections(read_image(path), boxes, scores), SIDE))
    except ImageError:  # deleted or changed since the evaluation
        url = None
    image = picture(url, name) if url else Markup()
    return figure(image, html("{} missed, {} false<br>{}", missed, false, text(name)))
