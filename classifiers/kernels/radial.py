"""Kernels of the distance or the inner product of rows: Laplace, RBF and polynomial.

The GCS paper compares with them, on remapped values ([Boughorbel06], Sec. 5). Distances are
Euclidean.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import sparse as sp

from visualwords.classifiers.kernels.rows import (
    Matrix,
    Rows,
    check_rows,
    dense,
    mirror,
    on_both,
    power_remap,
)
from visualwords.compiled import njit

RECOMPUTE_BELOW = 2.5e-3  # ‖x − y‖² against ‖x‖² + ‖y‖²: keeps its relative error near 1e-13

TILE_ROWS = 256  # of either side whose distances are computed at a time …
TILE_ENTRIES = 1 << 22  # … unless that many numbers, 32 MB, are fewer rows


def laplace(X: Matrix, Y: Matrix | None = None, *, sigma: float, a: float = 1.0) -> np.ndarray:
    """Laplace kernel K(x, y) = exp(−‖xᵃ − yᵃ‖ / σ).

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n, d), (m, d)
        Rows; ``Y`` defaults to ``X``.
    sigma : float > 0
        Width.
    a : float > 0
        Power remap of the values (0.25 in the paper), signs kept.

    Returns
    -------
    K : float64 array of shape (n, m)

    Notes
    -----
    scikit-learn's ``laplacian_kernel`` takes the sum of absolute differences.
    **Deviations from the paper.** None.

    References
    ----------
    [Boughorbel06], Sec. 5.

    Examples
    --------
    >>> laplace([[0.0], [16.0]], sigma=2.0, a=0.25).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    if not sigma > 0:
        raise ValueError(f"laplace: sigma is {sigma}, but it is a width and must be > 0")

    def fill(distances: np.ndarray) -> None:
        np.exp(distances / -sigma, out=distances)

    return distance_gram(*check_rows(X, Y, "laplace", (np.float64,)), fill, a)


def rbf(X: Matrix, Y: Matrix | None = None, *, gamma: float = 1.0, a: float = 1.0) -> np.ndarray:
    """Gaussian kernel K(x, y) = exp(−γ ‖xᵃ − yᵃ‖²).

    Parameters and result are those of ``laplace``, with γ instead of the width.

    Examples
    --------
    >>> rbf([[0.0], [2.0]], gamma=0.25).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    if not gamma > 0:
        raise ValueError(f"rbf: gamma is {gamma}, but it must be > 0")

    def fill(distances: np.ndarray) -> None:
        np.exp(-gamma * distances * distances, out=distances)

    return distance_gram(*check_rows(X, Y, "rbf", (np.float64,)), fill, a)


def polynomial(
    X: Matrix, Y: Matrix | None = None, *, degree: float = 2, a: float = 1.0, gamma: float = 1.0
) -> np.ndarray:
    """Polynomial kernel K(x, y) = (1 + γ⟨xᵃ, yᵃ⟩)^degree.

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n, d), (m, d)
        Rows; ``Y`` defaults to ``X``.
    degree : int ≥ 1
        d in the paper.
    a : float > 0
        Power remap of the values (0.25 in the paper), signs kept.
    gamma : float > 0
        Factor of the inner product; the paper's kernel has 1.

    Returns
    -------
    K : float64 array of shape (n, m)

    Notes
    -----
    **Deviations from the paper.** None, but for a ``gamma`` other than 1.

    References
    ----------
    [Boughorbel06], Sec. 5.

    Examples
    --------
    >>> polynomial([[1.0], [2.0]], degree=2)
    array([[ 4.,  9.],
           [ 9., 25.]])
    """
    if not degree >= 1 or degree != int(degree):
        raise ValueError(f"polynomial: degree is {degree}, but it must be a whole number ≥ 1")
    if not gamma > 0:
        raise ValueError(f"polynomial: gamma is {gamma}, but it must be > 0")
    x, y = check_rows(X, Y, "polynomial", (np.float64,))
    x, y = on_both(lambda rows: power_remap(rows, a), x, y)
    products = x @ y.T
    base = dense(products)
    base *= gamma
    base += 1.0
    power = base.copy() if degree > 1 else base
    for bit in f"{int(degree):b}"[1:]:  # by squaring: pow takes ten times as long
        power *= power
        if bit == "1":
            power *= base
    return power


def distance_gram(
    x: Rows, y: Rows, fill: Callable[[np.ndarray], None], a: float = 1.0, sparse: bool = False
) -> np.ndarray:
    """The kernel values of all pairs of rows from their distances.

    Parameters
    ----------
    x, y : float64 array or CSR array of shape (n, d), (m, d)
        ``y is x`` halves the work. Sparse rows are made dense some at a time.
    fill : function
        Overwrites a block of distances ‖xᵃ − yᵃ‖ by kernel values.
    a : float > 0
        Power remap of the values.
    sparse : bool
        Return a CSR array; no more than some rows are ever dense.
    """
    x, y = on_both(lambda rows: power_remap(rows, a), x, y)
    height = min(TILE_ROWS, max(1, TILE_ENTRIES // max(1, x.shape[1])))
    gram = None if sparse else np.empty((x.shape[0], y.shape[0]))
    entries = [(np.empty(0), np.empty(0, np.intp), np.empty(0, np.intp))]
    for top in range(0, x.shape[0], height):
        rows = dense(x[top : top + height])
        centre = rows.mean(axis=0)  # shorter vectors lose less by cancellation
        rows = rows - centre
        for left in range(top if y is x else 0, y.shape[0], height):
            columns = rows if y is x and left == top else dense(y[left : left + height]) - centre
            block = rows @ columns.T
            norms = (np.einsum("ij,ij->i", side, side) for side in (rows, columns))
            to_distances(block, rows, columns, *norms)
            fill(block)
            if columns is rows:
                mirror(block)
            mirrored = y is x and columns is not rows
            if gram is None:
                values = block.ravel()
                places = np.flatnonzero(values)
                i, j = np.divmod(places, block.shape[1])
                entries.append((values[places], i + top, j + left))
                entries += [(values[places], j + left, i + top)] * mirrored
                continue
            gram[top : top + height, left : left + height] = block
            if mirrored:
                gram[left : left + height, top : top + height] = block.T
    if gram is not None:
        return gram
    values, i, j = (np.concatenate(parts) for parts in zip(*entries))
    thin = sp.csr_array((values, (i, j)), shape=(x.shape[0], y.shape[0]))
    thin.sort_indices()
    return thin


@njit()
def to_distances(p, x, y, of_x, of_y):
    """Overwrite inner products p[i, j] by ‖x_i − y_j‖.

    ‖x‖² + ‖y‖² − 2<x, y> loses the digits of a short distance, which is summed again.

    p : (n, m) float64     x, y : (n, d), (m, d)     of_x, of_y : squared norms
    """
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            p[i, j] = of_x[i] + of_y[j] - 2.0 * p[i, j]
        for j in range(p.shape[1]):
            if p[i, j] < RECOMPUTE_BELOW * (of_x[i] + of_y[j]):
                p[i, j] = 0.0
                for k in range(x.shape[1]):
                    p[i, j] += (x[i, k] - y[j, k]) * (x[i, k] - y[j, k])
        for j in range(p.shape[1]):
            p[i, j] = math.sqrt(p[i, j])
