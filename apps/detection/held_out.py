"""Scores of windows that a classifier was not trained on: for thresholds and for confidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from visualwords.apps.detection.bootstrapping import Bootstrap, Image, collect
from visualwords.apps.detection.detector_training import (
    LEAST_SCORE,
    Learning,
    Samples,
    score_vectors,
    shifted_vectors,
    train_windows,
    with_stages,
)
from visualwords.apps.detection.scanning import WindowScanner
from visualwords.apps.detection.window_model import WindowModel
from visualwords.boxes import suppress
from visualwords.classifiers.calibration import fit_sigmoids
from visualwords.errors import FolderError
from visualwords.workers import map_on_workers

__all__ = ["HeldOut", "fit_confidence", "hold_out"]

N_FOLDS = 3
STAGE_RECALL = 0.998  # of the held-out crops, while false detections are collected


@dataclass(frozen=True)
class HeldOut:
    """Scores by classifiers of the other folds.

    Attributes
    ----------
    first : (n, k)
    tables : (n_channels, n)
        Of the crops' windows, as `score_vectors` gives them.
    false : (m,)
        HIK scores of detections in photographs without the object.
    n_photographs : int
    """

    first: np.ndarray
    tables: np.ndarray
    false: np.ndarray
    n_photographs: int


def hold_out(
    bootstrap: Bootstrap,
    samples: Samples,
    crops: Sequence[Image],
    photographs: Sequence[Image],
    overlap: float,
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
        false = _false_scores(bootstrap, scanner, _part(photographs, k), overlap)
        parts.append((*scores, false))
    first, tables, false = zip(*parts)
    return HeldOut(np.vstack(first), np.hstack(tables), np.concatenate(false), len(photographs))


def fit_confidence(held_out: HeldOut) -> tuple[float, float]:
    """Return slope and intercept of the confidence 1 / (1 + exp(−(slope · score + intercept))).

    It estimates the probability that a detection with this score is right in photographs that show
    one object on average. There always are windows just below what was looked for, so one false
    detection is assumed there: without any, the slope would be zero.
    """
    right = held_out.tables.sum(axis=0)
    false = np.append(held_out.false, LEAST_SCORE)
    scores = np.concatenate([right, false])
    codes = np.repeat([1, 0], [right.size, false.size])
    weight = np.ones(scores.size)
    weight[: right.size] = held_out.n_photographs / right.size
    slope, intercept = fit_sigmoids(scores, codes, weight)[0]
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
    """Return the scores of each crop's best shifted window, as `score_vectors` does."""
    search, channels = bootstrap.search, bootstrap.channels

    def score(_: int, crop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        vectors = shifted_vectors(crop, search.shape, channels, search.stride // 2)
        first, tables = score_vectors(model, vectors, channels)
        best = tables.sum(axis=0).argmax()
        return first[best], tables[:, best]

    scores = list(collect("scoring crops", crops, score, bootstrap.n_jobs, bootstrap.progress))
    first, tables = zip(*scores)
    return np.array(first), np.stack(tables, axis=1)


def _false_scores(
    bootstrap: Bootstrap, scanner: WindowScanner, photographs: Sequence[Image], overlap: float
) -> np.ndarray:
    """Return the scores of the detections in photographs."""
    search = bootstrap.search

    def detect(_: int, image: np.ndarray) -> np.ndarray:
        boxes, scores = [np.empty((0, 4))], [np.empty(0)]
        for level in search.levels(image):
            corners, found = scanner.scan(level.image, LEAST_SCORE)
            boxes.append(search.boxes(level, corners))
            scores.append(found)
        every = np.concatenate(scores)
        return every[suppress(np.vstack(boxes), every, overlap)]

    stage = "looking for false detections"
    found = collect(stage, photographs, detect, bootstrap.n_jobs, bootstrap.progress)
    return np.concatenate([np.empty(0), *found])
