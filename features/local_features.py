"""Local features: the descriptors of patches of one image, and of many images in one ragged set;
where patches and windows lie in an image.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np


@dataclass(frozen=True)
class LocalFeatures:
    """The local features of one image; there may be none.

    Attributes
    ----------
    descriptors : (n, d) array
        uint8 for SIFT and small counts, uint16 for larger counts, else float32.
    positions : (n, 2) float32
        Centre (x, y) of each patch in the image's unit square: x = 0 is the left edge of the
        leftmost pixel, x = 1 the right edge of the rightmost; y likewise, downwards.
    sizes : (n,) float32
        Side of each patch in pixels of the image.

    Examples
    --------
    >>> import numpy as np
    >>> one = LocalFeatures(np.zeros((2, 4)), np.full((2, 2), 0.5), np.full(2, 16.0))
    >>> len(one)
    2
    """

    descriptors: np.ndarray
    positions: np.ndarray
    sizes: np.ndarray

    def __post_init__(self) -> None:
        n = len(self.descriptors)
        if self.descriptors.ndim != 2 or self.positions.shape != (n, 2) or self.sizes.shape != (n,):
            raise ValueError(
                f"shapes {self.descriptors.shape}, {self.positions.shape}, {self.sizes.shape} of "
                "descriptors, positions and sizes do not belong together; (n, d), (n, 2), (n,) do"
            )

    def __repr__(self) -> str:
        n, d = self.descriptors.shape
        return f"<LocalFeatures: {n} descriptors of {d} {self.descriptors.dtype}>"

    def __len__(self) -> int:
        return len(self.descriptors)


@dataclass(frozen=True)
class LocalFeatureSets:
    """The local features of many images: concatenated arrays, and where each image begins.

    Attributes
    ----------
    descriptors, positions, sizes : arrays of ``offsets[-1]`` rows
        As in :class:`LocalFeatures`, image after image.
    offsets : (n_images + 1,) int64
        Image i owns the rows ``offsets[i]:offsets[i + 1]``.

    Examples
    --------
    >>> import numpy as np
    >>> one = LocalFeatures(np.ones((2, 4)), np.full((2, 2), 0.5), np.full(2, 16.0))
    >>> none = LocalFeatures(np.ones((0, 4)), np.ones((0, 2)), np.ones(0))
    >>> sets = LocalFeatureSets.concatenate([one, none, one])
    >>> sets.offsets.tolist(), len(sets), [len(s) for s in sets]
    ([0, 2, 2, 4], 3, [2, 0, 2])
    >>> len(sets[1:]), len(sets[[0, 2, 0]]), len(sets[-1])
    (2, 3, 2)
    """

    descriptors: np.ndarray
    positions: np.ndarray
    sizes: np.ndarray
    offsets: np.ndarray

    def __repr__(self) -> str:
        n, d = self.descriptors.shape
        kind = self.descriptors.dtype
        return f"<LocalFeatureSets: {len(self)} images, {n} descriptors of {d} {kind}>"

    @classmethod
    def concatenate(cls, features: Iterable[LocalFeatures]) -> "LocalFeatureSets":
        """Join the features of many images, in their order."""
        images = list(features)
        if not images:
            nothing = np.zeros((0, 2), np.float32)
            return cls(nothing[:, :0], nothing, nothing[:, 0], np.zeros(1, np.int64))
        offsets = np.cumsum([0, *(len(one) for one in images)])
        if len(images) == 1:  # nothing to copy
            one = images[0]
            return cls(one.descriptors, one.positions, one.sizes, offsets)
        parts = zip(*((one.descriptors, one.positions, one.sizes) for one in images))
        descriptors, positions, sizes = map(np.concatenate, parts)
        return cls(descriptors, positions, sizes, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int | np.integer) -> LocalFeatures: ...
    @overload
    def __getitem__(self, index: slice | Sequence[Any] | np.ndarray) -> "LocalFeatureSets": ...
    def __getitem__(self, index: Any) -> "LocalFeatures | LocalFeatureSets":
        """The features of one image, or of several chosen like elements of an array."""
        rows, offsets = ragged_rows(self.offsets, index)
        parts = self.descriptors[rows], self.positions[rows], self.sizes[rows]
        return LocalFeatures(*parts) if offsets is None else LocalFeatureSets(*parts, offsets)

    @property
    def shape(self) -> tuple[int]:
        """Number of images, as scikit-learn's splitters ask for it."""
        return (len(self),)

    def __iter__(self) -> Iterator[LocalFeatures]:
        return (self[i] for i in range(len(self)))


def ragged_rows(offsets: np.ndarray, index: Any) -> tuple[slice | np.ndarray, np.ndarray | None]:
    """The rows of one member of a ragged array, or of several and where each begins.

    Parameters
    ----------
    offsets : (n + 1,) int64
        Member i owns the rows ``offsets[i]:offsets[i + 1]``.
    index : int, or what chooses several elements of an array

    Examples
    --------
    >>> ragged_rows(np.array([0, 2, 2, 5]), -1)
    (slice(2, 5, None), None)
    >>> [part.tolist() for part in ragged_rows(np.array([0, 2, 2, 5]), [2, 0])]
    [[2, 3, 4, 0, 1], [0, 3, 5]]
    """
    n = len(offsets) - 1
    if isinstance(index, int | np.integer):
        if not -n <= index < n:
            raise IndexError(f"number {index} of {n}")
        return slice(int(offsets[index % n]), int(offsets[index % n + 1])), None
    chosen = np.arange(n)[index]
    sizes = np.diff(offsets)[chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    if isinstance(index, slice) and index.step in (None, 1):
        begin = int(offsets[chosen[0]]) if len(chosen) else 0
        return slice(begin, begin + int(starts[-1])), starts
    return np.repeat(offsets[chosen] - starts[:-1], sizes) + np.arange(starts[-1]), starts


def check_cells(bin_size: Any, step: Any, least: int, largest: int) -> tuple[int, ...]:
    """Return the widths of cells in pixels; raise ``ValueError`` where they or the step can't be.

    Examples
    --------
    >>> check_cells(4, 8, 1, 100), check_cells([4, 6], 8, 1, 100)
    ((4,), (4, 6))
    """
    sizes = tuple(np.atleast_1d(bin_size).tolist())
    if not sizes or not all(isinstance(b, int) and least <= b <= largest for b in sizes):
        raise ValueError(f"bin_size={bin_size!r}; expected one or several of {least} to {largest}")
    if not (isinstance(step, int | np.integer) and step >= 1):
        raise ValueError(f"step={step!r} must be at least 1")
    return sizes


def patch_bounds(height: int, width: int, size: int, step: int) -> np.ndarray:
    """X0, y0, x1, y1 of all square patches on a grid that starts in the top left corner.

    Patches lie inside the image, row after row; an image smaller than a patch has none.

    Examples
    --------
    >>> patch_bounds(16, 21, 16, 4).tolist()
    [[0, 0, 16, 16], [4, 0, 20, 16]]
    """
    x = np.arange(0, width - size + 1, step, dtype=np.int64)
    y = np.arange(0, height - size + 1, step, dtype=np.int64)
    top, left = (v.ravel() for v in np.meshgrid(y, x, indexing="ij"))
    return np.stack([left, top, left + size, top + size], axis=1)


def grid_positions(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The points (x, y) of a grid, row after row: (n, 2) float32.

    Examples
    --------
    >>> import numpy as np
    >>> grid_positions(np.array([0.25, 0.75]), np.array([0.5])).tolist()
    [[0.25, 0.5], [0.75, 0.5]]
    """
    return np.stack([v.ravel() for v in np.meshgrid(x, y)], axis=1).astype(np.float32)


def unit_centers(bounds: np.ndarray, height: int, width: int) -> np.ndarray:
    """The centres (x, y) of boxes x0, y0, x1, y1 in the unit square of the image.

    Examples
    --------
    >>> import numpy as np
    >>> unit_centers(np.array([[0, 0, 16, 16]]), 16, 32).tolist()
    [[0.25, 0.5]]
    """
    centers = (bounds[:, :2] + bounds[:, 2:]) * 0.5
    return (centers / (width, height)).astype(np.float32)


def as_windows(windows: Any) -> np.ndarray:
    """Windows as rows x0, y0, x1, y1 in the unit square.

    Parameters
    ----------
    windows : None, int, (rows, columns), or (n, 4) array
        The whole image; an even grid of g × g or rows × columns, row after row; or the rows.

    Examples
    --------
    >>> as_windows((1, 2)).tolist()
    [[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]]
    """
    if windows is None:
        return np.array([[0.0, 0.0, 1.0, 1.0]])
    if isinstance(windows, int | np.integer):
        windows = (windows, windows)
    if np.shape(windows) == (2,):
        rows, columns = windows
        if not all(isinstance(v, int | np.integer) and v >= 1 for v in (rows, columns)):
            raise ValueError(f"windows={windows!r}; a grid has at least 1 row and 1 column")
        y, x = np.arange(rows + 1) / rows, np.arange(columns + 1) / columns
        return np.array(
            [[x[j], y[i], x[j + 1], y[i + 1]] for i in range(rows) for j in range(columns)]
        )
    boxes = np.asarray(windows, dtype=float)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or not len(boxes):
        raise ValueError(
            f"windows has shape {boxes.shape}; expected a number, (rows, columns) or an (n, 4) "
            "array of x0, y0, x1, y1"
        )
    if not ((boxes >= 0) & (boxes <= 1)).all() or (boxes[:, :2] >= boxes[:, 2:]).any():
        raise ValueError("every window needs 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1")
    return boxes


def window_bounds(windows: np.ndarray, height: int, width: int) -> np.ndarray:
    """The pixels x0, y0, x1, y1 of windows of the unit square; edges go to the nearest.

    Windows that share an edge share no pixel. In a tiny image a window may have no pixel.

    Examples
    --------
    >>> window_bounds(as_windows((1, 2)), 2, 5).tolist()
    [[0, 0, 3, 2], [3, 0, 5, 2]]
    """
    scale = np.array([width, height, width, height])
    return np.floor(windows * scale + 0.5).astype(np.int64)


def pyramid_windows(n_windows: int = 31) -> list[np.ndarray]:
    """The windows of a spatial pyramid in the unit square, a list of levels.

    Parameters
    ----------
    n_windows : {31, 21}
        21: the image, 2×2 and 4×4 windows. 31: level by level, windows of the same size between
        those of the grid are added: 1; 2×2 and 1; 4×4 and 3×3.

    Examples
    --------
    >>> [len(level) for level in pyramid_windows(31)]
    [1, 5, 25]
    >>> pyramid_windows(31)[1][-1].tolist()
    [0.25, 0.25, 0.75, 0.75]
    """
    if n_windows not in (21, 31):
        raise ValueError(f"{n_windows} windows; there are pyramids of 21 and 31")
    levels = []
    for n in (1, 2, 4):
        grid = as_windows(n)
        corners = np.array([(x, y) for y in range(n - 1) for x in range(n - 1)]).reshape(-1, 2)
        low = (corners + 0.5) / n
        between = np.hstack([low, low + 1 / n])
        levels.append(np.vstack([grid, between]) if n_windows == 31 else grid)
    return levels
