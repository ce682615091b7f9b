"""Kernel functions ``(X, Y=None, **parameters) -> Gram matrix``, one family a file."""

from visualwords.classifiers.kernels.additive import chi2, jensen_shannon, power_mean
from visualwords.classifiers.kernels.compact import circular, cs, gcs, spherical, triangular
from visualwords.classifiers.kernels.minmax import gint, gmm, intersection, ngmm
from visualwords.classifiers.kernels.pyramid import pyramid_match
from visualwords.classifiers.kernels.radial import laplace, polynomial

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
    "spherical",
    "triangular",
]
