"""The shipped detector and OpenCV's people detector on the INRIA test scenes, same measure.

    python -m benchmarks.accuracy.detector_scenes [ours] [stages] [opencv] [--store]

``stages`` adds the figures of the shipped detector without the later stages of its cascade, and
without the second one.

OpenCV's side needs OpenCV 4 (see benchmarks.speed.detector). Its raw windows (stride 8, scale
factor 1.05) get the same mapping from window to person and the same suppression as ours, which
serve it better than its own grouping. Scenes are searched as they are, where it finds people of 96
pixels and more, and enlarged 1.5 times, where it finds 64 as ours does; its better figures count.

Figures are given for boxes as they are, and for boxes that are all 0.41 times as wide as high
around the same middles: so Dollár's benchmark, the source of published figures, compares them.
``--store`` keeps the figures in benchmarks/results.
"""

import benchmarks.timing  # noqa: F401  isort: skip - sets one thread

import sys
from dataclasses import replace

import cv2
import numpy as np

import visualwords
from benchmarks.data import DATA
from benchmarks.results import STORE, store
from visualwords.apps.annotations.box_table import read_box_table
from visualwords.apps.detection.detector_figures import compare_detections
from visualwords.boxes import suppress, with_aspect
from visualwords.images import read_image

ROOT = DATA / "pedestrian" / "test"
ASPECT = 0.41  # width over height of all compared boxes in Dollár's benchmark and its toolbox
ENLARGEMENTS = (1.0, 1.5)
OVERLAPS = (0.4, 0.5, 0.6)


def opencv_windows(
    image: np.ndarray, hog: "cv2.HOGDescriptor", enlarged: float
) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of people and scores of all windows that reach −0.5, before suppression."""
    large = cv2.resize(image, None, fx=enlarged, fy=enlarged)
    padded = cv2.copyMakeBorder(large, 16, 16, 16, 16, cv2.BORDER_REPLICATE)
    found, scores = hog.detectMultiScale(
        padded, hitThreshold=-0.5, winStride=(8, 8), scale=1.05, groupThreshold=0
    )
    x, y, w, h = np.array(found, float).reshape(-1, 4).T
    center, half = np.stack([x + w / 2, y + h / 2], 1) - 16, np.stack([0.3 * w, 0.375 * h], 1)
    return np.hstack([center - half, center + half]) / enlarged, np.ravel(scores)


def main() -> None:
    cv2.setNumThreads(1)
    table = read_box_table(ROOT / "annotations.csv")
    truth = {image.name: image.boxes_xyxy for image in table.images}
    paths = sorted((ROOT / "scenes").iterdir())
    marked = [truth.get(path.name, np.empty((0, 4))) for path in paths]
    sides = [side for side in sys.argv[1:] if side != STORE] or ["ours", "opencv"]
    found: dict[str, float] = {}
    if "ours" in sides:
        detector = visualwords.load("pedestrian").set_params(threshold=1e-3)
        detections = [detector.detect(path) for path in paths]
        found |= compare("shipped detector", detections, marked)
    if "stages" in sides:
        measure_stages(paths, marked)
    if "opencv" in sides:
        hog = cv2.HOGDescriptor()
        hog.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())
        for enlarged in ENLARGEMENTS:
            found |= measure_opencv(hog, paths, marked, enlarged)
    if STORE in sys.argv:
        print(store(found))


def measure_stages(paths: list, marked: list) -> None:
    detector = visualwords.load("pedestrian").set_params(threshold=1e-3)
    whole = detector.model_
    for kept in ([0], [0, 1], [0, 2]):
        tables = [t if k + 1 in kept else silenced(t) for k, t in enumerate(whole.tables)]
        stages = (*whole.stage_thresholds[:1], -np.inf)
        detector.model_ = replace(whole, tables=tables, stage_thresholds=stages)
        names = [whole.features[k].name for k in kept]
        compare(" + ".join(names), [detector.detect(path) for path in paths], marked)


def silenced(tables):
    """The tables of a feature that says nothing."""
    return replace(tables, cells=np.zeros_like(tables.cells))


def measure_opencv(
    hog: "cv2.HOGDescriptor", paths: list, marked: list, enlarged: float
) -> dict[str, float]:
    all_figures: dict[str, float] = {}
    raw = [opencv_windows(read_image(path), hog, enlarged) for path in paths]
    for overlap in OVERLAPS:
        kept = [suppress(boxes, scores, overlap) for boxes, scores in raw]
        found = [(boxes[k], scores[k]) for (boxes, scores), k in zip(raw, kept)]
        name = f"OpenCV {cv2.__version__}, scenes × {enlarged}, suppression at {overlap}"
        all_figures |= compare(name, found, marked)
    return all_figures


def compare(name: str, detections: list, marked: list) -> dict[str, float]:
    """Print the figures of boxes as they are, and of boxes of one aspect as in the benchmark."""
    figures = print_figures(name, compare_detections(detections, marked))
    alike = [(with_aspect(boxes, ASPECT), scores) for boxes, scores in detections]
    truth = [with_aspect(boxes, ASPECT) for boxes in marked]
    return figures | print_figures(f"{name}, {ASPECT} wide", compare_detections(alike, truth))


def print_figures(name: str, figures) -> dict[str, float]:
    print(
        f"{name}: log-average miss rate {figures.log_average_miss_rate:.3f}, "
        f"average precision {figures.average_precision:.3f} "
        f"({figures.n_objects} people in {figures.n_images} scenes)",
        flush=True,
    )
    return {
        f"{name}, log-average miss rate": float(figures.log_average_miss_rate),
        f"{name}, average precision": float(figures.average_precision),
        "scenes": figures.n_images,
    }


if __name__ == "__main__":
    main()
