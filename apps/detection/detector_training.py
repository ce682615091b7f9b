"""How a detector is trained: windows collected in rounds, and figures by detectors of other images.

Each round of hard negative mining adds the false positives of the last one. Thresholds and
confidence come from scores of images that a classifier was not trained on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import cv2
import numpy as np

from visualwords.apps.detection import window_training as training
from visualwords.apps.detection.cascade import LEAST_SCORE, Cascade
from visualwords.apps.detection.window_training import Samples, Vectors
from visualwords.apps.detection.windows import MARGIN, Search, WindowShape
from visualwords.boxes import area, intersection_over_union
from visualwords.classifiers.calibration import fit_sigmoid
from visualwords.errors import FolderError
from visualwords.features.pixels import resize_image
from visualwords.parallel import map_on_workers
from visualwords.progress import Progress

__all__ = ["Bootstrap", "HeldOut", "train_detector", "with_stages"]

HARD_STAGES = -1.0  # of all features: at the margin, where a window hardly counts in training
HARD_TREES = -0.3  # of the sum of trees, in the units of their weight
FIRST_TREES = 0.25  # of the trees, while windows are collected
N_RANDOM = 20  # windows of every photograph to begin with
MOST_HARD = 50  # windows of one photograph and round
N_FOLDS = 3
LOOKING = "looking for false detections"
# Shares of the held-out windows of the object that must pass each stage of the cascade, of those
# that would be accepted at any useful threshold: in the end, and while detections are collected.
STAGE_RECALL, COLLECTING_RECALL = 0.995, 0.998

Image = Callable[[], np.ndarray]  # reads an image on demand
Work = Callable[[int, np.ndarray], Any]  # on the k-th image
Boxes = tuple[np.ndarray, np.ndarray]  # (n, 4) and their scores (n,)
Join = Callable[[np.ndarray, np.ndarray], Boxes]  # of the boxes of windows to detections


@dataclass
class Bootstrap:
    """Collects windows round by round; the same images give the same windows on any machine.

    Parameters
    ----------
    search : Search
        Which windows of the photographs are looked at.
    settings : mapping
        Parameters of `PedestrianDetector`.
    smallest : float
        Least scale of objects that a search enlarges to the window. Below 1 each crop is also
        shown as it looks after such an enlargement.
    progress : Progress

    Attributes
    ----------
    rounds : list of [int, int]
        Negative windows, and how many of them were new, in each round.
    """

    search: Search
    settings: Mapping[str, Any]
    smallest: float
    progress: Progress
    rounds: list[list[int]] = field(default_factory=list)

    def run(self, crops: Sequence[Image], photographs: Sequence[Image]) -> Samples:
        """The crops' windows and all windows collected from the photographs."""
        shape, seed = self.search.shape, self.settings["random_state"]

        def random(k: int, image: np.ndarray) -> Vectors:
            return training.random_windows(image, N_RANDOM, self.search, [seed, k])

        positives = self._windows("reading crops", crops, self._views_of_crop, True)
        negatives = self._windows("reading photographs", photographs, random, False)
        if not len(negatives.positive):
            window = f"{shape.width}x{shape.height}"
            raise FolderError(f"none of the photographs is as large as the window of {window}")
        self.rounds.append(2 * [len(negatives.positive)])
        n_rounds = self.settings["n_rounds"]
        for number in range(1, n_rounds + 1):
            room = self.settings["max_negatives"] - len(negatives.positive)
            most = min(MOST_HARD, room // len(photographs))
            if most < 1:
                break
            work = self._hard(positives + negatives, most, by_all=number == n_rounds)
            hard = self._windows(f"round {number} of {n_rounds}", photographs, work, False)
            negatives = negatives + hard
            self.rounds.append([len(negatives.positive), len(hard.positive)])
            if not len(hard.positive):
                break
        return positives + negatives

    def views(self, k: int, crop: np.ndarray) -> list[np.ndarray]:
        """The k-th crop, and how it looks if it was small and had to be enlarged."""
        if self.smallest >= 1:
            return [crop]
        rng = np.random.default_rng([self.settings["random_state"], k])
        return [crop, enlarged_again(crop, self.smallest ** rng.random())]

    def train(self, samples: Samples, *, share: float = 1.0) -> Cascade:
        """Classifiers of the samples' features; ``share`` is that of the trees."""
        return training.train_cascade(samples, self.search.shape, self.settings, share=share)

    def collect(self, stage: str, images: Sequence[Image], work: Work) -> Iterator[Any]:
        """Read images and yield ``work(number, image)`` of each, in order, showing progress."""
        self.progress.start(stage, len(images))
        n_jobs = self.settings["n_jobs"]
        for result in map_on_workers(_read, enumerate(images), shared=[work], n_jobs=n_jobs):
            self.progress.advance()
            yield result

    def _views_of_crop(self, k: int, crop: np.ndarray) -> Vectors:
        every = [training.crop_vectors(view, self.search.shape) for view in self.views(k, crop)]
        return [np.vstack(rows) for rows in zip(*every)]

    def _hard(self, samples: Samples, most: int, *, by_all: bool) -> Work:
        """Train on the windows so far: trees alone, or all features; the search for hard windows.

        Trees meet all windows of a photograph, later stages only those that trees let pass.
        """
        least = HARD_TREES * training.TREES_WEIGHT
        used = samples if by_all else replace(samples, vectors=samples.vectors[:1])
        self.progress.start("training", 1)
        cascade = self.train(used, share=FIRST_TREES)
        stages = (HARD_STAGES,) * len(cascade.stage_thresholds)
        first = np.array([least], np.float32)
        cascade = replace(cascade, tree_thresholds=first, stage_thresholds=stages)
        self.progress.advance()
        lowest = HARD_STAGES if by_all else least
        return lambda _, image: training.hard_windows(image, cascade, self.search, lowest, most)

    def _windows(
        self, stage: str, images: Sequence[Image], vectors_of: Work, positive: bool
    ) -> Samples:
        """The vectors of all images in order, whatever the number of threads."""
        parts = list(self.collect(stage, images, vectors_of))
        vectors = [np.vstack(feature) for feature in zip(*parts)]
        source = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        return Samples(vectors, np.full(len(source), positive), source)


def enlarged_again(crop: np.ndarray, scale: float) -> np.ndarray:
    """A crop of the same size without the detail that reducing it to a scale takes away."""
    height, width = crop.shape[:2]
    small = resize_image(crop, max(round(width * scale), 1), max(round(height * scale), 1))
    return resize_image(small, width, height)


def _read(work: Work, k: int, image: Image) -> Any:
    return work(k, image())


@dataclass(frozen=True)
class HeldOut:
    """Scores by classifiers of the other folds.

    Attributes
    ----------
    parts : (n, 64)
        Of the crops' windows, after each part of the trees.
    scores : (features, n)
        Of the crops' windows.
    right : (n,)
        Of the crops' detections; NaN where the object was not found.
    ratios : (n,)
        Of the objects' sizes to those found; NaN likewise.
    false : (m,)
        Of detections in photographs without the object.
    n_photographs : int
    """

    parts: np.ndarray
    scores: np.ndarray
    right: np.ndarray
    ratios: np.ndarray
    false: np.ndarray
    n_photographs: int

    @property
    def box_scale(self) -> float:
        """Median ratio of objects' to detections' sizes."""
        found = self.ratios[np.isfinite(self.ratios)]
        return float(np.median(found)) if found.size else 1.0

    def confidence(self) -> tuple[float, float]:
        """Slope and intercept of the confidence 1 / (1 + exp(−(slope · score + intercept))).

        It estimates the probability that a detection with this score is right in photographs that
        show one object on average. There always are windows just below what was looked for, so one
        false detection is assumed there: without any, the slope would be zero.
        """
        right = np.nan_to_num(self.right, nan=LEAST_SCORE)
        scores = np.concatenate([right, self.false, [LEAST_SCORE]])
        positive = np.arange(scores.size) < right.size
        weight = np.where(positive, self.n_photographs / right.size, 1.0)
        slope, intercept = fit_sigmoid(scores, positive, weight)
        if not slope > 0:
            cure = "it can't be told from its surroundings; give more or clearer crops"
            raise FolderError(f"held-out crops score no higher than other windows: {cure}")
        return float(slope), float(intercept)

    def figures(self, threshold: float) -> dict[str, float]:
        """The number of crops whose objects are found from a score on, and of false detections."""
        found, false = (int((one >= threshold).sum()) for one in (self.right, self.false))
        shown: dict[str, float] = {"crops": self.right.size, "photographs": self.n_photographs}
        return shown | {"found": found, "false": false}


def with_stages(cascade: Cascade, parts: np.ndarray, scores: np.ndarray, recall: float) -> Cascade:
    """Set a cascade's thresholds so that each stage passes a share of some windows of the object.

    Windows that would be rejected in the end, by scores below `LEAST_SCORE`, don't count. The
    thresholds of the trees' parts have one rank among the windows; of the ranks, it is the highest
    for which a share of the windows reaches all thresholds.

    Parameters
    ----------
    cascade : Cascade
    parts, scores : (n, k) and (features, n)
        Of the windows, as `Cascade.scores_of` gives them.
    recall : float
    """
    found = scores.sum(axis=0) >= LEAST_SCORE
    found |= not found.any()
    so_far, parts = np.cumsum(scores[:, found], axis=0)[:-1], parts[found]
    ranks = parts.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable").min(axis=1)
    rank = int(np.quantile(ranks, 1 - recall, method="lower"))
    first = np.sort(parts, axis=0)[rank].astype(np.float32)
    stages = tuple(float(np.quantile(sums, 1 - recall)) for sums in so_far)
    return replace(cascade, tree_thresholds=first, stage_thresholds=stages)


def train_detector(
    bootstrap: Bootstrap, crops: Sequence[Image], photographs: Sequence[Image], join: Join
) -> tuple[Cascade, HeldOut]:
    """The classifiers of all images with their thresholds, and the scores held out.

    ``join`` makes detections of windows that overlap.
    """
    samples = bootstrap.run(crops, photographs)
    held_out = hold_out(bootstrap, samples, crops, photographs, join)
    parts, scores = held_out.parts, held_out.scores
    return with_stages(bootstrap.train(samples), parts, scores, STAGE_RECALL), held_out


def hold_out(
    bootstrap: Bootstrap,
    samples: Samples,
    crops: Sequence[Image],
    photographs: Sequence[Image],
    join: Join,
) -> HeldOut:
    """Train on two thirds of the crops and photographs at a time and score the last third.

    Crops and photographs are divided in their order, so that neighbours, which may show the same
    scene, stay together. A crop's window is the one that a search would find if it met the object
    as badly as its stride allows.
    """
    found = []
    for k, model in enumerate(list(_cascades_without_a_fold(bootstrap, samples))):
        own, others = _part(crops, k), _part(photographs, k)
        parts, scores = _crop_scores(bootstrap, model, own)
        cascade = with_stages(model, parts, scores, COLLECTING_RECALL)
        detect = partial(_detections, bootstrap.search, cascade, join)
        false = [scores for _, scores in bootstrap.collect(LOOKING, others, detect)]
        right, ratios = _right_scores(bootstrap, cascade, own, join)
        found.append((parts, scores.T, right, ratios, np.concatenate([np.empty(0), *false])))
    parts, scores, right, ratios, wrong = (np.concatenate(one) for one in zip(*found))
    return HeldOut(parts, scores.T, right, ratios, wrong, len(photographs))


def _cascades_without_a_fold(bootstrap: Bootstrap, samples: Samples) -> Iterator[Cascade]:
    """Train without each fold: one after the other, or on the workers of a cluster."""
    fold = np.empty(len(samples.positive), np.int64)
    for chosen in (samples.positive, ~samples.positive):
        source = samples.source[chosen]
        fold[chosen] = _thirds(source.max(initial=0) + 1)[source]
    bootstrap.progress.start("training without a part", N_FOLDS)
    shared = [samples, fold, bootstrap.search.shape, bootstrap.settings]
    for cascade in map_on_workers(_train_without, zip(range(N_FOLDS)), shared=shared, n_jobs=1):
        bootstrap.progress.advance()
        yield cascade


def _train_without(
    samples: Samples, fold: np.ndarray, shape: WindowShape, settings: Mapping[str, Any], k: int
) -> Cascade:
    return training.train_cascade(samples.part(fold != k), shape, settings)


def _thirds(n: int) -> np.ndarray:
    return np.arange(n) * N_FOLDS // max(n, 1)


def _part(images: Sequence[Image], k: int) -> list[Image]:
    return [image for image, part in zip(images, _thirds(len(images))) if part == k]


def _crop_scores(
    bootstrap: Bootstrap, cascade: Cascade, crops: Sequence[Image]
) -> tuple[np.ndarray, np.ndarray]:
    """The scores of the best shifted window of each view of the crops."""
    shape, shift = bootstrap.search.shape, bootstrap.search.stride // 2

    def score(k: int, crop: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        best = []
        for view in bootstrap.views(k, crop):
            parts, scores = cascade.scores_of(training.shifted_vectors(view, shape, shift))
            which = scores.sum(axis=0).argmax()
            best.append((parts[which], scores[:, which]))
        return best

    every = [one for views in bootstrap.collect("scoring crops", crops, score) for one in views]
    parts, scores = zip(*every)
    return np.array(parts), np.stack(scores, axis=1)


def _right_scores(
    bootstrap: Bootstrap, cascade: Cascade, crops: Sequence[Image], join: Join
) -> tuple[np.ndarray, np.ndarray]:
    """The scores of the crops' detections, and the objects' sizes over those found.

    Crops are scaled and moved at random, between two scales and places of the search.
    """
    search = replace(bootstrap.search, padding=MARGIN)
    window_wh = np.array([search.shape.width, search.shape.height])

    def detect(k: int, image: np.ndarray) -> tuple[float, float]:
        rng = np.random.default_rng([bootstrap.settings["random_state"], k])
        crop = training.at_least_the_window(image, search.shape)
        factor = search.scale_factor ** rng.uniform(-0.5, 0.5)
        top, left = rng.integers(0, search.stride, 2).tolist()
        size_wh = np.rint(np.array(crop.shape[1::-1]) * factor).astype(int)
        scaled = resize_image(crop, *size_wh.tolist())
        moved = cv2.copyMakeBorder(scaled, top, 0, left, 0, cv2.BORDER_REPLICATE)
        boxes, scores = _detections(search, cascade, join, k, moved)
        center, half = size_wh / 2 + [left, top], window_wh * search.object_wh / 2 * factor
        wanted = np.concatenate([center - half, center + half])[None]
        found = np.flatnonzero(intersection_over_union(boxes, wanted)[:, 0] >= 0.5)
        if not found.size:
            return np.nan, np.nan
        best = found[scores[found].argmax()]
        return float(scores[best]), float(np.sqrt(area(wanted)[0] / area(boxes[best])[0]))

    found = np.array(list(bootstrap.collect("looking for objects", crops, detect)))
    scores, ratios = found.reshape(-1, 2).T
    return scores, ratios


def _detections(search: Search, cascade: Cascade, join: Join, _: int, image: np.ndarray) -> Boxes:
    """All detections that could be of use."""
    return join(*cascade.search(image, search, LEAST_SCORE))
