"""Everything a detector has learned about windows."""

from dataclasses import dataclass

import numpy as np

from visualwords.apps.detection._bounds import bound_tables
from visualwords.apps.detection.window_tables import RaggedTables

__all__ = ["ChannelModel", "WindowModel", "make_bound"]

HIGHEST = {"hog": 63, "census": 352}  # levels that a column can have


@dataclass(frozen=True)
class ChannelModel:
    """What one feature says about a window.

    Attributes
    ----------
    tables : RaggedTables
        Of the HIK classifier.
    weights, intercept : (d,) float32 and float
        Of the linear classifier.
    slopes, height : (d,) float32 and float
        ``slopes · levels + height`` is never below the sum of the table look-ups.
    """

    tables: RaggedTables
    weights: np.ndarray
    intercept: float
    slopes: np.ndarray
    height: float


@dataclass(frozen=True)
class WindowModel:
    """Classifiers of windows and the thresholds between the stages of the cascade.

    Attributes
    ----------
    channels : dict of name → ChannelModel
        A window's HIK score is the sum over the channels, its linear score too.
    linear_threshold : float
        Least linear score of the first channel that the cascade lets pass.
    first_threshold : float
        Least HIK score of the first of two channels that it lets pass.
    """

    channels: dict[str, ChannelModel]
    linear_threshold: float
    first_threshold: float


def make_bound(tables: RaggedTables, means: np.ndarray, highest: int) -> tuple[np.ndarray, float]:
    """Return slopes and height of a linear function that is never below the tables' sum.

    Parameters
    ----------
    tables : RaggedTables
    means : (d,)
        Typical levels of windows to be rejected: where the bound should be low.
    highest : int
        Highest level that a column can have.

    Examples
    --------
    >>> tables = RaggedTables(np.array([0, 3]), np.array([0, 1, 0], np.float32))
    >>> make_bound(tables, np.array([0.5]), highest=9)
    (array([1.], dtype=float32), 0.0)
    """
    slopes = np.zeros(len(means), np.float32)
    heights = np.zeros(len(means), np.float64)
    means = np.asarray(means, np.float32)
    bound_tables(tables.starts, tables.cells, means, highest, slopes, heights)
    return slopes, float(heights.sum())
