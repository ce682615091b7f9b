"""Dual coordinate descent on the kernel matrix: the way when samples are few.

Samples are visited in blocks: inside a block only the block's own scores are kept up to date, and
its steps are added to all scores at its end, so that these are read once a block and not once a
step. The steps are those of visiting one by one.
"""

import numpy as np
from scipy import sparse

from visualwords.classifiers.solvers.problems import (
    FINEST_SINGLE,
    DualProblem,
    LevelProblem,
    Solved,
    dual_problem,
)
from visualwords.classifiers.tables.level_tables import build_tables
from visualwords.compiled import njit
from visualwords.parallel import map_in_threads

BLOCK = 16  # samples
_TOGETHER = 8  # rows that are added in one pass over the scores

GRAM_BYTES = 1 << 30  # that a matrix may take
_GAP = 0.025, 1e-4  # duality gap, relative: this share of the tolerance, and the finest asked for


def solve_gram(problem: LevelProblem) -> Solved:
    """Solve HIK SVMs on their exact Gram matrix; see `LevelProblem`."""
    gram = gram_of(problem)
    dual = dual_problem(problem.cost, gram.diagonal().astype(np.float64), problem.loss)
    how = problem.schedule | {"n_jobs": problem.n_jobs}
    alpha, n_iter, violation = solve_dual_gram(gram, problem.signs, dual, **how)
    return tables_of(problem, alpha), n_iter, violation


def tables_of(problem: LevelProblem, alpha: np.ndarray) -> np.ndarray:
    """The tables of a dual solution, (cells, n_problems) float32."""
    coefficients = (alpha * problem.signs).T
    return build_tables(problem.levels, problem.rows, coefficients, problem.layout, problem.n_jobs)


def gram_of(problem: LevelProblem) -> np.ndarray:
    """The exact Gram matrix of the rows that take part, (m, m) float32."""
    from visualwords.classifiers.kernels.minmax import level_gram  # kernels load much else

    n = problem.rows.size
    if 4 * n * n > GRAM_BYTES:
        raise ValueError(
            f"solver='gram' needs {4 * n * n:,} bytes for {n:,} samples, more than "
            f"{GRAM_BYTES:,}; use solver='auto'"
        )
    if sparse.issparse(problem.levels):
        return level_gram(problem.levels[problem.rows].toarray(), n_jobs=problem.n_jobs)
    return level_gram(problem.levels, rows=problem.rows, n_jobs=problem.n_jobs)


def solve_dual_gram(
    gram: np.ndarray,
    signs: np.ndarray,
    problem: DualProblem,
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
    n_jobs: int | None = None,
) -> Solved:
    """Solve several SVMs without bias that share samples, costs and Gram matrix.

    Parameters
    ----------
    gram : (n, n) float32
    signs : (n_problems, n)
        ±1.
    problem : DualProblem
    tol : float
        A problem stops once the largest and the smallest projected gradient of a pass differ by
        at most this, and either its duality gap is at most a fortieth of it, relative (but not
        below 1e-4), or half as many passes again have not led there: passes over the matrix are
        cheap next to making it.
    max_iter : int
        Passes over the samples.
    seed : int or None
        Seed of the visiting order; None is the cyclic order.
    n_jobs : int or None
        Threads, over problems; the result does not depend on it.

    Returns
    -------
    alpha : (n_problems, n) float64
    n_iter : int
        Passes of the slowest problem.
    violation : float
        Difference of the projected gradients in the last pass, of the worst problem; in passes for
        the sake of the gap alone, which come after it has been small enough, the smallest.
    """
    precision = np.float32 if tol >= FINEST_SINGLE else np.float64

    def solve(y: np.ndarray) -> Solved:
        alpha, scores = np.zeros(y.size), np.zeros(y.size, precision)
        rng, everyone = np.random.default_rng(seed), np.arange(y.size)
        n_iter, last, violation = 0, max_iter, np.inf
        while n_iter < last:
            order = everyone if seed is None else rng.permutation(y.size)
            largest, smallest = epoch(gram, order, y, problem, alpha, scores)
            n_iter += 1
            now = largest - smallest
            violation = min(violation, now) if last < max_iter else now
            if now <= tol:
                last = min(last, n_iter + n_iter // 2)
                if _gap(y * scores, alpha, problem) <= max(_GAP[0] * tol, _GAP[1]):
                    break
        return alpha, n_iter, violation

    solved = map_in_threads(solve, np.ascontiguousarray(signs, np.float64), n_jobs)
    alpha, n_iter, violation = zip(*solved)
    return np.stack(alpha), max(n_iter), max(violation)


def _gap(margins: np.ndarray, alpha: np.ndarray, problem: DualProblem) -> float:
    """Primal less dual objective, relative to the dual."""
    slack = np.maximum(1 - margins.astype(np.float64), 0)
    half = 0.5 * alpha @ margins
    bounded = np.isfinite(problem.upper)
    loss = problem.upper[bounded] @ slack[bounded]
    curved = problem.diagonal[~bounded]
    loss += 0.5 * (slack[~bounded] ** 2 / curved).sum()
    dual = alpha.sum() - half - 0.5 * problem.diagonal @ alpha**2
    return float((half + loss - dual) / max(dual, 1e-300))


@njit()
def epoch(gram, order, y, problem, alpha, scores):
    """Visit the samples of ``order`` once; return the extremes of the projected gradient.

    gram : (n, n) float32                y, alpha : (n,) float64
    scores : (n,) float32 or float64; gram @ (alpha * y) is kept up to date
    """
    diagonal, upper, curvature = problem.diagonal, problem.upper, problem.curvature
    largest, smallest = -np.inf, np.inf
    near, here = np.empty((BLOCK, BLOCK)), np.empty(BLOCK)
    moved, steps = np.zeros(BLOCK, np.int64), np.zeros(BLOCK, scores.dtype)
    for start in range(0, order.size, BLOCK):
        rows = order[start : start + BLOCK]
        count = 0
        for k in range(rows.size):
            here[k] = scores[rows[k]]
            for other in range(k):
                near[other, k] = gram[rows[k], rows[other]]
        for k in range(rows.size):
            i = rows[k]
            old = alpha[i]
            gradient = y[i] * here[k] - 1.0 + diagonal[i] * old
            projected = gradient
            if old <= 0.0:
                projected = min(gradient, 0.0)
            elif old >= upper[i]:
                projected = max(gradient, 0.0)
            largest, smallest = max(largest, projected), min(smallest, projected)
            if projected != 0.0:
                alpha[i] = min(max(old - gradient / curvature[i], 0.0), upper[i])
                step = (alpha[i] - old) * y[i]
                for other in range(k + 1, rows.size):
                    here[other] += step * near[k, other]
                moved[count], steps[count] = i, step
                count += 1
        steps[count:] = 0
        for k in range(0, count, _TOGETHER):
            add_rows(gram, moved[k:], steps[k:], scores)
    return largest, smallest


@njit(fastmath={"contract", "reassoc"})
def add_rows(gram, rows, steps, scores):
    """scores += sum_k steps[k] gram[rows[k]] of eight rows."""
    a, b, c, d = steps[0], steps[1], steps[2], steps[3]
    e, f, g, h = steps[4], steps[5], steps[6], steps[7]
    x0, x1, x2, x3 = gram[rows[0]], gram[rows[1]], gram[rows[2]], gram[rows[3]]
    x4, x5, x6, x7 = gram[rows[4]], gram[rows[5]], gram[rows[6]], gram[rows[7]]
    for v in range(np.uint64(scores.size)):
        scores[v] += (
            (a * x0[v] + b * x1[v]) + (c * x2[v] + d * x3[v])
            + (e * x4[v] + f * x5[v]) + (g * x6[v] + h * x7[v])
        )  # fmt: skip
