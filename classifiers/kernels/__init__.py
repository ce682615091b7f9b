"""Kernel functions ``(X, Y=None, **parameters) -> Gram matrix``, one family a file.

``KERNELS`` maps a kernel's name, as `KernelSVC` and recipes know it, to its function; an entry
registers a kernel. ``radius``, ``sigma`` and ``gamma`` among its parameters are widths, which
`KernelSVC` can find from the data; ``n_jobs`` gets its threads.
"""

from collections.abc import Callable

import numpy as np

from visualwords.classifiers.kernels.additive import chi2, jensen_shannon, power_mean
from visualwords.classifiers.kernels.compact import circular, cs, gcs, spherical, triangular
from visualwords.classifiers.kernels.minmax import gint, gmm, intersection, ngmm
from visualwords.classifiers.kernels.pyramid import pyramid_match
from visualwords.classifiers.kernels.radial import laplace, polynomial, rbf

__all__ = [
    "chi2",
    "circular",
    "cs",
    "gcs",
    "gint",
    "gmm",
    "intersection",
    "jensen_shannon",
    "laplace",
    "ngmm",
    "polynomial",
    "power_mean",
    "pyramid_match",
    "rbf",
    "spherical",
    "triangular",
]

KERNELS: dict[str, Callable[..., np.ndarray]] = {
    "hik": intersection,
    **{name: globals()[name] for name in __all__},
}
