"""What graphs take from a fitted classifier: the only file that reads its attributes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.encoder import LENGTH, UNIT
from visualwords.apps.pipeline.model_io import golden_images
from visualwords.codebook import BagOfWords, FisherVectors, SecondOrderPooling
from visualwords.features.extractor import Extractor

__all__ = [
    "LENGTH",
    "UNIT",
    "ChannelParts",
    "ModelParts",
    "golden_images",
    "parts_of",
]


@dataclass(frozen=True)
class ChannelParts:
    """One channel: its settings, its extractor, and what it has learned.

    Attributes
    ----------
    name : str
        Of the extractor.
    extractor : Extractor
    has_patches : bool
        Whether patches are encoded, not one vector.
    encoder : what turns patches into numbers; None for a vector, and where there were no patches
    root : bool
        Whether descriptors become their square roots first.
    power : float or None
        Of the shares of counts; None: numbers stay as they are.
    is_linear : bool
        Whether rows are signed bytes.
    weight, scale : float
        Numbers of kernels are multiplied by the one and divided by the other.
    """

    name: str
    extractor: Extractor
    has_patches: bool
    encoder: BagOfWords | FisherVectors | SecondOrderPooling | None
    root: bool
    power: float | None
    is_linear: bool
    weight: float
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
        [_channel_parts(encoder) for encoder in model.encoders_],
        model.classifier_,
        model.classes_,
        str(decision.rejected),
        None if calibration is None else (calibration.slope, calibration.offsets),
        decision.costs,
        decision.thresholds,
        decision.unknown,
    )


def _channel_parts(encoder: Any) -> ChannelParts:
    channel = encoder.channel
    return ChannelParts(
        channel.extractor,
        channel.build(),
        channel.learns,
        encoder.codebook,
        channel.fisher is not None and channel.fisher.root,
        channel.exponent,
        channel.linear,
        float(channel.weight),
        float(encoder.scale),
    )
