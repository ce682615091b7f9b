"""Detectors to model files and back."""

import os
from typing import Any

import numpy as np

from visualwords.apps.detection.channels import FEATURES
from visualwords.apps.detection.detector import PedestrianDetector
from visualwords.apps.detection.window import WindowShape
from visualwords.apps.detection.window_model import ChannelModel, Round, WindowModel
from visualwords.apps.detection.window_tables import RaggedTables
from visualwords.apps.pipeline.loading import OBJECT_DETECTOR
from visualwords.classifiers.boosted_trees import BoostedTrees, column_type
from visualwords.errors import ModelFileError
from visualwords.model_file import write_model

__all__ = ["restore_detector", "save_detector"]

OF_THE_RUN = ("n_jobs",)  # parameters that do not change the results
TREE_LEAVES = [2**depth for depth in range(1, 9)]
TREES = ("acf", "cosines")
RETIRED = ("exact",)  # parameters of older files that are no longer needed
BEFORE = {"fusion": 0.0}  # what older files don't say


def save_detector(detector: PedestrianDetector, path: str | os.PathLike[str]) -> None:
    """Write a fitted detector: parameters, thresholds, and tables in half precision."""
    from visualwords.apps.pipeline.saving import library_versions

    parameters = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in detector.get_params().items()
        if name not in OF_THE_RUN
    }
    model = detector.model_
    arrays: dict[str, np.ndarray] = {}
    for name, learned in model.channels.items():
        arrays |= _channel_arrays(name, learned)
    manifest = {
        "kind": OBJECT_DETECTOR,
        "parameters": parameters,
        "first_thresholds": model.first_thresholds.tolist(),
        "stage_thresholds": list(model.stage_thresholds),
        "confidence": list(detector.confidence_),
        "box_scale": detector.box_scale_,
        "training": {
            "rounds": [[one.n_negatives, one.n_new] for one in detector.rounds_],
            "skipped": len(detector.skipped_),
        },
        "versions": library_versions(),
    }
    write_model(path, manifest, arrays)


def restore_detector(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> PedestrianDetector:
    """Return the detector that a model file holds."""
    parameters: dict[str, Any] = BEFORE | {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in manifest["parameters"].items()
        if name not in RETIRED
    }
    if parameters.get("features") == "all" and "cosines/leaves" not in arrays:
        parameters["features"] = "quick"  # files of before there were any
    detector = PedestrianDetector(**parameters)
    detector.check_parameters()
    shape = WindowShape(*detector.window)
    names = FEATURES[detector.features]
    channels = {name: _channel_model(name, arrays, shape) for name in names}
    first, stages = _thresholds(manifest)
    if not first or len(stages) < len(names) - 1:
        raise ModelFileError(f"{len(stages)} thresholds for {len(names)} descriptors")
    thresholds = np.array(first, np.float32)
    detector.model_ = WindowModel(channels, thresholds, tuple(stages[: len(names) - 1]))
    slope, intercept = (float(value) for value in manifest["confidence"])
    if not slope > 0:
        raise ModelFileError(f"a confidence that does not grow with the score: slope {slope}")
    detector.confidence_ = slope, intercept
    detector.box_scale_ = float(manifest.get("box_scale", 1.0))
    if not 0.1 <= detector.box_scale_ <= 10:
        raise ModelFileError(f"boxes {detector.box_scale_} times as large as found")
    detector.rounds_ = [Round(*numbers) for numbers in manifest["training"]["rounds"]]
    detector.skipped_ = []
    detector._scanner()  # raises now, not at the first image, if parts do not fit together
    return detector


def _thresholds(manifest: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Thresholds of the first and the other stages; older files have two by other names."""
    if "stage_thresholds" not in manifest:
        return [float(manifest["linear_threshold"])], [float(manifest["first_threshold"])]
    first, stages = manifest["first_thresholds"], manifest["stage_thresholds"]
    return [float(value) for value in first], [float(value) for value in stages]


def _channel_arrays(name: str, learned: ChannelModel) -> dict[str, np.ndarray]:
    tables = learned.tables
    if isinstance(tables, BoostedTrees):
        return {
            f"{name}/features": tables.features,
            f"{name}/values": tables.values,
            f"{name}/leaves": tables.leaves.astype(np.float16),
        }
    return {
        f"{name}/tops": tables.tops.astype(np.uint16),
        f"{name}/cells": tables.cells.astype(np.float16),
        f"{name}/weights": learned.weights,
        f"{name}/constants": np.array([learned.intercept]),
    }


def _channel_model(name: str, arrays: dict[str, np.ndarray], shape: WindowShape) -> ChannelModel:
    n_columns = {
        "acf": shape.acf_columns,
        "census": shape.census_columns,
        "hog": shape.hog_columns,
        "cosines": shape.cosine_columns,
    }[name]
    if name in TREES:
        return ChannelModel(_trees(name, arrays, n_columns))
    tops, cells, weights, constants = (
        arrays[f"{name}/{part}"] for part in ("tops", "cells", "weights", "constants")
    )
    starts = np.concatenate([[0], np.cumsum(tops.astype(np.int64) + 1)])
    fits = len(tops) == len(weights) == n_columns and starts[-1] == len(cells)
    if not fits or constants.ndim != 1 or not len(constants):
        raise ModelFileError(f"the tables of {name} do not fit the window")
    tables = RaggedTables(starts, cells.astype(np.float32))
    _check_finite(name, tables.cells, weights, constants)
    return ChannelModel(tables, weights.astype(np.float32), float(constants[0]))


def _trees(name: str, arrays: dict[str, np.ndarray], n_columns: int) -> BoostedTrees:
    features, values, leaves = (
        arrays[f"{name}/{part}"] for part in ("features", "values", "leaves")
    )
    n, n_leaves = leaves.shape if leaves.ndim == 2 else (0, 0)
    fits = features.shape == values.shape == (n, n_leaves - 1) and n
    if not fits or n_leaves not in TREE_LEAVES or features.max() >= n_columns or features.min() < 0:
        raise ModelFileError(f"the trees of {name} do not fit the window")
    _check_finite(name, leaves)
    columns = features.astype(column_type(n_columns))
    return BoostedTrees(columns, values.astype(np.uint8), leaves.astype(np.float32))


def _check_finite(name: str, *parts: np.ndarray) -> None:
    if not all(np.isfinite(part).all() for part in parts):
        raise ModelFileError(f"the tables of {name} hold values that are not numbers")
