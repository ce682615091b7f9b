"""The best word by sums of look-ups."""

import numpy as np

from visualwords.codebook._hik import best_columns, sum_tables
from visualwords.simd import aligned_zeros

__all__ = ["WordTables"]

_BLOCK = 16384  # descriptors at most that are looked up in 8 tables before the next 8 are read
_SUMS = 1 << 22  # numbers at most that are summed at a time
_VECTOR = 16  # columns are padded to whole vectors


class WordTables:
    """Scores ``b_k + Σ_j T[j, x_j, k]`` of words k, with tables rounded to 16 bits.

    Parameters
    ----------
    tables : (d, n_levels, n_words) uint16
    bias : (n_words,) uint16
        Sums of a word's numbers, one a dimension, must stay below 2¹⁶.

    Examples
    --------
    >>> import numpy as np
    >>> tables = np.array([[[0, 0], [3, 1], [4, 9]]], np.uint16)
    >>> words = WordTables(tables, np.array([0, 1], np.uint16))
    >>> labels, scores = words.find(np.array([[0], [1], [2]], np.uint8))
    >>> labels.tolist(), scores.tolist()
    ([1, 0, 1], [1, 3, 10])
    """

    def __init__(self, tables: np.ndarray, bias: np.ndarray):
        d, n_levels, self.n_words = tables.shape
        width = -(-self.n_words // _VECTOR) * _VECTOR
        self._tables = aligned_zeros((d, n_levels, width), np.uint16)
        self._tables[:, :, : self.n_words] = tables
        self._bias = np.zeros(width, np.uint16)
        self._bias[: self.n_words] = bias

    @property
    def tables(self) -> np.ndarray:
        """The tables as they were given."""
        return self._tables[:, :, : self.n_words]

    @property
    def bias(self) -> np.ndarray:
        """The first summand of each word."""
        return self._bias[: self.n_words]

    def find(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the word of the largest score, the first of equals, and that score.

        Parameters
        ----------
        levels : (n, d) uint8, C order, below ``n_levels``

        Returns
        -------
        labels : (n,) int32
        scores : (n,) uint16
        """
        labels, scores = np.empty(len(levels), np.int32), np.empty(len(levels), np.uint16)
        block = max(1, min(_BLOCK, _SUMS // len(self._bias), len(levels)))
        sums = aligned_zeros((block, len(self._bias)), np.uint16)
        for start in range(0, len(levels), block):
            some = labels[start : start + block]
            part = sums[: len(some)]
            part[...] = self._bias
            sum_tables(levels, start, self._tables, part)
            best_columns(part, some, scores[start : start + block])
        return labels, scores

    def scores(self, levels: np.ndarray) -> np.ndarray:
        """Return all scores, (n, n_words) uint16."""
        sums = np.tile(self._bias, (len(levels), 1))
        sum_tables(levels, 0, self._tables, sums)
        return sums[:, : self.n_words]
