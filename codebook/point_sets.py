"""Sets of points of any size: what the pyramid match compares."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

__all__ = ["FeatureSets", "as_feature_sets"]

FARTHEST = 1 << 29  # coordinates beyond ± this are moved there, so that sums fit 32 bits


@dataclass(frozen=True)
class FeatureSets:
    """Many sets of points in one ragged array; a set may be empty.

    Attributes
    ----------
    points : (n_points, d) int32
        Coordinates on the integer grid, set after set.
    offsets : (n_sets + 1,) int64
        Set i owns the rows ``offsets[i]:offsets[i + 1]``.
    side : int
        D, the range of coordinates for which the grid was made, 0 … D − 1. Points beyond are
        allowed.

    Examples
    --------
    >>> import numpy as np
    >>> sets = FeatureSets.from_arrays([np.array([[3, 7], [0, 1]]), np.empty((0, 2))])
    >>> len(sets), sets.sizes.tolist(), sets.side
    (2, [2, 0], 8)
    >>> sets[0].tolist(), len(sets[[1, 0, 1]])
    ([[3, 7], [0, 1]], 3)
    """

    points: np.ndarray
    offsets: np.ndarray
    side: int

    def __repr__(self) -> str:
        n_points, d = self.points.shape
        return f"<FeatureSets: {len(self)} sets, {n_points} points of {d} coordinates>"

    @classmethod
    def from_arrays(cls, arrays: Sequence[Any], side: int | None = None) -> "FeatureSets":
        """Join arrays of shape (n_i, d); fractions are cut off (a bin's side is at least 1).

        Parameters
        ----------
        arrays : sequence of (n_i, d) arrays
            Finite numbers. A set without points may have any number of columns.
        side : int, optional
            D; by default one more than the largest coordinate.
        """
        parts = [_as_points(array, i) for i, array in enumerate(arrays)]
        widths = {part.shape[1] for part in parts if len(part)}
        if len(widths) > 1:
            raise ValueError(f"the sets' points have {sorted(widths)} dimensions; one is needed")
        d = widths.pop() if widths else max([part.shape[1] for part in parts], default=0)
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        points = np.concatenate([part for part in parts if len(part)] or [np.zeros((0, d))])
        points = np.ascontiguousarray(points, dtype=np.int32)
        if side is None:
            side = int(points.max(initial=0)) + 1
        if side < 1:
            raise ValueError(f"side={side}: the range of coordinates must be at least 1")
        return cls(points, offsets, int(side))

    @property
    def sizes(self) -> np.ndarray:
        """Number of points of every set."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> np.ndarray:
        """The set of every point: (n_points,) int32."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.sizes)

    @property
    def shape(self) -> tuple[int]:
        """Number of sets, as scikit-learn's splitters ask for it."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int | np.integer) -> np.ndarray: ...
    @overload
    def __getitem__(self, index: slice | Sequence[Any] | np.ndarray) -> "FeatureSets": ...
    def __getitem__(self, index: Any) -> "np.ndarray | FeatureSets":
        """Return the points of one set, or several sets chosen like elements of an array."""
        if isinstance(index, int | np.integer):
            n = len(self)
            if not -n <= index < n:
                raise IndexError(f"set {index} of {n}")
            return self.points[self.offsets[index % n] : self.offsets[index % n + 1]]
        chosen = np.arange(len(self))[index]
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        if isinstance(index, slice) and index.step in (None, 1):
            begin = self.offsets[chosen[0]] if len(chosen) else 0
            return FeatureSets(self.points[begin : begin + offsets[-1]], offsets, self.side)
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return FeatureSets(self.points[rows], offsets, self.side)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))


def as_feature_sets(sets: Any, side: int | None = None) -> FeatureSets:
    """Return sets of points as :class:`FeatureSets`, whichever way they are given.

    Parameters
    ----------
    sets : FeatureSets, or sequence of (n_i, d) arrays
    side : int, optional
        D; overrides the sets' own.

    Examples
    --------
    >>> as_feature_sets([[[1.9, 0.0]], [[4, 4]]]).points.tolist()
    [[1, 0], [4, 4]]
    """
    if isinstance(sets, FeatureSets):
        if side is None or side == sets.side:
            return sets
        return FeatureSets(sets.points, sets.offsets, side)
    if isinstance(sets, np.ndarray) and sets.ndim == 2:
        raise ValueError(
            f"an array of shape {sets.shape} is one set of points; expected a list of such arrays"
        )
    return FeatureSets.from_arrays(sets, side)


def _as_points(array: Any, index: int) -> np.ndarray:
    """One set as whole numbers that 32 bits hold."""
    points = np.asarray(array)
    if points.size == 0 and points.ndim < 2:
        points = points.reshape(0, 0)
    if points.ndim != 2 or points.dtype.kind not in "iufb":
        raise ValueError(
            f"set {index} has shape {points.shape} and type {points.dtype}; "
            "expected numbers in an array (number of points, dimensions)"
        )
    if points.dtype.kind == "f":
        if not np.isfinite(points).all():
            raise ValueError(f"set {index} has NaN or infinite coordinates; leave those points out")
        points = np.floor(points)
    return np.clip(points, -FARTHEST, FARTHEST).astype(np.int32)
