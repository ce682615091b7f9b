"""Kernels by name, and Gram matrices of vectors or sets by name or function."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers import kernels

ALIASES = {"hik": "intersection"}
TAKE_THREADS = frozenset(
    {"intersection", "gint", "gmm", "ngmm", "power_mean", "chi2", "jensen_shannon"}
)
TAKE_SETS = frozenset({"pyramid_match"})
CAN_BE_SPARSE = frozenset({"gcs", "cs", "triangular", "circular", "spherical"})


def kernel_function(kernel: str | Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a name ("hik" is the intersection), or the function itself.

    Examples
    --------
    >>> kernel_function("hik").__name__
    'intersection'
    """
    if callable(kernel):
        return kernel
    name = ALIASES.get(kernel, kernel)
    if name not in kernels.__all__:
        known = ", ".join(sorted([*kernels.__all__, *ALIASES, "precomputed"]))
        raise ValueError(f"kernel {kernel!r} is not known; give a function or one of {known}")
    return getattr(kernels, name)


def are_sets(X: Any) -> bool:
    """Return whether X is a list of feature sets (2-D arrays) rather than rows of a matrix."""
    if isinstance(X, np.ndarray) or sparse.issparse(X) or hasattr(X, "iloc"):
        return False
    return not isinstance(X, Sequence) or (len(X) > 0 and np.ndim(X[0]) == 2)
