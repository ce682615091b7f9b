"""Tables of additive models, compact: every feature has only the levels that training saw."""

from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.tables import _table_building, _tables
from visualwords.compiled import as_compiled
from visualwords.parallel import in_threads

_FEATURES_AT_A_TIME = 256  # their tables stay in the second-level cache while all rows pass
_ROWS_AT_A_TIME = 2048
_ROWS_IN_SINGLE = 4096  # coefficients added up in single precision before they go to double
_FEATURES_OF_VALUES = 512
_FEATURES_OF_STEPS = 4096
_ROWS_IN_CACHE = 64
_FEW_LEVELS = 16  # up to which comparing with each is faster than looking up


def n_lanes(n_outputs: int) -> int:
    """Return the columns that tables of this many outputs are kept in: 1, or eights."""
    return 1 if n_outputs == 1 else -(-n_outputs // _tables.LANES) * _tables.LANES


def add_lanes(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Return a C-ordered copy of (m, n_outputs) with zero columns added up to ``n_lanes``."""
    padded = np.zeros((array.shape[0], n_lanes(array.shape[1])), dtype)
    padded[:, : array.shape[1]] = array
    return padded


def check_tables(
    offsets: np.ndarray, levels: np.ndarray, values: np.ndarray, n_features: int, n_outputs: int
) -> None:
    """Raise ``ValueError`` where tables from a file do not belong together: look-ups don't check.

    Parameters
    ----------
    offsets : (n_features + 1,) int
    levels : (g,) int, ascending
    values : (cells, n_outputs)
    n_features, n_outputs : int
    """
    sizes = np.diff(offsets)
    if (
        offsets.shape != (n_features + 1,)
        or values.shape != (offsets[-1], n_outputs)
        or offsets[0] != 0
        or sizes.min(initial=1) < 1
        or levels.ndim != 1
        or sizes.max(initial=1) > levels.size
        or levels[0] != 0
        or np.diff(levels).min(initial=1) < 1
        or not np.isfinite(values).all()
    ):
        raise ValueError("the tables do not belong together; the file they came from is damaged")


def build_tables(
    codes: Any,
    rows: np.ndarray,
    coefficients: np.ndarray,
    offsets: np.ndarray,
    heights: np.ndarray,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return T_jk = Σ_i c_i min(x_ij, k) of several outputs ([Wu10], Sec. 3.2).

    Parameters
    ----------
    codes : (n, d) unsigned array or CSR matrix
        Numbers of the samples' levels, ascending with them.
    rows : (m,) int
        The samples that take part.
    coefficients : (m, lanes) float64
        c_i of every output, from :func:`add_lanes`.
    offsets : (d + 1,) int64
        First cell of every feature.
    heights : (cells,) float32
        Level of every cell.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    (cells, lanes) float32
    """
    tables = np.empty((offsets[-1], coefficients.shape[1]), np.float32)
    base, top = _cells_of(offsets)
    single = coefficients.astype(np.float32)

    def do(first: int, last: int) -> None:
        start, end = offsets[first], offsets[last]
        sums = np.zeros((end - start, coefficients.shape[1]))
        for row in range(0, rows.size, _ROWS_IN_SINGLE):
            some = slice(row, row + _ROWS_IN_SINGLE)
            part = np.zeros(sums.shape, np.float32)
            if sparse.issparse(codes):
                parts = codes.data, codes.indices, codes.indptr
                _table_building.sum_by_level_sparse(
                    *parts, rows[some], single[some], base, top, part
                )
            else:
                here = base - base[first]
                _table_building.sum_by_level(
                    codes, rows[some], single[some], here, top, first, last, part
                )
            sums += part
        _table_building.tables_from_sums(
            offsets[first : last + 1] - start, heights[start:end], sums
        )
        tables[start:end] = sums

    d = codes.shape[1]
    step = d if sparse.issparse(codes) else _FEATURES_AT_A_TIME
    in_threads(do, d, step, n_jobs)
    return tables


class CellLists:
    """The cells of some rows at levels above 0, listed once for many look-ups.

    Parameters
    ----------
    codes : (n, d) unsigned array
        Numbers of the samples' levels.
    offsets : (d + 1,) int64
        First cell of every feature.
    heights : (cells,) float32
        Level of every cell.

    Examples
    --------
    >>> offsets, heights = np.array([0, 2, 5]), np.array([0, 1, 0, 1, 2], np.float32)
    >>> rows = CellLists(np.array([[1, 2], [0, 1]], np.uint8), offsets, heights)
    >>> tables = np.zeros((5, 8), np.float32)
    >>> rows.add_to_tables(np.ones((2, 8)), tables)
    >>> tables[:, 0].tolist(), rows.scores(tables)[:, 0].tolist()
    ([0.0, 1.0, 0.0, 2.0, 3.0], [4.0, 2.0])
    """

    def __init__(self, codes: np.ndarray, offsets: np.ndarray, heights: np.ndarray):
        self.n, self.offsets, self.heights = len(codes), offsets, heights
        self.parts = range(0, codes.shape[1], _FEATURES_AT_A_TIME)
        self.starts = np.zeros((len(self.parts), self.n + 1), np.int64)
        self.cells = np.empty(codes.size, np.int32)
        base, top = _cells_of(offsets)
        self.firsts = offsets[np.asarray(self.parts)]  # cells of a part are counted from there
        base -= np.repeat(base[self.parts], _FEATURES_AT_A_TIME)[: base.size]
        _tables.list_cells(codes, base, top, _FEATURES_AT_A_TIME, self.starts, self.cells)

    def scores(self, tables: np.ndarray) -> np.ndarray:
        """Return the sums of look-ups in tables (cells, lanes) of float32, (n, lanes) float64."""
        out = np.zeros((self.n, tables.shape[1]))
        _tables.look_up_listed(self.starts, self.cells, self.firsts, tables, out)
        return out

    def add_to_tables(self, coefficients: np.ndarray, tables: np.ndarray) -> None:
        """Add Σ_i c_i min(x_ij, k) to the tables; ``coefficients`` are (n, lanes)."""
        single = coefficients.astype(np.float32)
        marks = np.zeros((self.n, single.shape[1] // _tables.LANES), np.bool_)
        _table_building.mark_eights(single, marks)
        for first, starts in zip(self.parts, self.starts):
            offsets = self.offsets[first : first + _FEATURES_AT_A_TIME + 1]
            cells = slice(offsets[0], offsets[-1])
            sums = np.zeros((offsets[-1] - offsets[0], tables.shape[1]), np.float32)
            _table_building.sum_listed(starts, self.cells, marks, single, sums)
            sums = sums.astype(tables.dtype, copy=False)
            _table_building.tables_from_sums(offsets - offsets[0], self.heights[cells], sums)
            tables[cells] += sums


def tables_at(
    offsets: np.ndarray, heights: np.ndarray, tables: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables at other levels; they are linear between those that occur.

    Parameters
    ----------
    offsets : (d + 1,) int64
    heights : (cells,)
        Levels of the cells, ascending in each feature, from 0; the last may be repeated.
    tables : (cells, lanes)
    wanted : (g,)
        Ascending levels, from 0, that include the highest of every feature.

    Returns
    -------
    offsets : (d + 1,) int64
    tables : (cells, lanes) float32
        Feature j has the wanted levels up to its highest.
    """
    sizes = np.searchsorted(wanted, heights[offsets[1:] - 1], side="right")
    full = np.concatenate([[0], np.cumsum(sizes)])
    out = np.empty((full[-1], tables.shape[1]), np.float32)
    _table_building.fill_levels(offsets, heights, tables, wanted, full, out)
    return full, out


def cells_around(
    levels: np.ndarray, columns: np.ndarray, heights: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cells below and above levels of features, and the share of the way between them.

    Parameters
    ----------
    levels, columns : (m,) whole numbers
    heights : (g,) int64
        Levels that have a cell, ascending from 0; a feature has the first few of them.
    offsets : (d + 1,) int64

    Returns
    -------
    below, above : (m,) int64
    share : (m,) float32

    Examples
    --------
    >>> below, above, share = cells_around(
    ...     np.array([0, 3, 9]), np.array([0, 0, 1]), np.array([0, 2, 4]), np.array([0, 3, 5]))
    >>> below.tolist(), above.tolist(), share.tolist()
    ([0, 1, 4], [1, 2, 4], [0.0, 0.5, 0.0])
    """
    top = offsets[columns + 1] - offsets[columns] - 1
    number = np.searchsorted(heights, levels, side="right") - 1
    below, above = np.minimum(number, top), np.minimum(number + 1, top)
    rise = heights[above] - heights[below]
    share = np.where(rise > 0, (levels - heights[below]) / np.maximum(rise, 1), 0)
    return offsets[columns] + below, offsets[columns] + above, share.astype(np.float32)


def table_scores(
    levels: Any,
    offsets: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return the scores Σ_j T[j, x_ij]; levels above a feature's highest count as that one.

    Parameters
    ----------
    levels : (n, d) unsigned array or CSR matrix
    offsets : (d + 1,) int64
    values : (cells, lanes) float32
    rows : (m,) int, optional
        The samples wanted; default: all.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    (m, lanes) float64
    """
    base, top = _cells_of(offsets)
    rows = np.arange(levels.shape[0]) if rows is None else rows
    out = np.zeros((rows.size, values.shape[1]))

    def do(start: int, end: int) -> None:
        here, result = rows[start:end], out[start:end]
        if sparse.issparse(levels):
            parts = levels.data, levels.indices, levels.indptr
            _tables.look_up_sparse(*parts, here, base, top, values, result)
            return
        for first in range(0, base.size, _FEATURES_AT_A_TIME):
            last = min(first + _FEATURES_AT_A_TIME, base.size)
            _tables.look_up(levels, here, base, top, values, first, last, result)

    in_threads(do, rows.size, _ROWS_AT_A_TIME, n_jobs)
    return out


class ValueTables:
    """Tables prepared for dense values: quantised and looked up while they are in the cache.

    Tables are linear between the levels that have a cell.

    Parameters
    ----------
    line : lowest, scale
        The level of a value is ⌊(value − lowest) scale⌋, clipped to those there are.
    n_levels : int
    heights : (g,) int64
        Levels that have a cell, ascending from 0; a feature has the first few of them.
    offsets : (d + 1,) int64
    values : (cells, lanes) float32
    """

    def __init__(
        self,
        line: tuple[float, float],
        n_levels: int,
        heights: np.ndarray,
        offsets: np.ndarray,
        values: np.ndarray,
    ):
        self._line, self._n_lanes = line, values.shape[1]
        self._kind: Any = np.uint8 if n_levels <= 256 else np.uint16
        self._cells = (*_numbers_of(n_levels, heights), *_cells_of(offsets), values)
        self._steps: tuple[Any, ...] | None = None
        steps = heights[(heights > 0) & (heights < n_levels)]
        if values.shape[1] == 1 and steps.size <= _FEW_LEVELS:
            rises = _steps(offsets, values[:, 0], steps.size)
            self._steps = n_levels - 1, steps.astype(self._kind), rises

    def scores(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray | None:
        """Return the scores of values (n, d) in any number of threads, (n, lanes) float64.

        None where a value is not finite.
        """
        if self._steps is not None:
            found = self._run(_tables.score_by_steps, X, self._steps, _FEATURES_OF_STEPS, n_jobs)
            if found is not None:
                return found
        return self._run(_tables.score_values, X, self._cells, _FEATURES_OF_VALUES, n_jobs)

    def _run(
        self, loop: Any, X: np.ndarray, fixed: tuple[Any, ...], width: int, n_jobs: int | None
    ) -> np.ndarray | None:
        out = np.zeros((X.shape[0], self._n_lanes))
        sound = np.ones(-(-X.shape[0] // _ROWS_IN_CACHE), bool)

        def do(start: int, end: int) -> None:
            part = as_compiled(np.ascontiguousarray(X[start:end]))
            room = np.empty(width, self._kind)
            sound[start // _ROWS_IN_CACHE] = loop(part, *self._line, *fixed, room, out[start:end])

        in_threads(do, X.shape[0], _ROWS_IN_CACHE, n_jobs)
        return out if sound.all() else None


def _numbers_of(n_levels: int, heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of every level among those with a cell, or of the next lower; share of the way up."""
    levels = np.arange(n_levels)
    numbers = np.searchsorted(heights, levels, side="right") - 1
    rise = np.append(np.diff(heights), 1)[numbers]
    share = np.where(numbers < heights.size - 1, (levels - heights[numbers]) / rise, 0)
    return numbers.astype(np.int32), share.astype(np.float32)


def _steps(offsets: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """By how much each feature's table rises to its first, second, … cell; 0 beyond the last."""
    cells = np.minimum(offsets[:-1] + np.arange(count + 1)[:, None], offsets[1:] - 1)
    return np.diff(values[cells], axis=0)


def expand_tables(
    offsets: np.ndarray, values: np.ndarray, heights: np.ndarray, n_levels: int
) -> np.ndarray:
    """Return the tables as a full array (columns of values, d, n_levels).

    ``heights`` (g,) are the levels that the features' first, second, … cells stand for.
    """
    of_cells = heights[np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))]
    full, all_levels = tables_at(offsets, of_cells, values, np.arange(n_levels))
    cells = np.minimum(full[:-1, None] + np.arange(n_levels), full[1:, None] - 1)
    return np.stack([column[cells] for column in all_levels.T])


def _cells_of(offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First cell and highest level of every feature, int32."""
    if offsets[-1] > np.iinfo(np.int32).max:
        raise ValueError(f"tables of {offsets[-1]} cells; at most 2**31 can be addressed")
    return offsets[:-1].astype(np.int32), (np.diff(offsets) - 1).astype(np.int32)
