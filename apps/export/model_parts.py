"""What graphs take from a fitted classifier: the only file that reads its attributes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from visualwords.apps.pipeline.channel_encoder import LENGTH, UNIT
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.pipeline.recipe import Channel
from visualwords.apps.pipeline.saving import golden_images
from visualwords.codebook import BagOfWords, FisherVectors, SecondOrderPooling
from visualwords.features.extractor import Extractor

__all__ = ["LENGTH", "UNIT", "ChannelParts", "ModelParts", "golden_images", "parts_of"]


@dataclass(frozen=True)
class ChannelParts:
    """One channel: its settings, its extractor, and what it has learned.

    Attributes
    ----------
    channel : Channel
    extractor : Extractor
    encoder : what turns patches into numbers; None for a vector, and where there were no patches
    scale : float
        What the numbers of kernels are divided by.
    """

    channel: Channel
    extractor: Extractor
    encoder: BagOfWords | FisherVectors | SecondOrderPooling | None
    scale: float


@dataclass(frozen=True)
class ModelParts:
    """Everything between an image and its label.

    Attributes
    ----------
    recipe : str
        Its name.
    max_side, min_side : int or None
    channels : list of ChannelParts
    classifier : Any
    classes : (n,) array of str
    rejected : str
        The label of an image that is none of the classes.
    calibration : (slope, offsets) or None
    costs : (n, n) float64 or None
    thresholds : (n,) float64, NaN for a class that has none
    unknown : float or None
    """

    recipe: str
    max_side: int | None
    min_side: int | None
    channels: list[ChannelParts]
    classifier: Any
    classes: np.ndarray
    rejected: str
    calibration: tuple[float, np.ndarray] | None
    costs: np.ndarray | None
    thresholds: np.ndarray
    unknown: float | None


def parts_of(model: ImageClassifier) -> ModelParts:
    """Take a fitted classifier apart."""
    recipe, calibration, decision = model.recipe_, model.calibration_, model.decision_
    return ModelParts(
        recipe.name,
        recipe.max_side,
        recipe.min_side,
        [ChannelParts(e.channel, e.channel.build(), e.stage, e.scale) for e in model.encoders_],
        model.classifier_,
        model.classes_,
        str(decision.rejected),
        None if calibration is None else (calibration.slope, calibration.offsets),
        decision.costs,
        decision.thresholds,
        decision.unknown,
    )
