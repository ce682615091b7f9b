"""Detector against OpenCV 4's HOGDescriptor, same image, scales and strides, CPU time, one thread.

OpenCV 5 has no HOGDescriptor in its default build, so this needs an environment of its own:

    python -m venv cv4
    cv4/bin/pip install . 'opencv-python-headless<5'
    cv4/bin/python -m benchmarks.speed.detector

Both sides search one 640×480 image. At equal stride 4 and scale factor 1.2 ours are the census
features, whose windows all overlap, without padding: as many windows as OpenCV's. The last rows are
the shipped detector against OpenCV, both with their defaults (stride 8, scale factor 1.05).
"""

# isort: off
from benchmarks.timing import Table, best_cpu_seconds
from benchmarks.peers.window_by_window import look_up
# isort: on

from dataclasses import replace

import cv2
import numpy as np

import visualwords
from benchmarks.data import DATA
from visualwords.apps.detection.channels import Channel, make_channels
from visualwords.apps.detection.levels import Search
from visualwords.apps.detection.scanning import WindowScanner
from visualwords.apps.detection.window import WindowShape
from visualwords.apps.detection.window_model import WindowModel
from visualwords.boxes import pyramid_scales
from visualwords.images import read_image

ROOT = DATA / "pedestrian"
BRUTE_WINDOWS = 200  # scored one by one; the time for all is in proportion
LEAST = 0.0  # HIK score of windows that are accepted
KEPT = 0.995  # of people by the linear stage of the cascade, as in the shipped one


def picture() -> np.ndarray:
    """Return a street scene of the INRIA set, 640×480."""
    path = sorted((ROOT / "test" / "scenes").glob("*.jpg"))[1]
    return np.ascontiguousarray(cv2.resize(read_image(path), (640, 480)))


def opencv_detector() -> cv2.HOGDescriptor:
    """OpenCV's people detector."""
    hog = cv2.HOGDescriptor()
    hog.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())
    return hog


def searching(search: Search, scanner: WindowScanner, image: np.ndarray):
    """Return a function that searches all levels."""

    def search_all() -> int:
        found = 0
        for level in search.levels(image):
            corners, _ = scanner.scan(level.image, LEAST)
            found += len(corners)
        return found

    return search_all


def count_windows(search: Search, image: np.ndarray) -> int:
    return sum(
        int(np.prod(search.shape.positions(*level.image.shape[:2], search.stride)))
        for level in search.levels(image)
    )


def score_one_by_one(channel: Channel, prepared: np.ndarray, corners, tables) -> np.ndarray:
    """Count the features of each window alone and look them up."""
    scores = np.empty(len(corners), np.float32)
    counts = channel.vectors(prepared, corners)
    look_up(counts, tables.starts, tables.tops.astype(np.uint16), tables.cells, scores)
    return scores


def brute_force(search: Search, model: WindowModel, image: np.ndarray) -> float:
    """Seconds to score all windows one by one, from those of some; the pyramid is not counted."""
    (channel,) = make_channels("census", search.shape, search.stride)
    tables = model.channels["census"].tables
    prepared = channel.prepare(image)
    corners = np.argwhere(np.ones(search.shape.positions(*image.shape[:2], search.stride)))
    chosen = corners[:: max(len(corners) // BRUTE_WINDOWS, 1)][:BRUTE_WINDOWS] * search.stride
    seconds = best_cpu_seconds(lambda: score_one_by_one(channel, prepared, chosen, tables))
    return seconds / len(chosen) * count_windows(search, image)


def check_equal(search: Search, model: WindowModel, image: np.ndarray) -> float:
    """Return the largest difference between all-at-once scores and window-by-window ones."""
    (channel,) = make_channels("census", search.shape, search.stride)
    tables = model.channels["census"].tables
    worst = 0.0
    for level in search.levels(image):
        prepared = channel.prepare(level.image)
        grid = channel.table_scores(prepared, channel.arrange(tables))
        corners = np.argwhere(np.ones(grid.shape))[::37]
        alone = score_one_by_one(channel, prepared, corners * search.stride, tables)
        worst = max(worst, float(np.abs(grid[tuple(corners.T)] - alone).max(initial=0)))
    return worst


def with_census_stage(search: Search, model: WindowModel) -> WindowModel:
    """Let the linear census stage pass 99.5 % of the people whom HIK of census alone finds.

    Chosen on every second training crop, shifted as badly as the stride allows.
    """
    (channel,) = make_channels("census", search.shape, search.stride)
    learned = model.channels["census"]
    tables, found = channel.arrange(learned.tables), []
    paths = sorted((ROOT / "train" / "pos").iterdir())[::2]
    for path in paths:
        best, its_linear = LEAST, None
        shift = search.stride // 2
        for level in search.levels(np.ascontiguousarray(read_image(path)[shift:, shift:])):
            prepared = channel.prepare(level.image)
            scores = channel.table_scores(prepared, tables)
            if scores.max(initial=-np.inf) >= best:
                best, linear = scores.max(), channel.linear_scores(prepared, learned.weights)
                its_linear = linear.ravel()[scores.argmax()] + learned.intercept
        if its_linear is not None:
            found.append(its_linear)
    stage = float(np.quantile(found, 1 - KEPT))
    print(
        f"census stage: linear score {stage:.3f}, {KEPT:.1%} of the {len(found)} people whom HIK "
        f"finds in {len(paths)} training crops"
    )
    return replace(model, first_thresholds=np.float32([stage]))


def equal_stride(detector, image: np.ndarray, hog: cv2.HOGDescriptor) -> None:
    """Stride 4, scale factor 1.2."""
    shape = WindowShape(64, 128)
    search = Search(shape, (0.6, 0.75), 4, 1.2, 96, 0, grey=True)
    model = with_census_stage(search, detector.model_)
    n_windows = count_windows(search, image)
    scales = pyramid_scales((640, 480), (64, 128), 1.2)
    table = Table(f"640×480, stride 4, scale 1.2: {n_windows:,} windows, {len(scales)} scales")
    peer = best_cpu_seconds(
        lambda: hog.detectMultiScale(image, hitThreshold=9, winStride=(4, 4), scale=1.2)
    )
    channels = make_channels("census", shape, 4)
    times = {}
    for name, classifier in (
        ("linear", "linear"),
        ("cascade", "cascade"),
        ("HIK everywhere", "hik"),
    ):
        scanner = WindowScanner(channels, model, classifier)
        times[name] = best_cpu_seconds(searching(search, scanner, image))
    for name, bar in (("linear", 15), ("cascade", 7), ("HIK everywhere", 2.5)):
        table.add(f"census {name} | OpenCV HOG linear", times[name], peer, bar)
    brute = brute_force(search, model, image)
    table.add("census HIK everywhere | window by window", times["HIK everywhere"], brute, 20)
    table.check("largest difference of scores", check_equal(search, model, image), 1e-3, False)


def as_shipped(detector, image: np.ndarray, hog: cv2.HOGDescriptor) -> None:
    """Both at their defaults."""
    table = Table("640×480, both as they come")
    peer = best_cpu_seconds(lambda: hog.detectMultiScale(image))
    ours = best_cpu_seconds(lambda: detector.detect(image))
    table.add("shipped detector | OpenCV, stride 8, scale 1.05", ours, peer, 2.0)
    parts = detector.set_params(classifier="hik")
    table.add(
        "shipped, HIK everywhere | the same", best_cpu_seconds(lambda: parts.detect(image)), peer
    )
    parts.set_params(classifier="cascade")


def main() -> None:
    if not ROOT.exists():
        raise SystemExit(f"{ROOT}: this needs the INRIA person data")
    cv2.setNumThreads(1)
    image, hog = picture(), opencv_detector()
    detector = visualwords.load("pedestrian")
    print(f"OpenCV {cv2.__version__}")
    equal_stride(detector, image, hog)
    as_shipped(detector, image, hog)


if __name__ == "__main__":
    main()
