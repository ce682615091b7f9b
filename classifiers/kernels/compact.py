"""The compactly supported family: GCS, CS, triangular, circular and spherical kernels.

All are functions of u = ‖x − y‖ / 2r that vanish for u ≥ 1, so their Gram matrices can be sparse.

**Errata of the paper.** Eq. (2), the volume of a ball, lacks a factor 2: as printed, it gives πr²/2
for n = 2. Eq. (4) prints φ₂ = arccos u − u√(1−u²); the integral (3) and the recursion over n need
half of that.

References
----------
.. [Boughorbel06] S. Boughorbel, J.-P. Tarel, F. Fleuret, N. Boujemaa, "GCS Kernel for SVM-Based
   Image Recognition".
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from visualwords.classifiers.kernels.radial import distance_gram
from visualwords.classifiers.kernels.rows import Matrix, check_rows
from visualwords.compiled import njit

N_CELLS = 2048
ROOTED_UP_TO = 12  # dimensions whose Φ is tabulated in √(1−u): it bends too sharply at u = 1


def phi(u: ArrayLike, n: int) -> np.ndarray:
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
    The complement in u² is used because I_{1−u²} loses digits near u = 0.

    Examples
    --------
    >>> phi([0.0, 0.5, 2.0], 1)
    array([1. , 0.5, 0. ])
    """
    u = np.minimum(np.asarray(u, dtype=np.float64), 1.0)
    from scipy.special import beta, betaincc

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


def gcs(
    X: Matrix, Y: Matrix | None = None, *, radius: float, a: float = 1.0, sparse: bool = False
) -> np.ndarray:
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
    return _ball_gram("gcs", X, Y, radius, a=a, sparse=sparse)


def cs(
    X: Matrix,
    Y: Matrix | None = None,
    *,
    radius: float,
    sigma: float,
    a: float = 1.0,
    sparse: bool = False,
) -> np.ndarray:
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
    return _ball_gram("cs", X, Y, radius, a=a, sparse=sparse, sigma=sigma)


def triangular(
    X: Matrix, Y: Matrix | None = None, *, radius: float, a: float = 1.0, sparse: bool = False
) -> np.ndarray:
    """1 − u with u = ‖xᵃ − yᵃ‖ / 2r, for u < 1; positive definite on R only.

    Parameters and result are those of ``gcs``; [Boughorbel06], Table 1.

    Examples
    --------
    >>> triangular([[0.0], [1.0]], radius=1.0)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    return _ball_gram("triangular", X, Y, radius, a=a, sparse=sparse, n=1)


def circular(
    X: Matrix, Y: Matrix | None = None, *, radius: float, a: float = 1.0, sparse: bool = False
) -> np.ndarray:
    """arccos u − u √(1−u²) with u = ‖xᵃ − yᵃ‖ / 2r, for u < 1; positive definite up to R².

    Parameters and result are those of ``gcs``; [Boughorbel06], Table 1. It is 2 Φ₂.

    Examples
    --------
    >>> circular([[0.0, 0.0], [1.0, 0.0]], radius=1.0).round(4)
    array([[1.5708, 0.6142],
           [0.6142, 1.5708]])
    """
    return _ball_gram("circular", X, Y, radius, a=a, sparse=sparse, n=2, scale=2.0)


def spherical(
    X: Matrix, Y: Matrix | None = None, *, radius: float, a: float = 1.0, sparse: bool = False
) -> np.ndarray:
    """1 − 3u/2 + u³/2 with u = ‖xᵃ − yᵃ‖ / 2r, for u < 1; positive definite up to R³.

    Parameters and result are those of ``gcs``; [Boughorbel06], Table 1. It is 3/2 Φ₃.

    Examples
    --------
    >>> spherical([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], radius=1.0)
    array([[1.    , 0.3125],
           [0.3125, 1.    ]])
    """
    return _ball_gram("spherical", X, Y, radius, a=a, sparse=sparse, n=3, scale=1.5)


def _ball_gram(
    kernel: str,
    X: Matrix,
    Y: Matrix | None,
    radius: float,
    *,
    a: float,
    sparse: bool,
    sigma: float = 0.0,
    n: int | None = None,
    scale: float = 1.0,
) -> np.ndarray:
    """scale · Φₙ(u) · exp(−d/sigma) of all pairs of rows; n defaults to the number of columns."""
    if not 0 < radius < np.inf:
        raise ValueError(f"{kernel}: radius is {radius}, but the support needs a radius > 0")
    x, y = check_rows(X, Y, kernel, (np.float64,))
    table, end = phi_table(x.shape[1] if n is None else n)
    table = table * scale
    return distance_gram(
        x, y, lambda distances: ball_values(distances, radius, table, end, sigma), a, sparse
    )


@njit()
def ball_values(p, radius, table, end, sigma):
    """Overwrite the distances p by Φ(d/2r), times exp(−d/sigma) if sigma > 0.

    table : (N + 1, 4) float64, cubics of equal cells in u = d/2r up to its N-th edge ``end``, or
    in √(1−u) where ``end`` is 0; the last cell is the constant that holds from there on
    """
    last = table.shape[0] - 1
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            u = p[i, j] * (0.5 / radius)
            if end > 0.0:
                position = min(u / end, 1.0) * last
            else:
                position = math.sqrt(max(1.0 - u, 0.0)) * last
            cell = int(position)
            t = position - cell
            value = table[cell, 2] + t * table[cell, 3]
            value = table[cell, 0] + t * (table[cell, 1] + t * value)
            p[i, j] = math.exp(-p[i, j] / sigma) * value if sigma > 0.0 else value
