"""Widths of kernels from the data: what "median" and "scale" stand for."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betainccinv
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

from visualwords.classifiers.kernels.checked_rows import power_remap

ROWS = 1000  # whose distances are looked at
SAME = 1e-6  # share of the largest distance that rounding leaves between equal rows
DIMENSION = {"triangular": 1, "circular": 2, "spherical": 3}  # of the balls; others: of the rows


def default_widths(kernel: str) -> dict[str, str]:
    """Return the widths that a kernel needs, and the words for their defaults.

    Examples
    --------
    >>> default_widths("cs")
    {'radius': 'median', 'sigma': 'median'}
    """
    widths = {"radius": "median"} if kernel in {"gcs", "cs", *DIMENSION} else {}
    if kernel in {"cs", "laplace"}:
        widths["sigma"] = "median"
    if kernel == "polynomial":
        widths["gamma"] = "scale"
    return widths


def resolve_widths(
    kernel: str,
    X: Any,
    params: dict[str, Any] | None = None,
    random_state: Any = 0,
    sample_weight: np.ndarray | None = None,
) -> dict[str, Any]:
    """Return a kernel's parameters with numbers for widths that are words or not given.

    "median" is a width that fits the median distance d of 1,000 rows drawn at random: sigma is d,
    and radius is the one at which the kernel has half of its height at d (r = d for one-dimensional
    balls; in many dimensions a ball's overlap falls faster, and r is larger). "scale" is
    1 / (columns · variance), as in scikit-learn. Where the data are all alike, widths are 1.

    Parameters
    ----------
    kernel : str
        A name of ``visualwords.classifiers.kernels``.
    X : ndarray or CSR array of shape (n, d)
    params : dict, optional
        Keyword arguments of the kernel; numbers stay.
    random_state : int
        Of the rows whose distances are looked at.
    sample_weight : (n,), optional
        How often every row counts.

    Examples
    --------
    >>> resolve_widths("laplace", np.array([[0.0], [3.0]]), {"a": 1.0})
    {'a': 1.0, 'sigma': 3.0}
    """
    given = dict(params or {})
    for name, word in default_widths(kernel).items():
        value = given.setdefault(name, word)
        if not isinstance(value, str):
            continue
        if value != word:
            raise ValueError(f"{kernel}: {name}={value!r}; give a number or {word!r}")
        rows = power_remap(X.astype(np.float64), given.get("a", 1.0))
        weight = np.ones(rows.shape[0]) if sample_weight is None else sample_weight
        if word == "scale":
            given[name] = _gamma(rows, weight)
            continue
        given[name] = median_distance(rows, random_state, weight)
        if name == "radius":
            given[name] /= 2 * _half_height(DIMENSION.get(kernel, rows.shape[1]))
    return given


def _half_height(n: int) -> float:
    """u with Φₙ(u) = ½ Φₙ(0)."""
    return float(np.sqrt(betainccinv(0.5, (n + 1) / 2, 0.5)))


def _gamma(rows: Any, weight: np.ndarray) -> float:
    """1 / (columns · variance of all values)."""
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
    total = weight.sum() * rows.shape[1]
    mean, square = (float(weight @ part.sum(axis=1)) / total for part in (rows, squares))
    variance = square - mean * mean
    return 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0


def median_distance(rows: Any, random_state: Any = 0, weight: np.ndarray | None = None) -> float:
    """Return the median Euclidean distance of up to 1,000 rows that differ; 1 if none do.

    Parameters
    ----------
    rows : ndarray or CSR array of shape (n, d)
    random_state : int
        Of the rows that are chosen where there are more.
    weight : (n,), optional
        How often every row counts.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    weight = np.ones(rows.shape[0]) if weight is None else weight
    chosen = np.flatnonzero(weight)
    if chosen.size > ROWS:
        chosen = np.sort(check_random_state(random_state).choice(chosen, ROWS, replace=False))
    first, second = np.triu_indices(chosen.size, 1)
    distances = euclidean_distances(rows[chosen])[first, second]
    counts = weight[chosen[first]] * weight[chosen[second]]
    order = np.argsort(distances, kind="stable")
    order = order[distances[order] > SAME * distances.max(initial=0.0)]
    if not order.size:
        return 1.0
    passed = np.cumsum(counts[order])
    return float(distances[order[np.searchsorted(passed, passed[-1] / 2)]])
