"""Levels of features: which occur, their cells in tables, and rows in an order of their own.

A model depends neither on the order in which samples are given nor on whether a sample is repeated
or given a weight: training rows are ordered by their content, and equal ones are merged.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from visualwords.classifiers.tables import _tables as loops

Levels = np.ndarray | sparse.csr_matrix  # (n, d), unsigned


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
        """Return the level of every cell, float32."""
        sizes = np.diff(self.offsets)
        numbers = np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], sizes)
        return self.heights[numbers].astype(np.float32)


def layout_of(heights: np.ndarray, offsets: np.ndarray, n_levels: int) -> TableLayout:
    """Return the layout of tables whose features have the first few of some heights."""
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
        loops.mark(levels.data, present)
        return layout_of_features(present, highest.toarray().ravel())
    loops.mark(np.ascontiguousarray(levels).reshape(-1), present)
    return layout_of_features(present, highest)


def layout_of_features(present: np.ndarray, highest: np.ndarray) -> TableLayout:
    """Return the layout for the levels that are marked as present, and each feature's highest."""
    present[0] = True
    heights = np.flatnonzero(present)
    if 2 * heights.size > heights[-1]:
        heights = np.arange(heights[-1] + 1)
    sizes = np.searchsorted(heights, highest) + 1
    return layout_of(heights, np.concatenate([[0], np.cumsum(sizes)]), present.size)


def cells_of_rows(levels: Levels, order: np.ndarray, layout: TableLayout) -> Levels:
    """Return the numbers of the levels of some rows, in the same form."""
    numbers = layout.number_of.astype(levels.dtype)
    if not sparse.issparse(levels):
        return numbers[levels[order]]
    rows = levels[order]
    rows.data = numbers[rows.data]
    return rows


def row_norms(levels: Levels) -> np.ndarray:
    """Return Σ_j x_ij, which is the kernel's value of every row with itself; float64."""
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
    factors = rng.integers(0, 2**64, levels.shape[1] + 1, dtype=np.uint64) | np.uint64(1)
    if sparse.issparse(levels):
        keys = levels @ factors[:-1]
    else:
        keys = np.empty(len(levels), np.uint64)
        loops.hash_rows(levels, factors[:-1], keys)
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
