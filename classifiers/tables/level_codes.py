"""Training levels numbered by those that occur: small tables, however many levels there are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.tables import _levels
from visualwords.parallel import in_threads

CELLS_AT_LEAST = 8  # of a feature, whose table begins at a multiple of a vector's length
_MOST_LEVELS = 4096  # above, a list of those that occur would take more memory than it saves
_LEVELS_AT_A_TIME = 1 << 20
_FEATURES_AT_A_TIME = 1024
_WORTHWHILE = 0.7  # codes are made if they leave at most this share of the cells


class LevelNumbers:
    """The levels that occur anywhere, numbered; the identity if most levels occur.

    Histograms of counts have few: Eq. 13 with 100 bins maps counts of 0 … 5 to 6 levels of 101.

    Parameters
    ----------
    heights : (g,) int
        The levels that have a number, ascending from 0.
    """

    def __init__(self, heights: np.ndarray):
        self.heights = np.asarray(heights, np.int64)
        self.is_identity = bool(self.heights[-1] == self.heights.size - 1)

    def numbers_of(self, levels: Any, n_jobs: int | None = None) -> Any:
        """Return the numbers of levels (array or CSR matrix); the next lower where is none."""
        if self.is_identity:
            return levels
        if sparse.issparse(levels):
            parts = (self.numbers_of(levels.data, n_jobs), levels.indices, levels.indptr)
            return sparse.csr_matrix(parts, shape=levels.shape)
        numbers = np.empty(levels.shape, levels.dtype)
        flat = np.ascontiguousarray(levels).reshape(-1)
        if (
            self.heights.size <= _levels.FEW_LEVELS
            and self.heights[-1] <= np.iinfo(levels.dtype).max
        ):
            steps = self.heights[1:].astype(levels.dtype)
            loop, known = _levels.count_steps, steps
        else:
            loop, known = _levels.translate, self.table(levels.dtype)
        out = numbers.reshape(-1)
        in_threads(
            lambda first, last: loop(flat[first:last], known, out[first:last]),
            flat.size,
            _LEVELS_AT_A_TIME,
            n_jobs,
        )
        return numbers

    def unknown(self, levels: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, columns and levels of what has no number."""
        if self.contains(levels):
            nothing = np.zeros(0, np.int64)
            return nothing, nothing, nothing
        if not sparse.issparse(levels):
            rows, columns = np.nonzero(self.known(levels.dtype)[levels] == 0)
            return rows, columns, levels[rows, columns].astype(np.int64)
        places = np.flatnonzero(self.known(levels.dtype)[levels.data] == 0)
        rows = np.searchsorted(levels.indptr, places, side="right") - 1
        return rows, levels.indices[places], levels.data[places].astype(np.int64)

    def contains(self, levels: Any) -> bool:
        """Whether all levels of an array or CSR matrix have a number."""
        if self.is_identity:
            return True
        flat = levels.data if sparse.issparse(levels) else np.ascontiguousarray(levels).reshape(-1)
        return bool(_levels.all_known(flat, self.known(flat.dtype)))

    def table(self, dtype: Any) -> np.ndarray:
        """Return the number of every level that a type has, or of the next lower that has one."""
        levels = np.arange(np.iinfo(dtype).max + 1)
        return (np.searchsorted(self.heights, levels, side="right") - 1).astype(dtype)

    def known(self, dtype: Any) -> np.ndarray:
        """Return 1 for every level of a type that has a number or is above all others, else 0."""
        known = np.ones(max(np.iinfo(dtype).max, self.heights[-1]) + 1, np.uint8)
        known[: self.heights[-1]] = 0
        known[self.heights] = 1
        return known


def occurring_levels(levels: Any, n_jobs: int | None = None) -> LevelNumbers:
    """Number the levels that occur in an array or CSR matrix, if fewer than half of them do."""
    flat = levels.data if sparse.issparse(levels) else levels.reshape(-1)
    present = np.zeros(np.iinfo(flat.dtype).max + 1, np.uint8)
    in_threads(  # which may mark the same level: a one is a one
        lambda first, end: _levels.mark_any(flat[first:end], present),
        flat.size,
        _LEVELS_AT_A_TIME,
        n_jobs,
    )
    return numbers_of_present(present)


def numbers_of_present(present: np.ndarray) -> LevelNumbers:
    """Number the levels that are marked, and 0; all if half of them are."""
    heights = np.union1d(np.flatnonzero(present), [0])
    if 2 * heights.size > heights[-1]:
        heights = np.arange(heights[-1] + 1)
    return LevelNumbers(heights)


@dataclass(frozen=True)
class TableLayout:
    """Which levels get a cell of a table.

    Attributes
    ----------
    offsets : (d + 1,) int64
        First cell of every feature, multiples of eight.
    heights : (cells,) float32
        Level of every cell; cells that only fill up repeat the highest level.
    code_of : (d, n_levels) unsigned, or None
        Number of every level among those with a cell; None: all levels have one.
    """

    offsets: np.ndarray
    heights: np.ndarray
    code_of: np.ndarray | None


@dataclass(frozen=True)
class LevelCodes:
    """Samples as numbers of cells: codes (n, d), an unsigned array or CSR matrix, and a layout."""

    codes: Any
    offsets: np.ndarray
    heights: np.ndarray


def table_layout(
    levels: Any, rows: np.ndarray, n_levels: int, n_jobs: int | None = None
) -> TableLayout:
    """Give a cell to the levels that occur in some rows, where that makes tables clearly smaller.

    Parameters
    ----------
    levels : (n, d) unsigned array or CSR matrix
    rows : (m,) int
        The samples that take part.
    n_levels : int
        All levels are smaller than this.
    n_jobs : int or None
        Threads, as joblib counts them.
    """
    if sparse.issparse(levels) or n_levels > _MOST_LEVELS:
        return full_layout(levels)
    present = np.zeros((levels.shape[1], n_levels), np.uint8)
    in_threads(
        lambda first, end: _levels.mark_levels(first, end, levels, rows, present),
        levels.shape[1],
        _FEATURES_AT_A_TIME,
        n_jobs,
    )
    return layout_of(present, levels.dtype)


def layout_of(present: np.ndarray, dtype: Any) -> TableLayout:
    """Give a cell to levels that occur, where that makes tables clearly smaller.

    Parameters
    ----------
    present : (d, n_levels)
        Not 0 where a level of a feature occurs; level 0 always does.
    dtype : of the levels
    """
    present[:, 0] = 1
    n_levels = present.shape[1]
    counts = present.sum(axis=1, dtype=np.int64)
    highest = n_levels - 1 - np.argmax(present[:, ::-1], axis=1)
    if _aligned(counts).sum() > _WORTHWHILE * _aligned(highest + 1).sum():
        return TableLayout(*_layout(highest + 1, None), None)
    kind = np.uint8 if counts.max(initial=1) <= 256 else dtype
    code_of = (np.cumsum(present, axis=1, dtype=np.uint16) - 1).astype(kind)
    return TableLayout(*_layout(counts, np.nonzero(present)[1]), code_of)


def full_layout(levels: Any, aligned: bool = True) -> TableLayout:
    """Give a cell to every level up to each feature's highest.

    Not ``aligned``: features follow each other without cells that only fill up.
    """
    highest = np.zeros(levels.shape[1], levels.dtype)
    if sparse.issparse(levels):
        np.maximum.at(highest, levels.indices, levels.data)
    else:
        _levels.highest_levels(levels, highest)
    return TableLayout(*_layout(highest.astype(np.int64) + 1, None, aligned), None)


def encode_levels(levels: Any, layout: TableLayout, reuse: bool = False) -> LevelCodes:
    """Number the levels; ``reuse`` allows to overwrite them.

    Codes of samples that did not take part in making the layout mean nothing.
    """
    codes = levels
    if layout.code_of is not None:
        kind = layout.code_of.dtype
        codes = levels if reuse and levels.dtype == kind else np.empty(levels.shape, kind)
        _levels.encode(levels, layout.code_of, codes)
    return LevelCodes(codes, layout.offsets, layout.heights)


def _aligned(counts: np.ndarray) -> np.ndarray:
    return -(-counts // CELLS_AT_LEAST) * CELLS_AT_LEAST


def _layout(
    counts: np.ndarray, occurring: np.ndarray | None, aligned: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and heights of features with these numbers of cells, at these levels or at all."""
    widths = _aligned(counts) if aligned else counts
    offsets = np.concatenate([[0], np.cumsum(widths)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], widths)
    code = np.minimum(within, np.repeat(counts - 1, widths))
    if occurring is None:
        return offsets, code.astype(np.float32)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return offsets, occurring[np.repeat(first, widths) + code].astype(np.float32)
