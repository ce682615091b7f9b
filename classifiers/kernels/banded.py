"""Bring the non-zeros of a sparse Gram matrix near its diagonal, and report the bandwidth."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee


class Reordering(NamedTuple):
    """A reordered Gram matrix and what the reordering did."""

    gram: sparse.csr_array
    """K[order][:, order]."""
    order: np.ndarray
    """Reverse Cuthill–McKee permutation, shape (n,)."""
    bandwidth_before: int
    """Largest |i − j| of a non-zero before …"""
    bandwidth: int
    """… and after."""
    density: float
    """Share of non-zeros."""


def bandwidth(gram: Any) -> int:
    """Return the largest |i − j| of a stored entry of a sparse matrix.

    Examples
    --------
    >>> bandwidth(sparse.csr_array([[1, 0, 2], [0, 1, 0], [2, 0, 1]]))
    2
    """
    entries = sparse.coo_array(gram)
    return int(np.max(np.abs(entries.row.astype(np.int64) - entries.col), initial=0))


def reorder(gram: Any) -> Reordering:
    """Permute a symmetric sparse Gram matrix to a band: [Boughorbel06], Sec. 4 and Fig. 2.

    Parameters
    ----------
    gram : sparse matrix of shape (n, n), symmetric

    Returns
    -------
    Reordering

    Examples
    --------
    >>> reorder(sparse.csr_array([[1, 0, 2], [0, 1, 0], [2, 0, 1]])).bandwidth
    1
    """
    order = reverse_cuthill_mckee(sparse.csr_matrix(gram), symmetric_mode=True).astype(np.intp)
    banded = sparse.csr_array(sparse.csr_array(gram)[order][:, order])
    banded.sort_indices()
    n = max(1, banded.shape[0])
    return Reordering(banded, order, bandwidth(gram), bandwidth(banded), banded.nnz / n**2)
