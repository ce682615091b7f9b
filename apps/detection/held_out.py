"""Scores of windows that a classifier was not trained on: for thresholds and for confidence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np

from visualwords.apps.detection.bootstrapping import Bootstrap, Image, collect
from visualwords.apps.detection.detector_training import (
    Learning,
    Samples,
    at_least_the_window,
    score_vectors,
    shifted_vectors,
    train_windows,
    with_stages,
)
from visualwords.apps.detection.levels import Search
from visualwords.apps.detection.scanning import WindowScanner
from visualwords.apps.detection.window import MARGIN
from visualwords.apps.detection.window_model import LEAST_SCORE, WindowModel
from visualwords.boxes import area, intersection_over_union
from visualwords.classifiers.calibration import fit_sigmoid
from visualwords.errors import FolderError
from visualwords.features.pixels import resize_image
from visualwords.parallel import map_on_workers

__all__ = ["HeldOut", "fit_confidence", "hold_out"]

N_FOLDS = 3
STAGE_RECALL = 0.998  # of the held-out crops, while detections are collected

Boxes = tuple[np.ndarray, np.ndarray]  # (n, 4) and their scores (n,)
Join = Callable[[np.ndarray, np.ndarray], Boxes]  # of the boxes of windows to detections


@dataclass(frozen=True)
class HeldOut:
    """Scores by classifiers of the other folds.

    Attributes
    ----------
    first : (n, k)
    tables : (n_channels, n)
        Of the crops' windows, as `score_vectors` gives them.
    right : (n,)
        Scores of the crops' detections, the lowest useful one where there is none.
    box_scale : float
        Median ratio of objects' to detections' sizes.
    false : (m,)
        Scores of detections in photographs without the object.
    n_photographs : int
    """

    first: np.ndarray
    tables: np.ndarray
    right: np.ndarray
    box_scale: float
    false: np.ndarray
    n_photographs: int


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
    parts = []
    for k, model in enumerate(_models_without_a_fold(bootstrap, samples)):
        scores = _crop_scores(bootstrap, model, _part(crops, k))
        scanner = WindowScanner(bootstrap.channels, with_stages(model, *scores, STAGE_RECALL))
        right, ratios = _right_scores(bootstrap, scanner, _part(crops, k), join)
        false = _false_scores(bootstrap, scanner, _part(photographs, k), join)
        parts.append((*scores, right, ratios, false))
    first, tables, right, ratios, false = zip(*parts)
    ratio = np.concatenate(ratios)
    return HeldOut(
        np.vstack(first),
        np.hstack(tables),
        np.concatenate(right),
        float(np.median(ratio)) if ratio.size else 1.0,
        np.concatenate(false),
        len(photographs),
    )


def fit_confidence(held_out: HeldOut) -> tuple[float, float]:
    """Return slope and intercept of the confidence 1 / (1 + exp(−(slope · score + intercept))).

    It estimates the probability that a detection with this score is right in photographs that show
    one object on average. There always are windows just below what was looked for, so one false
    detection is assumed there: without any, the slope would be zero.
    """
    right = held_out.right
    false = np.append(held_out.false, LEAST_SCORE)
    scores = np.concatenate([right, false])
    positive = np.arange(scores.size) < right.size
    weight = np.ones(scores.size)
    weight[: right.size] = held_out.n_photographs / right.size
    slope, intercept = fit_sigmoid(scores, positive, weight)
    if not slope > 0:
        raise FolderError(
            "held-out crops score no higher than windows without the object: it can't be told from "
            "its surroundings; give more or clearer crops, or other descriptors (--features)"
        )
    return float(slope), float(intercept)


def _models_without_a_fold(bootstrap: Bootstrap, samples: Samples) -> list[WindowModel]:
    """Train on each fold: one after the other, or on the workers of a cluster."""
    shared = [samples, _folds(samples), bootstrap.channels, bootstrap.learning]
    bootstrap.progress.start("training without a part", N_FOLDS)
    models = []
    for model in map_on_workers(_train_without, zip(range(N_FOLDS)), shared=shared, n_jobs=1):
        bootstrap.progress.advance()
        models.append(model)
    return models


def _train_without(
    samples: Samples, fold: np.ndarray, channels: Sequence[Any], learning: Learning, k: int
) -> WindowModel:
    return train_windows(samples.part(fold != k), channels, learning, linear=False)


def _folds(samples: Samples) -> np.ndarray:
    fold = np.empty(len(samples.positive), np.int64)
    for chosen in (samples.positive, ~samples.positive):
        source = samples.source[chosen]
        fold[chosen] = _thirds(source.max(initial=0) + 1)[source]
    return fold


def _thirds(n: int) -> np.ndarray:
    return np.arange(n) * N_FOLDS // max(n, 1)


def _part(images: Sequence[Image], k: int) -> list[Image]:
    return [image for image, part in zip(images, _thirds(len(images))) if part == k]


def _crop_scores(
    bootstrap: Bootstrap, model: WindowModel, crops: Sequence[Image]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the best shifted window of each view of the crops."""
    search, channels = bootstrap.search, bootstrap.channels

    def score(k: int, crop: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        scores = []
        for view in bootstrap.views(k, crop):
            vectors = shifted_vectors(view, search.shape, channels, search.stride // 2)
            first, tables = score_vectors(model, vectors, channels)
            best = tables.sum(axis=0).argmax()
            scores.append((first[best], tables[:, best]))
        return scores

    views = collect("scoring crops", crops, score, bootstrap.n_jobs, bootstrap.progress)
    first, tables = zip(*(scores for crop in views for scores in crop))
    return np.array(first), np.stack(tables, axis=1)


def _right_scores(
    bootstrap: Bootstrap, scanner: WindowScanner, crops: Sequence[Image], join: Join
) -> Boxes:
    """Return the scores of the crops' detections, and the objects' sizes over those found.

    Crops are scaled and moved at random, between two scales and places of the search.
    """
    search = replace(bootstrap.search, padding=MARGIN)
    window_wh = np.array([search.shape.width, search.shape.height])

    def detect(k: int, image: np.ndarray) -> tuple[float, float]:
        rng = np.random.default_rng([bootstrap.learning.random_state, k])
        crop = at_least_the_window(image, search.shape)
        factor = search.scale_factor ** rng.uniform(-0.5, 0.5)
        top, left = rng.integers(0, search.stride, 2).tolist()
        size_wh = np.rint(np.array(crop.shape[1::-1]) * factor).astype(int)
        scaled = resize_image(crop, *size_wh.tolist())
        moved = cv2.copyMakeBorder(scaled, top, 0, left, 0, cv2.BORDER_REPLICATE)
        boxes, scores = _detections(search, scanner, moved, join)
        center, half = size_wh / 2 + [left, top], window_wh * search.object_wh / 2 * factor
        wanted = np.concatenate([center - half, center + half])[None]
        found = np.flatnonzero(intersection_over_union(boxes, wanted)[:, 0] >= 0.5)
        if not found.size:
            return LEAST_SCORE, np.nan
        best = found[scores[found].argmax()]
        return float(scores[best]), float(np.sqrt(area(wanted)[0] / area(boxes[best])[0]))

    stage = "looking for objects"
    found = np.array(list(collect(stage, crops, detect, bootstrap.n_jobs, bootstrap.progress)))
    scores, ratios = found.reshape(-1, 2).T
    return scores, ratios[np.isfinite(ratios)]


def _false_scores(
    bootstrap: Bootstrap, scanner: WindowScanner, photographs: Sequence[Image], join: Join
) -> np.ndarray:
    """Return the scores of the detections in photographs."""

    def detect(_: int, image: np.ndarray) -> np.ndarray:
        return _detections(bootstrap.search, scanner, image, join)[1]

    stage = "looking for false detections"
    found = collect(stage, photographs, detect, bootstrap.n_jobs, bootstrap.progress)
    return np.concatenate([np.empty(0), *found])


def _detections(search: Search, scanner: WindowScanner, image: np.ndarray, join: Join) -> Boxes:
    """Return all detections that could be of use."""
    boxes, scores = [np.empty((0, 4))], [np.empty(0)]
    for level in search.levels(image):
        corners, found = scanner.scan(level.image, LEAST_SCORE)
        boxes.append(search.boxes(level, corners))
        scores.append(found)
    return join(np.vstack(boxes), np.concatenate(scores))
