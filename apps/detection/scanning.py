"""From one image to the windows that score high enough: everywhere, or by a cascade of stages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from visualwords.apps.detection.acf_windows import AcfWindows
from visualwords.apps.detection.channels import Channel
from visualwords.apps.detection.regions import regions
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
        - linear: the linear score of all windows, by the channels that have one.
        - hik: the score of all windows by tables and trees.
        - cascade: the same score, channel after channel, of the windows that are still in. The
          first stage are the trees, or the first channel's linear classifier.
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
        if classifier == "linear" and not any(self._of(own).weights.size for own in channels):
            raise ValueError(
                "features='acf' have no linear classifier; choose cascade or hik, or other features"
            )
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
            if self.classifier == "hik":
                parts.append(channel.table_scores(channel.prepare(image), tables))
            elif self._of(channel).weights.size:
                parts.append(self._linear(channel, channel.prepare(image)))
        grid = np.sum(parts, axis=0)
        corners, scores = self._reaching(grid, threshold)
        trace.append(Stage(self.classifier, grid.size, corners, grid))
        return corners, scores

    def _cascade(
        self, image: np.ndarray, threshold: float, trace: list[Stage]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The first stage everywhere, then each channel's scores of the windows that pass."""
        least = [*self.model.stage_thresholds, threshold]
        prepared = self.channels[0].prepare(image)
        is_first = isinstance(self.channels[0], AcfWindows)
        if is_first:
            corners, scores = self._trees(prepared, least[0], trace)
        else:
            corners = self._first(prepared, trace)
            scores = np.zeros(len(corners), np.float32)
        for k in range(is_first, len(self.channels)):
            channel, n_windows = self.channels[k], len(corners)
            if n_windows and k:
                scores = scores + self._scores_in_regions(k, image, corners)
            elif n_windows:
                scores = channel.scores_at(prepared, corners, self.tables[k])
            kept = scores >= least[k]
            corners, scores = corners[kept], scores[kept]
            kind = "trees" if isinstance(channel, AcfWindows) else "HIK"
            trace.append(Stage(f"{kind} of {channel.name}", n_windows, corners))
        return corners, scores

    def _trees(
        self, prepared: np.ndarray, least: float, trace: list[Stage]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return corners and scores of the windows that no tree rejects."""
        channel: Any = self.channels[0]
        grid = channel.table_scores(prepared, self.tables[0], self.model.first_thresholds)
        corners, scores = self._reaching(grid, least)
        trace.append(Stage(f"trees of {channel.name}", grid.size, corners, grid))
        return corners, scores

    def _first(self, prepared: Any, trace: list[Stage]) -> np.ndarray:
        """Return the corners of the windows that pass the first channel's linear classifier."""
        channel = self.channels[0]
        grid = self._linear(channel, prepared)
        corners, _ = self._reaching(grid, self.model.first_thresholds[0])
        trace.append(Stage(f"linear {channel.name}", grid.size, corners, grid))
        return corners

    def _scores_in_regions(self, k: int, image: np.ndarray, corners_yx: np.ndarray) -> np.ndarray:
        """Return the k-th channel's scores of windows, looking only at pixels around them."""
        channel, scores = self.channels[k], np.empty(len(corners_yx), np.float32)
        for region, chosen in regions(corners_yx, channel.shape, self.stride, channel.margin):
            prepared = channel.prepare(np.ascontiguousarray(image[region]))
            start = np.array([region[0].start, region[1].start])
            scores[chosen] = channel.scores_at(prepared, corners_yx[chosen] - start, self.tables[k])
        return scores

    def _reaching(self, grid: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
        rows, columns = np.nonzero(grid >= threshold)
        corners = np.stack([rows, columns], axis=1) * self.stride
        return corners, grid[rows, columns]

    def _linear(self, channel: Channel, prepared: Any) -> np.ndarray:
        learned = self._of(channel)
        return channel.linear_scores(prepared, learned.weights) + np.float32(learned.intercept)

    def _of(self, channel: Channel) -> Any:
        return self.model.channels[channel.name]
