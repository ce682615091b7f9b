"""How the shipped detector's settings were chosen, on the INRIA training set alone.

    python -m benchmarks.accuracy.detector_choices

The last 240 crops and 80 photographs are held out; classifiers are trained on the others in the
rounds that the detector uses. Then, for each cost C and weight of CENTRIST beside HOG: miss rates
of the held-out crops at given false positives per window of held-out photographs. And, for each
scale factor and suppression: log-average miss rate and average precision on scenes made by pasting
the held-out crops into the held-out photographs. Such people are harder to find than real ones, as
pasting leaves edges: compare the figures with each other, not with those of the test scenes.
"""

import benchmarks.timing  # noqa: F401  isort: skip - sets one thread

from functools import partial

import cv2
import numpy as np

from benchmarks.data import DATA
from visualwords.apps.detection.bootstrapping import Bootstrap
from visualwords.apps.detection.channels import make_channels
from visualwords.apps.detection.detector_figures import compare_detections
from visualwords.apps.detection.detector_training import Learning, Samples, crop_vectors
from visualwords.apps.detection.levels import Search
from visualwords.apps.detection.window import WindowShape
from visualwords.apps.detection.window_tables import RaggedTables, tables_of, with_constants
from visualwords.boxes import suppress
from visualwords.classifiers import ICDClassifier
from visualwords.images import read_image
from visualwords.progress import Silent

ROOT = DATA / "pedestrian" / "train"
SHAPE = WindowShape(64, 128)
OBJECT = (0.6, 0.75)  # its share of the window's width and height
STRIDE = 8
N_CROPS, N_PHOTOGRAPHS = 240, 80  # held out
COSTS, WEIGHTS = (1e-5, 1e-4, 1e-3), (0.0, 0.4, 0.7, 1.0, 1.5, 2.0)
RATES = (1e-3, 1e-4, 1e-5)
FACTORS = (1.1, 1.15, 1.2)
OVERLAPS = (("smaller", 0.4), ("smaller", 0.5), ("smaller", 0.6), ("union", 0.4), ("union", 0.5))
LEAST_HOG, LEAST = -0.5, -0.6  # scores of windows that are looked at in scenes


def split() -> tuple[list, list, list, list]:
    """Paths of crops and photographs to train on, and of those held out."""
    crops, photographs = (sorted((ROOT / name).iterdir()) for name in ("pos", "neg"))
    order = np.random.default_rng(5).permutation(len(photographs))
    held_out, others = order[:N_PHOTOGRAPHS], order[N_PHOTOGRAPHS:]
    return (
        crops[:-N_CROPS],
        [photographs[i] for i in others],
        crops[-N_CROPS:],
        [photographs[i] for i in held_out],
    )


def train(samples: Samples, cost: float) -> list[RaggedTables]:
    """HIK tables of both features."""
    return [
        tables_of(
            ICDClassifier(C=cost, quantization="integer").fit(with_constants(v), samples.positive)
        )
        for v in samples.vectors
    ]


def window_scores(tables: list[RaggedTables], crops: list, photographs: list) -> list:
    """Scores by each feature of the crops' windows, and of all windows of photographs."""
    search = Search(SHAPE, OBJECT, STRIDE, 1.2, 48, 0)
    pairs = []
    for k, channel in enumerate(make_channels("both", SHAPE, STRIDE)):
        arranged = channel.arrange(tables[k])
        grids = [
            channel.table_scores(channel.prepare(level.image), arranged).ravel()
            for path in photographs
            for level in search.levels(read_image(path))
        ]
        rows = np.vstack([crop_vectors(read_image(path), SHAPE, [channel])[0] for path in crops])
        columns = np.minimum(rows, tables[k].tops) + tables[k].starts[:-1]
        pairs.append((tables[k].cells[columns].sum(axis=1), np.concatenate(grids)))
    return pairs


def show_misses(cost: float, pairs: list) -> None:
    """Miss rates of the weighted sum."""
    (hog, hog_false), (census, census_false) = pairs
    for weight in WEIGHTS:
        false = np.sort(hog_false + weight * census_false)
        people = hog + weight * census
        misses = [(people <= false[-max(1, int(rate * false.size))]).mean() for rate in RATES]
        shown = ", ".join(f"{miss:.4f} at {rate:g}" for miss, rate in zip(misses, RATES))
        print(f"C={cost:g}, weight {weight}: miss rate {shown}", flush=True)


def make_scenes(crops: list, photographs: list) -> list[tuple[np.ndarray, np.ndarray]]:
    """Photographs of 640 pixels with up to three people each, and the people's boxes."""
    rng = np.random.default_rng(11)
    scenes = []
    for number, path in enumerate(photographs):
        image = read_image(path)
        factor = 640 / max(image.shape)
        image = cv2.resize(image, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC)
        boxes: list[np.ndarray] = []
        for k in range(3 * number, 3 * number + 3):
            paste(image, read_image(crops[k % len(crops)]), boxes, rng)
        jpeg = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 86])[1]
        scenes.append((cv2.imdecode(jpeg, cv2.IMREAD_COLOR), np.array(boxes).reshape(-1, 4)))
    return scenes


def paste(image: np.ndarray, crop: np.ndarray, boxes: list, rng: np.random.Generator) -> None:
    """Paste a crop with a soft border where it doesn't cover others; note the person's box."""
    height, width = image.shape[:2]
    scale = np.exp(rng.uniform(np.log(0.62), np.log(1.8)))  # people of 60 to 170 pixels
    scale = min(scale, 0.99 * height / crop.shape[0], 0.99 * width / crop.shape[1])
    h, w = round(crop.shape[0] * scale), round(crop.shape[1] * scale)
    mask = np.zeros(crop.shape[:2], np.float32)
    mask[16:-16, 20:-20] = 1
    mask = cv2.resize(cv2.GaussianBlur(mask, (0, 0), 4), (w, h))[:, :, None]
    person = cv2.resize(
        crop, (w, h), interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    )
    for _ in range(20):
        y, x = rng.integers(0, height - h + 1), rng.integers(0, width - w + 1)
        center = np.array([x + w / 2, y + h / 2])
        half = np.array([0.3 * SHAPE.width, 0.375 * SHAPE.height]) * scale
        apart = [np.abs((box[:2] + box[2:]) / 2 - center) for box in boxes]
        if all(dx > 0.45 * w or dy > 0.8 * h for dx, dy in apart):
            below = image[y : y + h, x : x + w]
            below[:] = mask * person + (1 - mask) * below
            boxes.append(np.concatenate([center - half, center + half]))
            return


def find(image: np.ndarray, search: Search, channels: list, arranged: list) -> tuple:
    """Boxes and scores, weight 1, before suppression."""
    boxes, scores = [np.empty((0, 4))], [np.empty(0)]
    for level in search.levels(image):
        prepared = channels[0].prepare(level.image)
        grid = channels[0].table_scores(prepared, arranged[0])
        corners = np.argwhere(grid >= LEAST_HOG)
        census = channels[1].prepare(level.image)
        both = grid[tuple(corners.T)] + channels[1].scores_at(census, corners * STRIDE, arranged[1])
        boxes.append(search.boxes(level, corners[both >= LEAST] * STRIDE))
        scores.append(both[both >= LEAST])
    return np.vstack(boxes), np.concatenate(scores)


def show_scenes(tables: list[RaggedTables], scenes: list) -> None:
    """Figures for each scale factor and suppression."""
    channels = make_channels("both", SHAPE, STRIDE)
    arranged = [channel.arrange(own) for channel, own in zip(channels, tables)]
    truth = [boxes for _, boxes in scenes]
    for factor in FACTORS:
        search = Search(SHAPE, OBJECT, STRIDE, factor, 64, 16)
        raw = [find(image, search, channels, arranged) for image, _ in scenes]
        for measure, overlap in OVERLAPS:
            kept = [suppress(boxes, scores, overlap, measure) for boxes, scores in raw]
            found = [(boxes[k], scores[k]) for (boxes, scores), k in zip(raw, kept)]
            figures = compare_detections(found, truth)
            print(
                f"scale factor {factor}, suppression at {overlap} of {measure}: log-average miss "
                f"rate {figures.log_average_miss_rate:.3f}, average precision "
                f"{figures.average_precision:.3f}",
                flush=True,
            )


def main() -> None:
    crops, photographs, held_crops, held_photographs = split()
    search = Search(SHAPE, OBJECT, STRIDE, 1.1, 48, 0)
    bootstrap = Bootstrap("both", search, Learning(1e-4, 1.0, 1.0, 0), progress=Silent())
    readers = [[partial(read_image, path) for path in paths] for paths in (crops, photographs)]
    samples = bootstrap.run(*readers, 3)
    print(f"windows in each round: {[one.n_new for one in bootstrap.rounds]}", flush=True)
    trained = {cost: train(samples, cost) for cost in COSTS}
    for cost, tables in trained.items():
        show_misses(cost, window_scores(tables, held_crops, held_photographs[:40]))
    show_scenes(trained[1e-4], make_scenes(held_crops, held_photographs))


if __name__ == "__main__":
    main()
