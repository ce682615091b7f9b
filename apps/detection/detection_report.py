"""A detector's curves, and its report: one HTML file with figures, curves and mistakes."""

import base64
import io
import os
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from markupsafe import Markup

from visualwords.apps.detection.detector_figures import DetectionFigures, match
from visualwords.apps.detection.drawn_boxes import draw_detections
from visualwords.apps.report import markup
from visualwords.errors import ImageError, VisualWordsError
from visualwords.files import write_atomically
from visualwords.images import read_image, shrink

__all__ = ["draw_curves", "write_detection_report"]

MOST_SCENES = 24
SIDE = 320  # pixels of a scene's longer side
LAYOUT = ".scenes{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem}"

INK, LINE = "#2166ac", "#9aa5b1"
TICKS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1]

Detections = Sequence[tuple[np.ndarray, np.ndarray]]


def draw_curves(figures: DetectionFigures) -> bytes:
    """Return a PNG of precision over recall, and of miss rate over false positives per image."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise VisualWordsError("the curves need matplotlib; pip install matplotlib") from None
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(figures.recall, figures.precision, color=INK)
    left.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="recall", ylabel="precision")
    left.set_title(f"average precision {figures.average_precision:.3f}")
    false = np.maximum(figures.false_per_image, 1e-3)
    right.loglog(false, np.maximum(figures.miss_rate, 1e-3), color=INK)
    right.set(xlim=(3e-3, 10), ylim=(0.05, 1.05))
    right.set(xlabel="false positives per image", ylabel="miss rate")
    right.set_yticks(TICKS, map("{:g}".format, TICKS))
    right.yaxis.set_minor_formatter("")
    right.axvspan(1e-2, 1, color=LINE, alpha=0.15, lw=0)
    right.set_title(f"log-average miss rate {figures.log_average_miss_rate:.3f}")
    for axis in (left, right):
        axis.grid(color=LINE, alpha=0.4, which="major")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


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
    drawn = markup.picture(curves, "precision and miss rate")
    body = markup.html("<h1>{} objects in {} images</h1>", figures.n_objects, figures.n_images)
    body += markup.section("figures", "Figures", "", _figures_table(figures, threshold))
    body += markup.section("curves", "Curves", "", drawn)
    body += _scenes(paths, detections, marked, threshold)
    body += markup.section("repeat", "Repeat", "", markup.lines(command))
    title = f"log-average miss rate {figures.log_average_miss_rate:.3f}"
    page = markup.document(title, body, style=LAYOUT)
    write_atomically(path, page.encode("utf-8"))


def _figures_table(figures: DetectionFigures, threshold: float) -> Markup:
    at, since = figures.at_threshold(threshold), f"from confidence {threshold:g}"
    lamr = "log-average miss rate, 0.01 to 1 false positives per image"
    rows = {"average precision": f"{figures.average_precision:.3f}"}
    rows |= {lamr: f"{figures.log_average_miss_rate:.3f}"}
    rows |= {f"{name} {since}": f"{at[name]:.1%}" for name in ("precision", "recall")}
    rows |= {f"false positives per image {since}": f"{at['false_per_image']:.2f}"}
    return markup.table(["figure", ">value"], rows.items(), kind="")


def _scenes(
    paths: Sequence[str], detections: Detections, marked: Sequence[np.ndarray], threshold: float
) -> Markup:
    """Return the scenes, those with the most mistakes first."""
    thumbnails, shown = markup.Thumbnails(MOST_SCENES), []
    for path, (boxes, scores), truth in zip(paths, detections, marked):
        kept = scores >= threshold
        right = match(boxes[kept], scores[kept], truth)
        missed, false = len(truth) - int(right.sum()), int((~right).sum())
        shown.append((-(missed + false), path, boxes[kept], scores[kept], missed, false))
    scenes = []
    shown.sort(key=lambda one: one[:2])
    for _, path, boxes, scores, missed, false in shown[:MOST_SCENES]:
        name, url = os.path.basename(path), None
        with suppress(ImageError):  # deleted or changed since the evaluation
            drawn = draw_detections(read_image(path), boxes, scores)
            url = thumbnails.of_pixels(shrink(drawn, SIDE))
        image = markup.picture(url, name) if url else Markup()
        words = markup.html("{} missed, {} false<br>{}", missed, false, markup.text(name))
        scenes.append(markup.figure(image, words))
    lead = "Those with the most mistakes first; green: confidence of at least 50 %."
    gallery = markup.html("<div class=scenes>{}</div>", markup.joined(scenes))
    return markup.section("scenes", "Scenes", lead, gallery)
