"""Windows of an image in which words are counted, and how their histograms become comparable."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, lru_cache
from numbers import Integral
from typing import Any

import numpy as np

from visualwords.compiled import njit
from visualwords.estimator import Estimator
from visualwords.features.local_features import as_windows, pyramid_windows

_NAMED_GRIDS = {1: [(1, 1)], 8: [(1, 1), (2, 2), (3, 1)]}  # 8: image, quarters, horizontal strips
NORMS = (None, "l1", "l2")
SCOPES = ("window", "level", "image")


@dataclass(eq=False, repr=False)
class SpatialPyramid(Estimator):
    """Levels of windows in the unit square, and the counting of words in them.

    A window holds the patches whose centre has x0 ≤ x < x1 and y0 ≤ y < y1, where 1 counts as
    inside of windows that end at 1. The edges of all windows cut the image into cells; a patch is
    counted once, in its cell, and windows are sums of cells.

    Parameters
    ----------
    windows : 31, 21, 8, 1, list of (rows, columns), list of arrays, or (n, 4) array
        - 31: the image; 2×2 windows and one in the middle; 4×4 windows and 3×3 between them
          (1 + 5 + 25, as libHIK).
        - 21: the image, 2×2 and 4×4 windows [1]_.
        - 8: the image, 2×2 windows, 3 horizontal strips.
        - a list of grids, one a level: ``[(1, 1), (3, 1)]`` is the image and 3 strips.
        - an array of rows x0, y0, x1, y1 is one level; a list of such arrays has several.
    weights : sequence of one number a level, optional, keyword only
        Factors of the levels' histograms; 1 by default.

    Attributes
    ----------
    boxes : (n_windows, 4) float64
        x0, y0, x1, y1 of all windows, level after level.
    level_of_window : (n_windows,) int64
    window_weights : (n_windows,) float32

    Notes
    -----
    Deviations from the paper: [1]_ weights levels by 1/4, 1/4, 1/2 for its kernel; here the
    default weights are equal and ``weights=(0.25, 0.25, 0.5)`` gives that choice.

    References
    ----------
    .. [1] S. Lazebnik, C. Schmid, J. Ponce: Beyond bags of features: spatial pyramid matching for
       recognizing natural scene categories, CVPR 2006.

    Examples
    --------
    >>> import numpy as np
    >>> pyramid = SpatialPyramid([(1, 1), (1, 2)])
    >>> positions = np.array([[0.2, 0.5], [0.9, 0.5], [0.9, 0.1]], np.float32)
    >>> pyramid.count(np.array([0, 1, 1]), positions, n_words=2)[0].tolist()
    [[1, 2], [1, 0], [0, 2]]
    """

    windows: Any = 31
    _: KW_ONLY
    weights: Sequence[float] | None = None

    def set_params(self, **params: Any) -> "SpatialPyramid":
        """Change parameters, and forget what was computed from the old ones."""
        super().set_params(**params)
        for name in list(vars(self)):
            if isinstance(getattr(type(self), name, None), cached_property):
                delattr(self, name)
        return self

    @cached_property
    def levels(self) -> list[np.ndarray]:
        """The windows of each level, as rows x0, y0, x1, y1."""
        windows = self.windows
        if isinstance(windows, Integral):
            if windows in _NAMED_GRIDS:
                return [as_windows(grid) for grid in _NAMED_GRIDS[int(windows)]]
            if windows in (21, 31):
                return pyramid_windows(int(windows))
            raise ValueError(
                f"windows={windows}; there are pyramids of 1, 8, 21 and 31 windows. Give a list "
                "of (rows, columns) or an (n, 4) array of x0, y0, x1, y1 for others"
            )
        if isinstance(windows, np.ndarray) or not isinstance(windows, Sequence):
            return [as_windows(windows)]
        if len(windows) and all(np.shape(level) == (4,) for level in windows):
            return [as_windows(windows)]
        levels = [as_windows(level) for level in windows]
        if not levels:
            raise ValueError("windows is empty; a pyramid needs at least one window")
        return levels

    @cached_property
    def boxes(self) -> np.ndarray:
        """All windows, level after level."""
        return np.concatenate(self.levels)

    @property
    def n_windows(self) -> int:
        """Number of windows."""
        return len(self.boxes)

    @cached_property
    def level_of_window(self) -> np.ndarray:
        """The number of each window's level."""
        return np.repeat(np.arange(len(self.levels)), [len(level) for level in self.levels])

    @cached_property
    def window_weights(self) -> np.ndarray:
        """The factor of each window's histogram."""
        weights = np.ones(len(self.levels)) if self.weights is None else np.asarray(self.weights)
        if weights.shape != (len(self.levels),) or not (weights >= 0).all():
            raise ValueError(
                f"weights={self.weights!r}; expected {len(self.levels)} numbers >= 0, one a level"
            )
        return weights[self.level_of_window].astype(np.float32)

    @cached_property
    def membership(self) -> np.ndarray:
        """Which cells a window is made of: (n_windows, n_cells), float32 zeros and ones."""
        x = np.concatenate([[0], self._edges[0], [1]])
        y = np.concatenate([[0], self._edges[1], [1]])
        boxes = self.boxes.astype(np.float32)[:, :, None]
        columns = (x[:-1] >= boxes[:, 0]) & (x[1:] <= boxes[:, 2])
        rows = (y[:-1] >= boxes[:, 1]) & (y[1:] <= boxes[:, 3])
        return (rows[:, :, None] & columns[:, None, :]).reshape(len(boxes), -1).astype(np.float32)

    def cells(self, positions: np.ndarray) -> np.ndarray:
        """The cell of each patch.

        Parameters
        ----------
        positions : (n, 2) array of x, y in the unit square

        Returns
        -------
        (n,) int32
        """
        return cells_of(np.ascontiguousarray(positions, np.float32), *self._edges)

    def count(
        self,
        words: np.ndarray,
        positions: np.ndarray,
        n_words: int,
        *,
        offsets: np.ndarray | None = None,
    ) -> np.ndarray:
        """Count the words of images in all windows.

        Parameters
        ----------
        words : (n,) integers below ``n_words``
        positions : (n, 2) array
        n_words : int
        offsets : (n_images + 1,) int64, optional
            Image i owns the rows ``offsets[i]:offsets[i + 1]``; by default there is one image.

        Returns
        -------
        (n_images, n_windows, n_words) int32
        """
        if offsets is None:
            offsets = np.array([0, len(words)], np.int64)
        words = np.ascontiguousarray(words, np.int32)
        if len(words) != len(positions) or offsets[-1] > len(words):
            raise ValueError(f"{len(words)} words, but {len(positions)} positions")
        if words.size and not 0 <= words.min() <= words.max() < n_words:
            raise ValueError(f"words are from {words.min()} to {words.max()}, n_words={n_words}")
        cells, (starts, members) = self.cells(positions), self.members
        n_cells = self.membership.shape[1]
        return count_words(words, cells, offsets, starts, members, n_cells, n_words)

    def window_names(self) -> list[str]:
        """Name the windows: the level, and the number in the level."""
        return [
            f"level{level}_window{k}"
            for level, windows in enumerate(self.levels)
            for k in range(len(windows))
        ]

    @cached_property
    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Inner edges in x and in y, ascending."""
        x = np.unique(self.boxes[:, [0, 2]].astype(np.float32))
        y = np.unique(self.boxes[:, [1, 3]].astype(np.float32))
        return x[(x > 0) & (x < 1)], y[(y > 0) & (y < 1)]

    @cached_property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """The cells of each window, one list after the other, and where each begins."""
        window, cell = np.nonzero(self.membership)
        starts = np.searchsorted(window, np.arange(self.n_windows + 1))
        return starts.astype(np.int64), cell.astype(np.int64)


def as_pyramid(pyramid: Any) -> SpatialPyramid:
    """A pyramid as it is; anything else becomes the ``windows`` of a new one.

    Examples
    --------
    >>> as_pyramid(21).n_windows
    21
    """
    if isinstance(pyramid, SpatialPyramid):
        return pyramid
    if isinstance(pyramid, Integral):
        return _made(int(pyramid))
    if isinstance(pyramid, list) and all(isinstance(grid, tuple) for grid in pyramid):
        return _made(tuple(pyramid))
    return SpatialPyramid(pyramid)


@lru_cache(maxsize=8)
def _made(windows: int | tuple[tuple[int, int], ...]) -> SpatialPyramid:
    """Pyramids of numbers and grids are made once: that takes longer than an image's words."""
    return SpatialPyramid(windows if isinstance(windows, int) else list(windows))


def signed_power(values: np.ndarray, power: float) -> np.ndarray:
    """Sign(v) |v|^power, computed in place.

    Examples
    --------
    >>> signed_power(np.array([-4.0, 9.0]), 0.5).tolist()
    [-2.0, 3.0]
    """
    if power == 1:
        return values
    if power == 0.5 and values.flags.c_contiguous:
        signed_roots(values.reshape(-1))
        return values
    signs = np.sign(values)
    np.abs(values, out=values)
    np.power(values, power, out=values)
    values *= signs
    return values


def normalize(
    values: np.ndarray, pyramid: SpatialPyramid, norm: str | None, scope: str, power: float
) -> np.ndarray:
    """Bring histograms to comparable size: L1 before the power, L2 after it, weights last.

    Parameters
    ----------
    values : (n_images, n_windows, m) float32
        Changed in place.
    pyramid : SpatialPyramid
        Its weights multiply the windows.
    norm : {None, "l1", "l2"}
    scope : {"window", "level", "image"}
        What has norm 1: each window; each level of the pyramid, counted once; or the whole.
    power : float
    """
    if norm == "l1":
        values /= _sizes(np.abs(values).sum(axis=2), pyramid, scope)[:, :, None]
    signed_power(values, power)
    if norm == "l2":
        squares = _sizes(np.einsum("iwk,iwk->iw", values, values), pyramid, scope)
        values /= np.sqrt(squares)[:, :, None]
    if pyramid.weights is not None:
        values *= pyramid.window_weights[:, None]
    return values


def _sizes(of_windows: np.ndarray, pyramid: SpatialPyramid, scope: str) -> np.ndarray:
    """What each window is divided by, (n_images, n_windows); 1 where there is nothing."""
    sizes = of_windows
    if scope == "level":
        level = pyramid.level_of_window
        same = (level[:, None] == level).astype(of_windows.dtype)
        sizes = of_windows @ same
    elif scope == "image":
        sizes = np.repeat(of_windows.sum(axis=1, keepdims=True), of_windows.shape[1], axis=1)
    return np.where(sizes > 0, sizes, 1).astype(of_windows.dtype)


@njit()
def cells_of(positions, x_edges, y_edges):
    """Number of each position's cell, row after row; positions outside go to the nearest cell.

    positions : (n, 2) float32, x and y      x_edges, y_edges : inner edges, float32, ascending
    returns (n,) int32
    """
    n = positions.shape[0]
    columns = np.int32(x_edges.size + 1)
    cells = np.zeros(n, np.int32)
    for edge in y_edges:
        for i in range(n):
            cells[i] += columns if positions[i, 1] >= edge else np.int32(0)
    for edge in x_edges:
        for i in range(n):
            cells[i] += np.int32(1) if positions[i, 0] >= edge else np.int32(0)
    return cells


@njit()
def count_words(words, cells, offsets, starts, members, n_cells, n_words):
    """counts[i, w, k] = number of image i's patches of word k in window w.

    words, cells : (n,) int32                offsets : (n_images + 1,) int64
    starts, members : cells of window w are members[starts[w] : starts[w + 1]]
    returns (n_images, n_windows, n_words) int32
    """
    n_windows = starts.size - 1
    counts = np.zeros((offsets.size - 1, n_windows, n_words), np.int32)
    by_cell = np.empty((n_cells, n_words), np.int32)
    for i in range(offsets.size - 1):
        by_cell[:] = 0
        for p in range(offsets[i], offsets[i + 1]):
            by_cell[np.uint32(cells[p]), np.uint32(words[p])] += 1
        for w in range(n_windows):
            window = counts[i, w]
            for m in range(starts[w], starts[w + 1]):
                cell = by_cell[members[m]]
                for k in range(n_words):
                    window[k] += cell[k]
    return counts


@njit(fastmath=True)
def signed_roots(values):
    """values = sign(values) sqrt(|values|), in place.

    values : (n,) float32 or float64
    """
    for i in range(values.size):
        values[i] = math.copysign(math.sqrt(abs(values[i])), values[i])
