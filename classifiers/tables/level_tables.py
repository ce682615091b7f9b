"""Tables of additive models, compact: every feature has only levels that training saw.

A model depends neither on the order in which samples are given nor on whether a sample is repeated
or given a weight: training rows are ordered by their content, and equal ones are merged.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from visualwords.classifiers.quantizer import Quantizer
from visualwords.classifiers.row_file import RowFile
from visualwords.compiled import njit
from visualwords.parallel import in_threads

_FEATURES_AT_A_TIME = 256  # their tables stay in the second-level cache while all rows pass
_ROWS_AT_A_TIME = 512
_BYTES_OF_SAMPLE = 1 << 26  # of a file's rows, which decide about the quantisation
Levels: TypeAlias = Any  # (n, d), unsigned: an array or CSR matrix, which has no types


class TableLayout(NamedTuple):
    """Which levels have a cell in a table.

    Histograms of counts have few levels: Eq. 13 with 100 bins maps counts of 0 … 5 to 6 of 101.

    Attributes
    ----------
    heights : (g,) int64
        Levels that have a number, ascending from 0; all if half of them occur.
    number_of : (n_levels,) int32
        Number of every level, or of the next lower one that has a number.
    offsets : (d + 1,) int64
        First cell of every feature, which has the levels up to its highest in training.
    """

    heights: np.ndarray
    number_of: np.ndarray
    offsets: np.ndarray

    def cell_heights(self) -> np.ndarray:
        """The level of every cell, float32."""
        sizes = np.diff(self.offsets)
        numbers = np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], sizes)
        return self.heights[numbers].astype(np.float32)


def layout_of(heights: np.ndarray, offsets: np.ndarray, n_levels: int) -> TableLayout:
    """The layout of tables whose features have the first few of some heights."""
    if offsets[-1] > np.iinfo(np.int32).max:
        raise ValueError(f"tables of {offsets[-1]} cells; at most 2**31 can be addressed")
    numbers = np.searchsorted(heights, np.arange(n_levels), side="right") - 1
    return TableLayout(heights, numbers.astype(np.int32), offsets)


def learn_layout(levels: Levels) -> TableLayout:
    """Give a number to the levels that occur anywhere, and a cell to those that a feature needs.

    Examples
    --------
    >>> layout = learn_layout(np.array([[0, 20, 100], [20, 0, 20]], np.uint8))
    >>> layout.heights.tolist(), layout.offsets.tolist()
    ([0, 20, 100], [0, 2, 4, 7])
    """
    present = np.zeros(np.iinfo(levels.dtype).max + 1, np.bool_)
    highest = levels.max(axis=0)
    if sparse.issparse(levels):
        mark(levels.data, present)
        return layout_of_features(present, highest.toarray().ravel())
    mark(np.ascontiguousarray(levels).reshape(-1), present)
    return layout_of_features(present, highest)


def layout_of_features(present: np.ndarray, highest: np.ndarray) -> TableLayout:
    """The layout for the levels that are marked as present, and each feature's highest."""
    present[0] = True
    heights = np.flatnonzero(present)
    if 2 * heights.size > heights[-1]:
        heights = np.arange(heights[-1] + 1)
    sizes = np.searchsorted(heights, highest) + 1
    return layout_of(heights, np.concatenate([[0], np.cumsum(sizes)]), present.size)


def levels_in_file(
    X: RowFile, learn: Callable[[np.ndarray, np.ndarray | None], Quantizer]
) -> tuple[RowFile, TableLayout]:
    """A file with the levels of all rows, by a quantisation learned from the first rows.

    Parameters
    ----------
    X : RowFile
        Rows of numbers in random order.
    learn : function of rows and weights that gives a quantizer

    Returns
    -------
    levels : RowFile
        Beside X.
    layout : TableLayout
    """
    n_sample = max(1, _BYTES_OF_SAMPLE // max(X.shape[1] * X.dtype.itemsize, 1))
    quantizer = learn(X[:n_sample], None)
    levels = RowFile(f"{X.path}-levels")
    present, highest = np.zeros(256, np.bool_), np.zeros(X.shape[1], np.uint8)
    for start in range(0, len(X), n_sample):
        some = quantizer.levels_of(X[start : start + n_sample])
        if some.dtype != np.uint8:
            raise ValueError("rows of a file need at most 256 levels; lower n_bins")
        levels.append(some)
        present[np.unique(some)] = True
        highest = np.maximum(highest, some.max(axis=0))
    return levels, layout_of_features(present, highest)


def cells_of_rows(levels: Levels, order: np.ndarray, layout: TableLayout) -> Levels:
    """The numbers of the levels of some rows, in the same form."""
    numbers = layout.number_of.astype(levels.dtype)
    if not sparse.issparse(levels):
        return numbers[levels[order]]
    rows = levels[order]
    rows.data = numbers[rows.data]
    return rows


def row_norms(levels: Levels) -> np.ndarray:
    """Σ_j x_ij, which is the kernel's value of every row with itself; float64."""
    return np.asarray(levels.sum(axis=1, dtype=np.float64)).ravel()


def canonical_rows(
    levels: Levels, codes: np.ndarray, cost: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Order the rows of positive cost by content, and merge equal ones of the same class.

    Parameters
    ----------
    levels : (n, d) unsigned array or CSR matrix
    codes : (n,) int
        Class of every row.
    cost : (n,) float64

    Returns
    -------
    rows : (m,) int64
        One row of each group of equal ones.
    cost : (m,) float64
        Sums of the groups' costs.
    """
    rng = np.random.default_rng(levels.shape[1])
    factors: np.ndarray = rng.integers(0, 2**64, levels.shape[1] + 1, dtype=np.uint64)
    factors |= np.uint64(1)
    if sparse.issparse(levels):
        keys = levels @ factors[:-1]
    else:
        keys = np.empty(len(levels), np.uint64)
        hash_rows(levels, factors[:-1], keys)
    keys += codes.astype(np.uint64) * factors[-1]
    taking_part = np.flatnonzero(cost > 0)
    order = taking_part[np.argsort(keys[taking_part], kind="stable")]
    first = np.ones(order.size, np.bool_)
    same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]]) + 1
    if same.size:  # keys are equal by chance once in 2⁶⁴ pairs
        left, right = levels[order[same - 1]], levels[order[same]]
        if sparse.issparse(levels):
            equal = (left != right).getnnz(axis=1) == 0
        else:
            equal = np.all(left == right, axis=1)
        first[same[equal & (codes[order[same - 1]] == codes[order[same]])]] = False
    merged = np.bincount(np.cumsum(first) - 1, weights=cost[order], minlength=int(first.sum()))
    return order[first], merged


class CellLists(NamedTuple):
    """The cells of some rows at levels above 0, some features after the other.

    Attributes
    ----------
    parts : list of (first, last, starts, cells)
        Of the features first … last − 1, row i has ``cells[starts[i] : starts[i + 1]]``.
    """

    parts: list[tuple[int, int, np.ndarray, np.ndarray]]

    @classmethod
    def of(
        cls, levels: Levels, rows: np.ndarray, layout: TableLayout, first: int = 0, last: int = -1
    ) -> "CellLists":
        """List the cells of some rows, and features if the levels are dense.

        Examples
        --------
        >>> levels = np.array([[1, 2], [0, 1]], np.uint8)
        >>> [(_, _, starts, cells)] = CellLists.of(levels, np.arange(2), learn_layout(levels)).parts
        >>> starts.tolist(), cells[:3].tolist()
        ([0, 2, 3], [1, 4, 3])
        """
        d, parts = levels.shape[1], []
        if sparse.issparse(levels):
            some = levels[rows]
            cells = np.empty(some.nnz, np.int32)
            list_sparse_cells(some.data, some.indices, layout, cells)
            return cls([(0, d, some.indptr.astype(np.int64), cells)])
        last = d if last < 0 else last
        for start in range(first, last, _FEATURES_AT_A_TIME):
            stop = min(start + _FEATURES_AT_A_TIME, last)
            starts = np.empty(rows.size + 1, np.int64)
            cells = np.empty(rows.size * (stop - start) + 1, np.int32)
            list_cells(levels, rows, start, stop, layout, starts, cells)
            parts.append((start, stop, starts, cells))
        return cls(parts)

    def add_scores(self, values: np.ndarray, out: np.ndarray) -> None:
        """Add the sums of look-ups in tables (cells, n_outputs) to (n, n_outputs) float64."""
        for _, _, starts, cells in self.parts:
            look_up(starts, cells, values, out)

    def add_tables(
        self, coefficients: np.ndarray, offsets: np.ndarray, heights: np.ndarray, tables: np.ndarray
    ) -> None:
        """Add T_jk = Σ_i c_i min(x_ij, k) to tables (cells, n_outputs)."""
        for first, last, starts, cells in self.parts:
            here = slice(offsets[first], offsets[last])
            sums = np.zeros((here.stop - here.start, tables.shape[1]), tables.dtype)
            sum_by_cell(starts, cells, here.start, coefficients, sums)
            tables_from_sums(offsets[first : last + 1] - here.start, heights[here], sums)
            tables[here] += sums


def build_tables(
    levels: Levels,
    rows: np.ndarray,
    coefficients: np.ndarray,
    layout: TableLayout,
    n_jobs: int | None = None,
) -> np.ndarray:
    """T_jk = Σ_i c_i min(x_ij, k) of several outputs ([Wu10], Sec. 3.2).

    Parameters
    ----------
    levels : (n, d) unsigned array or CSR matrix
    rows : (m,) int
        The samples that take part.
    coefficients : (m, n_outputs) float64
    layout : TableLayout
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    (cells, n_outputs) float32
    """
    coefficients = np.ascontiguousarray(coefficients, np.float64)
    tables = np.empty((layout.offsets[-1], coefficients.shape[1]), np.float32)
    heights = layout.cell_heights()

    def build(first: int, last: int) -> None:
        start, end = layout.offsets[first], layout.offsets[last]
        sums = np.zeros((end - start, coefficients.shape[1]))
        for k in range(0, rows.size, _ROWS_AT_A_TIME):
            some = slice(k, k + _ROWS_AT_A_TIME)
            for _, _, starts, cells in CellLists.of(levels, rows[some], layout, first, last).parts:
                sum_by_cell(starts, cells, start, coefficients[some], sums)
        tables_from_sums(layout.offsets[first : last + 1] - start, heights[start:end], sums)
        tables[start:end] = sums

    d = levels.shape[1]
    in_threads(build, d, d if sparse.issparse(levels) else _FEATURES_AT_A_TIME, n_jobs)
    return tables


def table_scores(
    levels: Levels, layout: TableLayout, values: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """The scores Σ_j T[j, x_ij], (n, n_outputs) float64.

    Tables are linear between levels that have a cell; a level above a feature's highest counts as
    that one.

    Parameters
    ----------
    levels : (n, d) unsigned array or CSR matrix
    layout : TableLayout
    values : (cells, n_outputs) float32
    n_jobs : int or None
        Threads; the result does not depend on it.
    """
    out = np.zeros((levels.shape[0], values.shape[1]))
    unseen = np.ones(layout.number_of.size, np.bool_)
    unseen[layout.heights[layout.heights < unseen.size]] = False
    unseen[layout.heights[-1] :] = False
    present = np.zeros(unseen.size, np.bool_)
    mark(levels.data if sparse.issparse(levels) else levels.reshape(-1), present)
    between = bool((unseen & present).any())

    def score(start: int, end: int) -> None:
        rows = np.arange(start, end)
        CellLists.of(levels, rows, layout).add_scores(values, out[start:end])
        if between:
            _add_rises(levels[start:end], unseen, layout, values, out[start:end])

    in_threads(score, levels.shape[0], _ROWS_AT_A_TIME, n_jobs)
    return out


def _add_rises(
    levels: Levels, unseen: np.ndarray, layout: TableLayout, values: np.ndarray, out: np.ndarray
) -> None:
    """Add what tables rise from the next lower cell to levels that have none."""
    if sparse.issparse(levels):
        places = np.flatnonzero(unseen[levels.data])
        rows = np.searchsorted(levels.indptr, places, side="right") - 1
        columns, found = levels.indices[places], levels.data[places]
    else:
        rows, columns = np.nonzero(unseen[levels])
        found = levels[rows, columns]
    below, above, share = cells_around(found, columns, layout)
    rises = share[:, None] * (values[above] - values[below])
    by_row = sparse.csr_matrix(
        (np.ones(rows.size), (rows, np.arange(rows.size))), (len(out), rows.size)
    )
    out += by_row @ rises


def cells_around(
    levels: np.ndarray, columns: np.ndarray, layout: TableLayout
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cells below and above levels of features, and the share of the way between them.

    Examples
    --------
    >>> layout = layout_of(np.array([0, 2, 4]), np.array([0, 3, 5]), 10)
    >>> below, above, share = cells_around(np.array([0, 3, 9]), np.array([0, 0, 1]), layout)
    >>> below.tolist(), above.tolist(), share.tolist()
    ([0, 1, 4], [1, 2, 4], [0.0, 0.5, 0.0])
    """
    heights, offsets = layout.heights, layout.offsets
    top = offsets[columns + 1] - offsets[columns] - 1
    number = layout.number_of[levels]
    below, above = np.minimum(number, top), np.minimum(number + 1, top)
    rise = heights[above] - heights[below]
    share = np.where(rise > 0, (levels - heights[below]) / np.maximum(rise, 1), 0)
    return offsets[columns] + below, offsets[columns] + above, share.astype(np.float32)


def expand_tables(layout: TableLayout, values: np.ndarray, n_levels: int) -> np.ndarray:
    """The tables as a full array (n_outputs, d, n_levels)."""
    d = layout.offsets.size - 1
    levels, columns = np.tile(np.arange(n_levels), d), np.repeat(np.arange(d), n_levels)
    below, above, share = cells_around(levels, columns, layout)
    full = values[below] + share[:, None] * (values[above] - values[below])
    return np.ascontiguousarray(full.T).reshape(-1, d, n_levels)


# Loops over the tables T of additive models: cells of rows, sums of look-ups, and building.
#
# The tables of all outputs lie in one array ``values`` (cells, n_outputs). Feature j owns the rows
# ``offsets[j] … offsets[j + 1] - 1``, one for each numbered level up to its highest in training.


@njit()
def mark(levels, present):
    """present[k] = True for all levels k that occur."""
    for k in range(np.uint64(levels.size)):
        present[levels[k]] = True


@njit()
def hash_rows(x, factors, out):
    """out[i] = sum_j x[i, j] factors[j] modulo 2**64; factors are odd random numbers."""
    for i in range(x.shape[0]):
        total = np.uint64(0)
        for j in range(np.uint64(x.shape[1])):
            total += np.uint64(x[i, j]) * factors[j]
        out[i] = total


@njit()
def list_cells(levels, rows, first, last, layout, starts, cells):
    """List the cells of some rows at levels above 0, features first … last - 1.

    levels : (n, d) unsigned      starts : (rows + 1,) int64      cells : int32
    Row r has the positions ``starts[r] … starts[r + 1] - 1``; level 0, where T is 0, is left out.
    """
    place = np.uint64(0)
    for r in range(rows.size):
        starts[r] = place
        row = levels[rows[r]]
        for j in range(np.uint64(first), np.uint64(last)):  # no branch: it can't be predicted
            start = layout.offsets[j]
            top = layout.offsets[j + np.uint64(1)] - start - 1
            cells[place] = start + min(np.int64(layout.number_of[row[j]]), top)
            place += np.uint64(row[j] != 0)
    starts[rows.size] = place


@njit()
def list_sparse_cells(data, indices, layout, cells):
    """Cells of the entries of a CSR matrix."""
    for k in range(np.uint64(data.size)):
        start = layout.offsets[indices[k]]
        top = layout.offsets[indices[k] + 1] - start - 1
        cells[k] = start + min(np.int64(layout.number_of[data[k]]), top)


@njit()
def add_four(a, b, c, d, out):
    """out += a + b + c + d."""
    for k in range(np.uint64(out.size)):
        out[k] += (a[k] + b[k]) + (c[k] + d[k])


@njit()
def add_one(a, factor, out):
    """out += factor a."""
    for k in range(np.uint64(out.size)):
        out[k] += factor * a[k]


@njit()
def sum_of(values, cells):
    """Sum of values[cells], in four parts that do not wait for each other."""
    a = b = c = d = 0.0
    whole = cells.size - cells.size % 4
    for k in range(0, whole, 4):
        a += values[cells[k], 0]
        b += values[cells[k + 1], 0]
        c += values[cells[k + 2], 0]
        d += values[cells[k + 3], 0]
    for k in range(whole, cells.size):
        a += values[cells[k], 0]
    return (a + b) + (c + d)


@njit()
def look_up(starts, cells, values, out):
    """out[i] += sum of values over the listed cells of row i  [Wu10, Eq. 6]; out : float64."""
    one = np.float32(1)
    for i in range(out.shape[0]):
        here = cells[starts[i] : starts[i + 1]]
        if out.shape[1] == 1:
            out[i, 0] += sum_of(values, here)
            continue
        whole = here.size - here.size % 4
        for k in range(0, whole, 4):
            add_four(
                values[here[k]], values[here[k + 1]], values[here[k + 2]], values[here[k + 3]],
                out[i],
            )  # fmt: skip
        for k in range(whole, here.size):
            add_one(values[here[k]], one, out[i])


@njit()
def sum_by_cell(starts, cells, first, coefficients, sums):
    """sums[cell - first] += c_i for the listed cells of all rows i; c_i: coefficients[i]."""
    one = sums.dtype.type(1)
    for i in range(starts.size - 1):
        if not coefficients[i].any():
            continue
        if sums.shape[1] == 1:
            for k in range(starts[i], starts[i + 1]):
                sums[cells[k] - first, 0] += coefficients[i, 0]
        else:
            for k in range(starts[i], starts[i + 1]):
                add_one(coefficients[i], one, sums[cells[k] - first])


@njit()
def tables_from_sums(offsets, heights, sums):
    """Turn sums by level into T_jk = sum_i c_i min(x_ij, k)  [Wu10, Eq. 6 and 9], in place.

    heights : the level of every cell, ascending in each feature
    """
    for j in range(offsets.size - 1):
        for k in range(offsets[j + 1] - 2, offsets[j], -1):  # w_jk: all levels >= k
            for c in range(sums.shape[1]):
                sums[k, c] += sums[k + 1, c]
        sums[offsets[j]] = 0.0
        for k in range(offsets[j] + 1, offsets[j + 1]):
            rise = heights[k] - heights[k - 1]
            for c in range(sums.shape[1]):
                sums[k, c] = sums[k - 1, c] + rise * sums[k, c]
