"""The descriptors of windows, with one interface."""

from typing import Any, Protocol

import numpy as np

from visualwords.apps.detection.acf_windows import AcfWindows
from visualwords.apps.detection.census_windows import CensusWindows
from visualwords.apps.detection.cosine_windows import CosineWindows
from visualwords.apps.detection.hog_windows import HogWindows
from visualwords.apps.detection.window import WindowShape
from visualwords.apps.detection.window_tables import RaggedTables

__all__ = ["FEATURES", "Channel", "make_channels"]

FEATURES = {
    "all": ("acf", "census", "hog", "cosines"),  # the order of the cascade
    "quick": ("acf", "census", "hog"),
    "both": ("hog", "census"),
    "hog": ("hog",),
    "census": ("census",),
    "acf": ("acf",),
}


class Channel(Protocol):
    """A descriptor of all windows at multiples of a stride.

    ``prepare(image)`` does what windows share; all other methods take its result. Corners are
    (y, x) in pixels; ``weights`` are one number a column; tables are what ``arrange`` makes;
    ``margin`` pixels around a window affect its descriptor.
    """

    name: str
    n_columns: int
    margin: int
    stride: int
    shape: WindowShape

    def prepare(self, image: np.ndarray) -> Any:
        """Do the work that all windows of an image share."""

    def vectors(self, prepared: Any, corners_yx: np.ndarray) -> np.ndarray:
        """Return the levels of some windows, (n, n_columns) unsigned."""

    def arrange(self, tables: RaggedTables) -> Any:
        """Return tables in the form that the methods below take."""

    def scores_at(self, prepared: Any, corners_yx: np.ndarray, tables: Any) -> np.ndarray:
        """Return the sums of look-ups of windows at multiples of the stride, (n,) float32."""

    def linear_scores(self, prepared: Any, weights: np.ndarray) -> np.ndarray:
        """Return weights · levels of all windows, (rows, columns) float32."""

    def table_scores(self, prepared: Any, tables: Any) -> np.ndarray:
        """Return the sums of look-ups of all windows, (rows, columns) float32."""


def make_channels(features: str, shape: WindowShape, stride: int) -> list[Channel]:
    """Return the channels of one of `FEATURES`.

    Examples
    --------
    >>> [channel.n_columns for channel in make_channels("both", WindowShape(64, 128), 8)]
    [3780, 6144]
    """
    if features not in FEATURES:
        raise ValueError(f"features={features!r}; choose from {', '.join(FEATURES)}")
    if stride != 4 and (stride < 8 or stride % 8):
        raise ValueError(f"stride={stride}; it must be 4 or a multiple of 8")
    kinds: list[Any] = [AcfWindows, CensusWindows, HogWindows, CosineWindows]
    made = {kind.name: kind for kind in kinds}
    return [made[name](shape, stride) for name in FEATURES[features]]
