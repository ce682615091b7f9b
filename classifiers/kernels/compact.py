"""The compactly supported family: GCS, CS, triangular, circular and spherical kernels.

All are functions of u = ‖x − y‖ / 2r that vanish for u ≥ 1, so their Gram matrices can be sparse.

References
----------
.. [Boughorbel06] S. Boughorbel, J.-P. Tarel, F. Fleuret, N. Boujemaa, "GCS Kernel for SVM-Based
   Image Recognition".
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse as sp
from scipy.special import beta, betaincc

from visualwords.classifiers.kernels._compact import (
    dense_distances,
    fill_dense,
    fill_sparse,
    sparse_distances,
)
from visualwords.classifiers.kernels.checked_rows import check_rows, power_remap

N_CELLS = 2048
ROOTED_UP_TO = 12  # dimensions whose Φ is tabulated in √(1−u): it bends too sharply at u = 1
BLOCK_ENTRIES = 1 << 18  # inner products at a time: 2 MB, so that they stay in the cache
FEW_ROWS = 64  # below, distances of sparse rows are found from their non-zeros
TILE_ENTRIES = 1 << 22  # of sparse rows made dense at a time: 32 MB


def phi(u: Any, n: int) -> np.ndarray:
    """Φₙ(u) in closed form: the integral of [Boughorbel06], Eq. (3).

    Φₙ(u) = ½ B(½, (n+1)/2) · (1 − I_{u²}(½, (n+1)/2)) for 0 ≤ u ≤ 1, and 0 beyond.

    Parameters
    ----------
    u : array-like, ≥ 0
        Distance over 2r.
    n : int ≥ 1
        Dimension of the balls.

    Notes
    -----
    Eq. (4) of the paper prints φ₂ = arccos u − u√(1−u²); the integral (3) and the recursion over
    n need half of that. The complement in u² is used because I_{1−u²} loses digits near u = 0.

    Examples
    --------
    >>> phi([0.0, 0.5, 2.0], 1)
    array([1. , 0.5, 0. ])
    """
    u = np.minimum(np.asarray(u, dtype=np.float64), 1.0)
    return 0.5 * beta(0.5, (n + 1) / 2) * betaincc(0.5, (n + 1) / 2, u * u)


@lru_cache(maxsize=32)
def phi_table(n: int) -> tuple[np.ndarray, float]:
    """Cubic Hermite cells of Φₙ, within 1e-12 Φₙ(0) of it, and where they end (0: in √(1−u)).

    The slopes are exact: dΦₙ/du = −(1−u²)^((n−1)/2), which also bounds Φₙ(u)/Φₙ(0); the cells end
    where the bound is 1e-15.
    """
    if n <= ROOTED_UP_TO:
        end, w = 0.0, np.linspace(0.0, 1.0, N_CELLS + 1)
        value = phi((1 - w) * (1 + w), n)
        slope = 2 * w * (w * w * (2 - w * w)) ** ((n - 1) / 2) / N_CELLS
    else:
        end = float(np.sqrt(-np.expm1(2 * np.log(1e-15) / (n - 1))))
        u = np.linspace(0.0, end, N_CELLS + 1)
        value = phi(u, n)
        slope = -(((1 - u) * (1 + u)) ** ((n - 1) / 2)) * end / N_CELLS
        value[-1] = 0.0
    return _hermite_cells(value, slope), end


def _hermite_cells(value: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """(N + 1, 4) coefficients of the cubics through N + 1 values, and of the last value alone."""
    rise, left, right = np.diff(value), slope[:-1], slope[1:]
    cells = np.zeros((len(value), 4))
    cells[:, 0] = value
    cells[:-1, 1] = left
    cells[:-1, 2] = 3 * rise - 2 * left - right
    cells[:-1, 3] = left + right - 2 * rise
    cells.flags.writeable = False
    return cells


def gcs(X: Any, Y: Any = None, *, radius: float, a: float = 1.0, sparse: bool = False) -> Any:
    """Geometric compactly supported kernel: the overlap of two balls of radius r.

    K(x, y) = Φₙ(‖xᵃ − yᵃ‖ / 2r) = ∫_{arcsin u}^{π/2} cosⁿθ dθ, n the number of columns; positive
    definite on Rⁿ.

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n_x, n), (n_y, n)
        Rows; ``Y`` defaults to ``X``.
    radius : float > 0
        r: points at least 2r apart have kernel value 0.
    a : float > 0
        Power remap of the values (0.25 in the paper), signs kept.
    sparse : bool
        Return a CSR array; the dense matrix is never built.

    Returns
    -------
    K : float64 array or CSR array of shape (n_x, n_y)

    Notes
    -----
    **Deviations from the paper.** Φₙ is tabulated (2048 cubic cells, error below 1e-12 Φₙ(0))
    instead of computed by the recursion (4), whose φ₂ is printed twice too large.

    References
    ----------
    [Boughorbel06], Sec. 3.

    Examples
    --------
    >>> gcs([[0.0], [1.0], [3.0]], radius=1.0)
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    """
    return _ball_gram("gcs", X, Y, radius, 0.0, a, sparse)


def cs(
    X: Any, Y: Any = None, *, radius: float, sigma: float, a: float = 1.0, sparse: bool = False
) -> Any:
    """Compactly supported kernel K_GCS · K_Laplace: sparse at a radius that suits the sparsity.

    K(x, y) = Φₙ(‖xᵃ − yᵃ‖ / 2r) · exp(−‖xᵃ − yᵃ‖ / σ).

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n_x, n), (n_y, n)
        Rows; ``Y`` defaults to ``X``.
    radius : float > 0
        r; the paper sets it so that 90 % of the Gram matrix is zero.
    sigma : float > 0
        Width of the Laplace factor.
    a : float > 0
        Power remap of the values (0.25 in the paper), signs kept.
    sparse : bool
        Return a CSR array; the dense matrix is never built.

    Returns
    -------
    K : float64 array or CSR array of shape (n_x, n_y)

    Notes
    -----
    **Deviations from the paper.** As for ``gcs``.

    References
    ----------
    [Boughorbel06], Sec. 5.

    Examples
    --------
    >>> cs([[0.0], [1.0], [3.0]], radius=1.0, sigma=1.0, sparse=True).nnz
    5
    """
    if not sigma > 0:
        raise ValueError(f"cs: sigma is {sigma}, but the Laplace factor needs sigma > 0")
    return _ball_gram("cs", X, Y, radius, sigma, a, sparse)


def triangular(
    X: Any, Y: Any = None, *, radius: float, a: float = 1.0, sparse: bool = False
) -> Any:
    """1 − u with u = ‖xᵃ − yᵃ‖ / 2r, for u < 1; positive definite on R only.

    Parameters and result are those of ``gcs``; [Boughorbel06], Table 1.

    Examples
    --------
    >>> triangular([[0.0], [1.0]], radius=1.0)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    return _ball_gram("triangular", X, Y, radius, 0.0, a, sparse, n=1)


def circular(X: Any, Y: Any = None, *, radius: float, a: float = 1.0, sparse: bool = False) -> Any:
    """arccos u − u √(1−u²) with u = ‖xᵃ − yᵃ‖ / 2r, for u < 1; positive definite up to R².

    Parameters and result are those of ``gcs``; [Boughorbel06], Table 1. It is 2 Φ₂.

    Examples
    --------
    >>> circular([[0.0, 0.0], [1.0, 0.0]], radius=1.0).round(4)
    array([[1.5708, 0.6142],
           [0.6142, 1.5708]])
    """
    return _ball_gram("circular", X, Y, radius, 0.0, a, sparse, n=2, scale=2.0)


def spherical(X: Any, Y: Any = None, *, radius: float, a: float = 1.0, sparse: bool = False) -> Any:
    """1 − 3u/2 + u³/2 with u = ‖xᵃ − yᵃ‖ / 2r, for u < 1; positive definite up to R³.

    Parameters and result are those of ``gcs``; [Boughorbel06], Table 1. It is 3/2 Φ₃.

    Examples
    --------
    >>> spherical([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], radius=1.0)
    array([[1.    , 0.3125],
           [0.3125, 1.    ]])
    """
    return _ball_gram("spherical", X, Y, radius, 0.0, a, sparse, n=3, scale=1.5)


def _ball_gram(
    kernel: str,
    X: Any,
    Y: Any,
    radius: float,
    sigma: float,
    a: float,
    sparse: bool,
    n: int | None = None,
    scale: float = 1.0,
) -> Any:
    """scale · Φₙ(u) · exp(−d/sigma) of all pairs of rows; n defaults to the number of columns."""
    if not 0 < radius < np.inf:
        raise ValueError(f"{kernel}: radius is {radius}, but the support needs a radius > 0")
    X, Y = check_rows(X, Y, kernel=kernel, dtype=np.float64, accept_sparse=True)
    x = power_remap(X, a)
    y = x if Y is X else power_remap(Y, a)
    table, end = phi_table(x.shape[1] if n is None else n)
    shape = (radius, table * scale, end, sigma)
    if not (sp.issparse(x) or sp.issparse(y)):
        return _gram_of_dense(x, y, shape, sparse)
    if min(x.shape[0], y.shape[0]) < FEW_ROWS:
        return _gram_of_few(sp.csr_array(x), sp.csr_array(y), shape, sparse)
    return _gram_by_tiles(x, y, shape, sparse)


def _gram_of_dense(x: np.ndarray, y: np.ndarray, shape: tuple, sparse: bool) -> Any:
    """Kernel values of dense rows; those of x against themselves if y is x."""
    symmetric = y is x
    centre = x.mean(axis=0) if len(x) else 0.0  # shorter vectors, less cancellation
    x = x - centre
    y = x if symmetric else y - centre
    return (_sparse_gram if sparse else _dense_gram)(x, y, symmetric, shape)


def _gram_of_few(x: sp.csr_array, y: sp.csr_array, shape: tuple, sparse: bool) -> Any:
    """Kernel values of sparse rows, few on one side, from their non-zeros."""
    sides = [(side.indptr, side.indices, side.data) for side in (x, y)]
    if x.shape[0] > y.shape[0]:  # every row of the first side is made dense
        gram = np.ascontiguousarray(sparse_distances(*sides[1], *sides[0], x.shape[1]).T)
    else:
        gram = sparse_distances(*sides[0], *sides[1], x.shape[1])
    fill_dense(gram, *shape)
    return sp.csr_array(gram) if sparse else gram


def _gram_by_tiles(x: Any, y: Any, shape: tuple, sparse: bool) -> Any:
    """Kernel values of sparse rows that are made dense some at a time."""

    def dense(rows: Any, start: int) -> np.ndarray:
        part = rows[start : start + step]
        return part.toarray() if sp.issparse(part) else part

    step = max(FEW_ROWS, TILE_ENTRIES // max(1, x.shape[1]))
    stripes: list[list[Any]] = []
    for top in range(0, x.shape[0], step):
        above = dense(x, top)
        stripe: list[Any] = []
        for left in range(0, y.shape[0], step):
            if y is x and left < top:
                stripe.append(stripes[left // step][top // step].T)
            else:
                beside = above if y is x and left == top else dense(y, left)
                stripe.append(_gram_of_dense(above, beside, shape, sparse))
        stripes.append(stripe)
    return sp.csr_array(sp.block_array(stripes)) if sparse else np.block(stripes)


def _blocks(x: np.ndarray, y: np.ndarray, symmetric: bool) -> Iterator[tuple[int, int, int, int]]:
    """Rows ``top:bottom``, first column ``left`` and the diagonal's start for each block."""
    top = 0
    while top < len(x):
        left = top if symmetric else 0
        bottom = min(len(x), top + max(1, BLOCK_ENTRIES // max(1, len(y) - left)))
        yield top, bottom, left, 0 if symmetric else -len(x)
        top = bottom


def _dense_gram(x: np.ndarray, y: np.ndarray, symmetric: bool, shape: tuple) -> np.ndarray:
    """Fill the Gram matrix block by block; of a symmetric one the upper half, then mirror it."""
    nx, ny = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", y, y)
    gram = np.empty((len(x), len(y)))
    for top, bottom, left, _ in _blocks(x, y, symmetric):
        block = x[top:bottom] @ y[left:].T
        dense_distances(block, x[top:bottom], y[left:], nx[top:bottom], ny[left:], shape[0])
        fill_dense(block, *shape)
        gram[top:bottom, left:] = block
        if symmetric:
            gram[left:, top:bottom] = block.T
    return gram


def _sparse_gram(x: np.ndarray, y: np.ndarray, symmetric: bool, shape: tuple) -> sp.csr_array:
    """Collect the non-zeros block by block; of a symmetric matrix the upper half, then mirror."""
    nx, ny = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", y, y)
    counts = np.zeros(len(x), dtype=np.int64)
    columns, values = [np.empty(0, np.int32)], [np.empty(0)]
    for top, bottom, left, first in _blocks(x, y, symmetric):
        block = x[top:bottom] @ y[left:].T
        found = np.empty(block.size, dtype=np.int32)
        dense_distances(block, x[top:bottom], y[left:], nx[top:bottom], ny[left:], shape[0])
        filled = fill_sparse(block, *shape, first, found, counts[top:bottom])
        columns.append(found[:filled] + np.int32(left))
        values.append(block.ravel()[:filled].copy())
    offsets = np.concatenate([[0], np.cumsum(counts)])
    half = sp.csr_array(
        (np.concatenate(values), np.concatenate(columns), offsets), shape=(len(x), len(y))
    )
    return sp.csr_array(half + sp.triu(half, 1).T) if symmetric else half
