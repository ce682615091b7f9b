"""Everything a detector has learned about windows."""

from dataclasses import dataclass, field

import numpy as np

from visualwords.apps.detection.window_tables import RaggedTables
from visualwords.classifiers.boosted_trees import BoostedTrees

__all__ = ["LEAST_SCORE", "ChannelModel", "Round", "WindowModel"]

LEAST_SCORE = -0.5  # lowest useful HIK score of a window, whatever the threshold


@dataclass(frozen=True)
class ChannelModel:
    """The classifiers of one descriptor of windows.

    Attributes
    ----------
    tables : RaggedTables or BoostedTrees
        Of the HIK classifier; trees for aggregated channel features.
    weights, intercept : (d,) float32 and float
        Of the linear classifier; without any weights where there is none, as beside trees.
    """

    tables: RaggedTables | BoostedTrees
    weights: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))
    intercept: float = 0.0


@dataclass(frozen=True)
class WindowModel:
    """Classifiers of windows and the thresholds between the stages of the cascade.

    Attributes
    ----------
    channels : dict of name → ChannelModel
        A window's score is the sum over the channels' tables and trees, its linear score the sum
        over the linear classifiers.
    first_thresholds : (k,) float32
        Lowest scores that pass the first stage: sums after each part of the trees, or one linear
        score of the first channel where there are no trees.
    stage_thresholds : tuple of float
        Lowest sum of the scores of all channels so far that passes each channel but the last.
    """

    channels: dict[str, ChannelModel]
    first_thresholds: np.ndarray
    stage_thresholds: tuple[float, ...]


@dataclass(frozen=True)
class Round:
    """Windows of one round of training."""

    n_negatives: int
    n_new: int
