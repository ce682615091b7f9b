"""Crammer–Singer multi-class HIK SVM by dual coordinate descent ([Wu10], Sec. 3.4)."""

from collections.abc import Callable

import numpy as np

from visualwords.classifiers.solvers import _crammer_singer
from visualwords.classifiers.tables.level_codes import LevelCodes


def solve_crammer_singer_gram(
    gram: np.ndarray,
    labels: np.ndarray,
    cost: np.ndarray,
    *,
    n_classes: int,
    tol: float,
    max_iter: int,
    seed: int | None,
) -> tuple[np.ndarray, int, float]:
    """Solve on a Gram matrix.

    Minimises ½ Σ_m w_mᵀw_m + Σ_i C_i max_m (1 − [m = y_i] + (w_m − w_{y_i})ᵀB(x_i)), which has
    the hinge as its loss.

    Parameters
    ----------
    gram : (n, n) float32
    labels : (n,) int
        Class numbers.
    cost : (n,) float64
        C of every sample, > 0.
    n_classes : int
    tol : float
        Stop once no sample's gradients differ by more than this where its α can change.
    max_iter : int
        Passes over the samples.
    seed : int or None
        Seed of the visiting order; None is the cyclic order.

    Returns
    -------
    alpha : (n, n_classes) float64
        w_m = Σ_i alpha[i, m] B(x_i).
    n_iter : int
    violation : float
    """
    norms = np.maximum(gram.diagonal().astype(np.float64), 1e-12)
    scores = np.zeros((n_classes, labels.size))

    def visit(order: np.ndarray, alpha: np.ndarray) -> float:
        return _crammer_singer.gram_epoch(gram, order, labels, norms, cost, alpha, scores)

    everyone = np.arange(labels.size)
    return _descend(visit, everyone, labels.size, n_classes, tol, max_iter, seed)


def solve_crammer_singer_tables(
    data: LevelCodes,
    rows: np.ndarray,
    labels: np.ndarray,
    cost: np.ndarray,
    norms: np.ndarray,
    *,
    n_classes: int,
    tol: float,
    max_iter: int,
    seed: int | None,
) -> tuple[np.ndarray, int, float]:
    """Solve on tables: where there are too many samples for a Gram matrix.

    ``rows`` take part; ``labels``, ``cost`` and ``norms`` (B(x)ᵀB(x)) are those of all n samples.
    Codes must be dense. The rest is as in :func:`solve_crammer_singer_gram`.
    """
    norms = np.maximum(norms, 1e-12)
    tables = np.zeros((data.offsets[-1], n_classes))

    def visit(order: np.ndarray, alpha: np.ndarray) -> float:
        layout = data.codes, data.offsets, data.heights
        return _crammer_singer.table_epoch(*layout, order, labels, norms, cost, alpha, tables)

    return _descend(visit, rows, labels.size, n_classes, tol, max_iter, seed)


def _descend(
    visit: Callable[[np.ndarray, np.ndarray], float],
    rows: np.ndarray,
    n: int,
    n_classes: int,
    tol: float,
    max_iter: int,
    seed: int | None,
) -> tuple[np.ndarray, int, float]:
    """Repeat passes until one finds no violation."""
    alpha = np.zeros((n, n_classes))
    rng = np.random.default_rng(seed)
    n_iter, violation = 0, np.inf
    while n_iter < max_iter and violation > tol:
        n_iter += 1
        violation = float(visit(rows if seed is None else rng.permutation(rows), alpha))
    return alpha, n_iter, violation
