"""Widths of kernels from the data: "median" and "scale"."""

import inspect
from collections.abc import Callable, Mapping

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernels.rows import Rows, power_remap
from visualwords.estimator import Seed

ROWS = 1000  # whose distances are computed
SAME = 1e-6  # share of the largest distance that rounding leaves between equal rows
WIDTHS = {"radius": "median", "sigma": "median", "gamma": "scale"}  # the words for parameters
DIMENSION = {"triangular": 1, "circular": 2, "spherical": 3}  # of the balls; others: of the rows


def resolve_widths(
    kernel: Callable[..., np.ndarray],
    X: Rows,
    params: Mapping[str, object] | None = None,
    random_state: Seed = 0,
    sample_weight: np.ndarray | None = None,
) -> dict[str, object]:
    """A kernel's parameters with numbers for widths that are words or not given.

    "median" is a width that fits the median distance d of 1,000 rows drawn at random: sigma is d,
    and radius is the one at which the kernel has half of its height at d (r = d for one-dimensional
    balls; in many dimensions a ball's overlap falls faster, and r is larger). "scale" is
    1 / (columns · variance), as in scikit-learn. Where the data are all alike, widths are 1.

    Parameters
    ----------
    kernel : function
        Keyword arguments ``radius``, ``sigma`` and ``gamma`` are its widths.
    X : ndarray or CSR array of shape (n, d)
    params : dict, optional
        Keyword arguments of the kernel; numbers stay.
    random_state : int
        Seed of the rows whose distances are computed.
    sample_weight : (n,), optional
        How often every row counts.

    Examples
    --------
    >>> from visualwords.classifiers.kernels import laplace
    >>> resolve_widths(laplace, np.array([[0.0], [3.0]]), {"a": 1.0})
    {'a': 1.0, 'sigma': 3.0}
    """
    resolved = dict(params or {})
    name = getattr(kernel, "__name__", "kernel")
    for width, word in WIDTHS.items():
        value = resolved.get(width, word)
        if width not in inspect.signature(kernel).parameters or not isinstance(value, str):
            continue
        if value != word:
            raise ValueError(f"{name}: {width}={value!r}; give a number or {word!r}")
        rows = power_remap(X.astype(np.float64), float(resolved.get("a", 1.0)))  # type: ignore[arg-type]
        weight = np.ones(rows.shape[0]) if sample_weight is None else sample_weight
        if word == "scale":
            resolved[width] = _gamma(rows, weight)
            continue
        found = median_distance(rows, random_state, weight)
        if width == "radius":
            from scipy.special import betainccinv

            n = DIMENSION.get(name, rows.shape[1])
            found /= 2 * float(np.sqrt(betainccinv(0.5, (n + 1) / 2, 0.5)))  # Φₙ(u) = ½ Φₙ(0)
        resolved[width] = found
    return resolved


def _gamma(rows: Rows, weight: np.ndarray) -> float:
    """1 / (columns · variance of all values)."""
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
    total = weight.sum() * rows.shape[1]
    mean, square = (float(weight @ part.sum(axis=1)) / total for part in (rows, squares))
    variance = square - mean * mean
    return 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0


def median_distance(rows: Rows, random_state: Seed = 0, weight: np.ndarray | None = None) -> float:
    """The median Euclidean distance of up to 1,000 rows that differ; 1 if none do.

    ``weight``, (n,), is how often every row counts.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    from sklearn.metrics.pairwise import euclidean_distances
    from sklearn.utils import check_random_state

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
