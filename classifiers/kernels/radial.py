"""The kernels that the GCS paper compares with: Laplace and polynomial, on remapped values."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from visualwords.classifiers.kernels._radial import raise_products
from visualwords.classifiers.kernels.checked_rows import check_rows, power_remap


def laplace(X: Any, Y: Any = None, *, sigma: float, a: float = 1.0) -> np.ndarray:
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
    The norm is the Euclidean one, as everywhere in the paper; scikit-learn's
    ``laplacian_kernel`` takes the sum of absolute differences.
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
    X, Y = check_rows(X, Y, kernel="laplace", dtype=np.float64, accept_sparse=True)
    if 0 in (X.shape[0], Y.shape[0]):
        return np.zeros((X.shape[0], Y.shape[0]))
    x = power_remap(X, a)
    distances = euclidean_distances(x, None if Y is X else power_remap(Y, a))
    distances /= -sigma
    return np.exp(distances, out=distances)


def polynomial(
    X: Any, Y: Any = None, *, degree: float = 2, a: float = 1.0, gamma: float = 1.0
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
    if degree < 1 or degree != int(degree):
        raise ValueError(f"polynomial: degree is {degree}, but it must be a whole number ≥ 1")
    if not gamma > 0:
        raise ValueError(f"polynomial: gamma is {gamma}, but it must be > 0")
    X, Y = check_rows(X, Y, kernel="polynomial", dtype=np.float64, accept_sparse=True)
    x = power_remap(X, a)
    y = x if Y is X else power_remap(Y, a)
    products = x @ y.T
    if sparse.issparse(products):
        products = products.toarray()
    products = np.ascontiguousarray(products)
    raise_products(products.reshape(-1), float(gamma), int(degree))
    return products
