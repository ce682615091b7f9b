"""From one image to the windows that score high enough: everywhere, or by a cascade of stages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from visualwords.apps.detection.channels import Channel
from visualwords.apps.detection.window_model import WindowModel

__all__ = ["CLASSIFIERS", "Stage", "WindowScanner"]

CLASSIFIERS = ("cascade", "hik", "linear")


@dataclass
class Stage:
    """Trace of one stage of a scan.

    Attributes
    ----------
    name : str
    n_windows : int
        Windows that it scored.
    survivors_yx : (n, 2) int64
        Corners of those that passed.
    scores : (rows, columns) float32 or None
        Of all windows, where it scored all.
    """

    name: str
    n_windows: int
    survivors_yx: np.ndarray
    scores: np.ndarray | None = field(default=None, repr=False)


class WindowScanner:
    """Scores the windows of an image.

    Parameters
    ----------
    channels : list of Channel
    model : WindowModel
    classifier : {"cascade", "hik", "linear"}
        - linear: the linear score of all windows.
        - hik: the HIK score of all windows.
        - cascade: HIK scores of windows whose linear score is high enough.
    """

    def __init__(
        self,
        channels: Sequence[Channel],
        model: WindowModel,
        classifier: str = "cascade",
    ):
        if classifier not in CLASSIFIERS:
            raise ValueError(f"classifier={classifier!r}; choose from {', '.join(CLASSIFIERS)}")
        self.channels = channels
        self.model = model
        self.classifier = classifier
        self.stride: int = channels[0].stride
        self.tables = [channel.arrange(self._of(channel).tables) for channel in channels]

    def scan(
        self, image: np.ndarray, threshold: float, stages: list[Stage] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the windows that reach a threshold.

        Parameters
        ----------
        image : (h, w, 3) or (h, w) uint8
        threshold : float
        stages : list, optional
            The trace of each stage is appended to it.

        Returns
        -------
        corners_yx : (n, 2) int64
        scores : (n,) float32
        """
        trace: list[Stage] = [] if stages is None else stages
        if self.classifier == "cascade":
            return self._cascade(image, threshold, trace)
        parts = []
        for channel, tables in zip(self.channels, self.tables):
            prepared = channel.prepare(image)
            if self.classifier == "linear":
                parts.append(self._linear(channel, prepared))
            else:
                parts.append(channel.table_scores(prepared, tables))
        grid = np.sum(parts, axis=0)
        corners, scores = self._reaching(grid, threshold)
        trace.append(Stage(self.classifier, grid.size, corners, grid))
        return corners, scores

    def _cascade(
        self, image: np.ndarray, threshold: float, trace: list[Stage]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Linear scores everywhere, then each channel's HIK scores of the windows that pass."""
        prepared = self.channels[0].prepare(image)
        corners = self._first(prepared, trace)
        scores = np.zeros(len(corners), np.float32)
        for k, (channel, tables) in enumerate(zip(self.channels, self.tables)):
            n_windows = len(corners)
            if n_windows:
                if k:
                    prepared = channel.prepare(image)
                scores = scores + channel.scores_at(prepared, corners, tables)
            kept = scores >= self._least(k, threshold)
            corners, scores = corners[kept], scores[kept]
            trace.append(Stage(f"HIK of {channel.name}", n_windows, corners))
        return corners, scores

    def _first(self, prepared: Any, trace: list[Stage]) -> np.ndarray:
        """Return the corners of the windows that pass the first channel's linear classifier."""
        channel = self.channels[0]
        grid = self._linear(channel, prepared)
        corners, _ = self._reaching(grid, self.model.linear_threshold)
        trace.append(Stage(f"linear {channel.name}", grid.size, corners, grid))
        return corners

    def _least(self, k: int, threshold: float) -> float:
        """Return the threshold of the sum of the first k + 1 channels' HIK scores."""
        return threshold if k == len(self.channels) - 1 else self.model.first_threshold

    def _reaching(self, grid: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
        rows, columns = np.nonzero(grid >= threshold)
        corners = np.stack([rows, columns], axis=1) * self.stride
        return corners, grid[rows, columns]

    def _linear(self, channel: Channel, prepared: Any) -> np.ndarray:
        learned = self._of(channel)
        return channel.linear_scores(prepared, learned.weights) + np.float32(learned.intercept)

    def _of(self, channel: Channel) -> Any:
        return self.model.channels[channel.name]
