"""Evaluation of a detector: average precision, miss rates, their curves, and the report of both."""

import base64
import io
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from visualwords.apps.detection.drawing import draw_detections
from visualwords.apps.report import markup
from visualwords.boxes import intersection_over_own, intersection_over_union
from visualwords.errors import ImageError, VisualWordsError
from visualwords.files import write_atomically
from visualwords.images import read_image, shrink

__all__ = [
    *("DetectionFigures", "compare_detections", "draw_curves", "drop_ignored", "match"),
    "write_detection_report",
]

LAMR_POINTS = np.logspace(-2, 0, 9)  # false positives per image  [Dollár et al. 2012, Sec. 3.1]
MOST_SCENES = 24
SIDE = 320  # pixels of a scene's longer side
LAYOUT = ".scenes{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem}"

INK, LINE = "#2166ac", "#9aa5b1"
TICKS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1]

Detections = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class DetectionFigures:
    """Precision, recall and miss rates over all thresholds, from the highest to the lowest.

    Attributes
    ----------
    scores : (n,)
        Of all detections, falling; entry k of the curves counts the detections 0…k.
    right : (n,) bool
        Whether a detection found a marked object.
    n_objects, n_images : int
    """

    scores: np.ndarray
    right: np.ndarray
    n_objects: int
    n_images: int

    def __repr__(self) -> str:
        found = f"{self.n_objects} objects in {self.n_images} images"
        return f"<DetectionFigures: {found}, average precision {self.average_precision:.3f}>"

    @property
    def recall(self) -> np.ndarray:
        """Share of the true objects that are detected."""
        return np.cumsum(self.right) / self.n_objects

    @property
    def precision(self) -> np.ndarray:
        """Share of the detections that are right."""
        return np.cumsum(self.right) / np.arange(1, self.right.size + 1)

    @property
    def miss_rate(self) -> np.ndarray:
        """Share of the true objects that are missed."""
        return 1 - self.recall

    @property
    def false_per_image(self) -> np.ndarray:
        """False detections per image."""
        return np.cumsum(~self.right) / self.n_images

    @property
    def average_precision(self) -> float:
        """Area under precision over recall, precision being the best at that recall or above."""
        best = np.maximum.accumulate(self.precision[::-1])[::-1]
        return float(np.sum(np.diff(self.recall, prepend=0) * best))

    def miss_rate_at(self, false_per_image: float) -> float:
        """The miss rate at the lowest threshold with at most so many false positives."""
        n = int(np.searchsorted(self.false_per_image, false_per_image, side="right"))
        return float(self.miss_rate[n - 1]) if n else 1.0

    @property
    def log_average_miss_rate(self) -> float:
        """Geometric mean of nine miss rates, at 10⁻² to 10⁰ false positives per image."""
        misses = np.array([self.miss_rate_at(point) for point in LAMR_POINTS])
        return float(np.exp(np.log(np.maximum(misses, 1e-10)).mean()))

    def at_threshold(self, score: float) -> dict[str, float]:
        """Precision, recall and false positives per image at a threshold."""
        n = int(np.sum(self.scores >= score))
        found = int(self.right[:n].sum())
        precision, false = found / n if n else 1.0, (n - found) / self.n_images
        return {"precision": precision, "recall": found / self.n_objects, "false_per_image": false}

    def to_json(self) -> dict[str, Any]:
        """The figures without the curves."""
        counts = {"images": self.n_images, "objects": self.n_objects}
        return counts | {
            "detections": int(self.right.size),
            "average_precision": self.average_precision,
            "log_average_miss_rate": self.log_average_miss_rate,
            "miss_rate_at": {f"{p:.3g}": self.miss_rate_at(p) for p in (0.01, 0.1, 1.0)},
        }


def compare_detections(
    detections: Sequence[tuple[np.ndarray, np.ndarray]],
    marked: Sequence[np.ndarray],
    overlap: float = 0.5,
) -> DetectionFigures:
    """Compare the detections of several images with the true boxes.

    Parameters
    ----------
    detections : sequence of (boxes_xyxy, scores), one an image
    marked : sequence of (m, 4) arrays, one an image
    overlap : float
        Least intersection over union of a detection that counts as right.

    Returns
    -------
    DetectionFigures

    Examples
    --------
    >>> found = [(np.array([[0, 0, 9, 9], [50, 0, 59, 9]]), np.array([2.0, 1.0]))]
    >>> figures = compare_detections(found, [np.array([[1, 0, 9, 9]])])
    >>> figures.precision.tolist(), figures.average_precision
    ([1.0, 0.5], 1.0)
    """
    n_objects = sum(len(boxes) for boxes in marked)
    if not n_objects:
        raise ValueError("no object is marked in any image; there is nothing to compare with")
    if len(detections) != len(marked):
        raise ValueError(f"detections of {len(detections)} images, marks of {len(marked)}")
    right = [
        match(boxes, scores, truth, overlap) for (boxes, scores), truth in zip(detections, marked)
    ]
    scores = np.concatenate([scores for _, scores in detections])
    order = np.argsort(-scores, kind="stable")
    return DetectionFigures(scores[order], np.concatenate(right)[order], n_objects, len(marked))


def match(
    boxes_xyxy: np.ndarray, scores: np.ndarray, marked_xyxy: np.ndarray, overlap: float = 0.5
) -> np.ndarray:
    """Whether each detection of one image is right.

    Best score first, a detection takes the marked box that it overlaps most among those not
    taken yet, if by at least ``overlap`` (intersection over union). A second detection of the same
    object is wrong.

    Returns
    -------
    (n,) bool
    """
    shared = intersection_over_union(boxes_xyxy, marked_xyxy)
    right = np.zeros(len(shared), bool)
    if not shared.shape[1]:
        return right
    for i in np.argsort(-np.asarray(scores), kind="stable"):
        best = int(shared[i].argmax())
        if shared[i, best] >= overlap:
            right[i] = True
            shared[:, best] = -1
    return right


def drop_ignored(
    boxes_xyxy: np.ndarray, scores: np.ndarray, marked_xyxy: np.ndarray, ignored_xyxy: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Drop detections that lie by half in an ignored box, unless they are right.

    Crowds and difficult objects then count neither as missed nor as false.
    """
    if not len(ignored_xyxy):
        return boxes_xyxy, scores
    inside = intersection_over_own(boxes_xyxy, ignored_xyxy).max(axis=1) >= 0.5
    kept = ~inside | match(boxes_xyxy, scores, marked_xyxy)
    return boxes_xyxy[kept], scores[kept]


def draw_curves(figures: DetectionFigures) -> bytes:
    """A PNG of precision over recall, and of miss rate over false positives per image."""
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
    """The scenes, those with the most mistakes first."""
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
