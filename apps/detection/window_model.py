"""Everything a detector has learned about windows."""

from dataclasses import dataclass

import numpy as np

from visualwords.apps.detection.window_tables import RaggedTables

__all__ = ["ChannelModel", "WindowModel"]


@dataclass(frozen=True)
class ChannelModel:
    """The classifiers of one descriptor of windows.

    Attributes
    ----------
    tables : RaggedTables
        Of the HIK classifier.
    weights, intercept : (d,) float32 and float
        Of the linear classifier.
    """

    tables: RaggedTables
    weights: np.ndarray
    intercept: float


@dataclass(frozen=True)
class WindowModel:
    """Classifiers of windows and the thresholds between the stages of the cascade.

    Attributes
    ----------
    channels : dict of name → ChannelModel
        A window's HIK score is the sum over the channels, its linear score too.
    linear_threshold : float
        Lowest linear score of the first channel that passes the cascade.
    first_threshold : float
        Lowest HIK score of the first of two channels that passes it.
    """

    channels: dict[str, ChannelModel]
    linear_threshold: float
    first_threshold: float
