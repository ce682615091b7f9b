"""The nearest word of many descriptors, exactly, in up to three steps of growing precision."""

import numpy as np

from visualwords.codebook._nearest import (
    GROUP,
    LANES,
    POINTS,
    as_pairs,
    best_in_block,
    best_two,
    settle,
)

__all__ = ["NearestWords"]

_BLOCK = 192 * POINTS  # descriptors treated at once, so that words stay in the second-level cache
_WORDS = 1024  # words treated at once, likewise
_FEW = 2000  # pairs of a descriptor and a word that are compared in float64 at once
_LARGEST = 2.0**30  # of a score in whole numbers; leaves room for differences


class NearestWords:
    """Words prepared for finding the nearest one, ``argmin_k ‖x − w_k‖²``.

    The scores xᵀw − ½‖w‖² of bytes come from products of whole numbers with words rounded to 16
    bits; those of other numbers from a matrix product in float32. Where the two best of a
    descriptor are closer than rounding can explain, the next precision decides: float32 after
    16 bits, float64 after float32, or at once where there are few. So the labels are those of
    float64, whatever the library, the number of threads and the other descriptors; of equally near
    words the first is taken.

    Parameters
    ----------
    words : (n_words, d) float32

    Examples
    --------
    >>> import numpy as np
    >>> words = NearestWords(np.array([[0, 0], [8, 0]], np.float32))
    >>> words.find(np.array([[1, 2], [9, 9], [4, 0]], np.uint8)).tolist()
    [0, 1, 0]
    """

    def __init__(self, words: np.ndarray):
        self.words = np.ascontiguousarray(words, np.float32)
        self._squares = np.einsum("kd,kd->k", self.words, self.words, dtype=np.float64)
        self._bias = (-0.5 * self._squares).astype(np.float32)
        self._longest = float(np.sqrt(self._squares.max()))
        self._packed = _pack(self.words, self._squares) if LANES else None

    def find(self, descriptors: np.ndarray) -> np.ndarray:
        """Return the nearest word of each descriptor.

        Parameters
        ----------
        descriptors : (n, d) array, C order, of uint8, uint16 or float32

        Returns
        -------
        (n,) int32
        """
        labels = np.empty(len(descriptors), np.int32)
        if len(labels) and descriptors.dtype == np.uint8 and self._packed is not None:
            close = _find_in_whole_numbers(descriptors, *self._packed, labels)
            if close.size * len(self.words) <= _FEW:
                settle(descriptors, self.words, close, labels)
            else:
                labels[close] = self._find_by_products(descriptors[close])
            return labels
        return self._find_by_products(descriptors)

    def _find_by_products(self, descriptors: np.ndarray) -> np.ndarray:
        """Labels by matrix products in float32, settled in float64 where it is close."""
        n, d = descriptors.shape
        size = min(_BLOCK, n)
        block = np.empty((size, d), np.float32)
        scores = np.empty((len(self.words), size), np.float32)
        best, second = np.empty(size, np.float32), np.empty(size, np.float32)
        labels, close = np.empty(n, np.int32), [np.empty(0, np.int64)]
        for start in range(0, n, _BLOCK):
            rows = slice(start, min(start + _BLOCK, n))
            m = rows.stop - start
            x = block[:m]
            x[...] = descriptors[rows]
            products = np.matmul(self.words, x.T, out=scores if m == size else None)
            best_two(products, self._bias, labels[rows], best[:m], second[:m])
            certain = best[:m] - second[:m] > self._rounding_error(x)
            close.append(np.flatnonzero(~certain) + start)
        settle(descriptors, self.words, np.concatenate(close), labels)
        return labels

    def _rounding_error(self, x: np.ndarray) -> np.ndarray:
        """How far the difference of two scores may be off: several times what is expected."""
        lengths = np.sqrt(np.einsum("nd,nd->n", x, x))
        slack = 2 + np.sqrt(x.shape[1])
        return (slack * 2.0**-24 * self._longest) * (lengths + self._longest)


def _find_in_whole_numbers(
    descriptors: np.ndarray,
    packed: np.ndarray,
    bias: np.ndarray,
    unsure: np.float32,
    labels: np.ndarray,
) -> np.ndarray:
    """Write the labels; return the rows where rounding the words may have decided."""
    n, d = descriptors.shape
    size = min(_BLOCK, -(-n // POINTS) * POINTS)
    halves, lengths = np.zeros((size, d + d % 2), np.int16), np.empty(size, np.float32)
    pairs, step = halves.view(np.int32), _WORDS // GROUP
    scores = np.empty(POINTS * min(_WORDS, len(bias)), np.int32)
    numbers = np.arange(_WORDS, dtype=np.int32)
    best, close = np.empty(size, np.int32), np.zeros(n, np.bool_)
    for start in range(0, n, size):
        m = as_pairs(descriptors, start, halves, lengths)
        rows = slice(start, start + m)
        for group in range(0, len(packed), step):
            first, some = group * GROUP, packed[group : group + step]
            width = len(some) * GROUP
            best_in_block(
                *(pairs, m, lengths, some, first, bias[first : first + width], unsure),
                *(scores[: POINTS * width].reshape(POINTS, width), numbers[:width]),
                *(labels[rows], best[:m], close[rows]),
            )
    return np.flatnonzero(close)


def _pack(words: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.float32]:
    """Words as 16-bit numbers in groups, their −½‖w‖² alike, and how unsure a difference is.

    By Cauchy and Schwarz the product of x with a word's rounding errors e is at most ‖x‖ ‖e‖.
    """
    k, d = words.shape
    n_groups = -(-k // GROUP)
    largest_score = (255 * np.abs(words).sum(axis=1, dtype=np.float64) + 0.5 * squares).max()
    largest = float(np.abs(words).max())
    scale = min(32767 / max(largest, 1e-30), _LARGEST / max(largest_score, 1e-30))
    scaled = words * scale
    rounded = np.zeros((n_groups * GROUP, d + d % 2), np.int16)
    rounded[:k, :d] = np.rint(scaled)
    error = np.sqrt(((rounded[:k, :d] - scaled) ** 2).sum(axis=1)).max()
    bias = np.full(n_groups * GROUP, -_LARGEST - 1, np.int32)  # no word: never the best
    bias[:k] = np.rint(-0.5 * scale * squares)
    packed = rounded.view(np.int32).reshape(n_groups, GROUP, -1).transpose(0, 2, 1)
    return np.ascontiguousarray(packed), bias, np.float32(2.001 * error)
