"""Detectors to model files and back."""

import os
from typing import Any

import numpy as np

from visualwords.apps.detection.bootstrapping import Round
from visualwords.apps.detection.channels import FEATURES
from visualwords.apps.detection.detector import PedestrianDetector
from visualwords.apps.detection.window import WindowShape
from visualwords.apps.detection.window_model import ChannelModel, WindowModel
from visualwords.apps.detection.window_tables import RaggedTables
from visualwords.apps.pipeline.saving import OBJECT_DETECTOR, library_versions
from visualwords.errors import ModelFileError
from visualwords.model_file import write_model

__all__ = ["restore_detector", "save_detector"]

OF_THE_RUN = ("n_jobs",)  # parameters that do not change the results
RETIRED = ("exact",)  # parameters of older files that are no longer needed


def save_detector(detector: PedestrianDetector, path: str | os.PathLike[str]) -> None:
    """Write a fitted detector: parameters, thresholds, and tables in half precision."""
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
        "linear_threshold": model.linear_threshold,
        "first_threshold": model.first_threshold,
        "confidence": list(detector.confidence_),
        "training": {
            "rounds": [[one.n_negatives, one.n_new] for one in detector.rounds_],
            "skipped": len(detector.skipped_),
        },
        "versions": library_versions(),
    }
    write_model(path, manifest, arrays)


def restore_detector(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> PedestrianDetector:
    """Return the detector that a model file holds."""
    parameters: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in manifest["parameters"].items()
        if name not in RETIRED
    }
    detector = PedestrianDetector(**parameters)
    detector.check_parameters()
    shape = WindowShape(*detector.window)
    columns = {"hog": shape.hog_columns, "census": shape.census_columns}
    channels = {
        name: _channel_model(name, arrays, columns[name]) for name in FEATURES[detector.features]
    }
    detector.model_ = WindowModel(
        channels, float(manifest["linear_threshold"]), float(manifest["first_threshold"])
    )
    slope, intercept = (float(value) for value in manifest["confidence"])
    if not slope > 0:
        raise ModelFileError(f"a confidence that does not grow with the score: slope {slope}")
    detector.confidence_ = slope, intercept
    detector.rounds_ = [Round(*numbers) for numbers in manifest["training"]["rounds"]]
    detector.skipped_ = []
    detector._scanner()  # raises now, not at the first image, if parts do not fit together
    return detector


def _channel_arrays(name: str, learned: ChannelModel) -> dict[str, np.ndarray]:
    return {
        f"{name}/tops": learned.tables.tops.astype(np.uint16),
        f"{name}/cells": learned.tables.cells.astype(np.float16),
        f"{name}/weights": learned.weights,
        f"{name}/constants": np.array([learned.intercept]),
    }


def _channel_model(name: str, arrays: dict[str, np.ndarray], n_columns: int) -> ChannelModel:
    tops, cells, weights, constants = (
        arrays[f"{name}/{part}"] for part in ("tops", "cells", "weights", "constants")
    )
    starts = np.concatenate([[0], np.cumsum(tops.astype(np.int64) + 1)])
    fits = len(tops) == len(weights) == n_columns and starts[-1] == len(cells)
    if not fits or constants.ndim != 1 or not len(constants):
        raise ModelFileError(f"the tables of {name} do not fit the window")
    tables = RaggedTables(starts, cells.astype(np.float32))
    finite = all(np.isfinite(part).all() for part in (tables.cells, weights, constants))
    if not finite:
        raise ModelFileError(f"the tables of {name} hold values that are not numbers")
    return ChannelModel(tables, weights.astype(np.float32), float(constants[0]))
