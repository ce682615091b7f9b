"""Dual coordinate descent with short vectors of weights: Algorithm 3 of [Yang12] and its kin."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from visualwords.classifiers.solvers import _low_rank as loops
from visualwords.classifiers.tables.level_pairs import LevelRows
from visualwords.parallel import map_in_threads
from visualwords.simd import aligned_zeros

_LANES = 16  # float32 numbers in a cache line: problems that share one row of the weights
_SMALL = 16 << 20  # bytes of pairs that a last-level cache holds
_THIN, _FEW = 0.05, 64  # share of the columns that rows have, and rows in sequence, if below that
_PASSES, _STARTS = 8, 1 << 17  # whose orders are drawn at a time, at most
_BLOCK_ENTRIES = 4096  # that are read in sequence, where the pairs come from memory


@dataclass(frozen=True)
class LowRankProblem:
    """Hinge-loss SVMs without bias, each of some classes against the rest ([Yang12], Eq. 5).

    Attributes
    ----------
    rows : LevelRows
        The samples.
    n_columns : int
    codes : (n,) int
        Class of every sample.
    positive : sequence of int
        Classes that are positive in one problem each.
    cost : (n,) float
        C of every sample; samples of cost 0 do not take part.
    curvature : (n,) float32
        Q_ii.
    score_table, update_table : (levels, rank) float32
        s and u of every level, κ(x, y) ≈ s(x)ᵀu(y).
    tol : float
        Stop once the largest and the smallest projected gradient of a pass over all samples
        differ by at most this.
    max_iter : int
    seed : int or None
        Seed of the order of visits; None: as stored.
    n_jobs : int or None
        Threads, over groups of problems.
    """

    rows: LevelRows
    n_columns: int
    codes: np.ndarray
    positive: np.ndarray
    cost: np.ndarray
    curvature: np.ndarray
    score_table: np.ndarray
    update_table: np.ndarray
    tol: float
    max_iter: int
    seed: int | None
    n_jobs: int | None = None


class LowRankSolution(NamedTuple):
    """Weights (n_problems, n_columns, rank) and α (n, n_problems), float32."""

    weights: np.ndarray
    alpha: np.ndarray


def solve_low_rank(problem: LowRankProblem) -> tuple[LowRankSolution, int, float]:
    """Solve SVMs; return solution, passes of the slowest problem, and the largest violation.

    Notes
    -----
    Large data are visited in blocks of neighbouring rows, in random order of the blocks, so that
    memory is read in sequence; small data in random order of the rows, or of blocks where rows
    have few of the columns. From the second pass on, samples at a bound whose gradient points
    beyond it by a quarter of the violation are shrunk until the others are solved; then all are
    visited again. From the third pass on steps are over-relaxed, and a row is left as it is where
    its projected gradients are below a twentieth of the violation, which saves half of the work.
    """
    rows, codes, upper = problem.rows, problem.codes, problem.cost.astype(np.float32)
    curvature = np.maximum(problem.curvature, np.float32(1e-12))
    data = loops.SharedData(codes, curvature, upper, problem.score_table, problem.update_table)
    share = _share(len(problem.positive), problem.score_table.shape[1])
    groups = [
        _new_group(np.array(problem.positive[k : k + share]), share, problem.n_columns, data)
        for k in range(0, len(problem.positive), share)
    ]
    rng, n_iter = np.random.default_rng(problem.seed), 0
    block = _rows_in_sequence(rows, problem.n_columns)
    starts = np.arange(0, codes.size, block)
    while n_iter < problem.max_iter and any(group.pending.any() for group in groups):
        n_passes = max(1, min(problem.max_iter - n_iter, _PASSES, _STARTS // starts.size))
        orders = np.repeat(starts[None], n_passes, axis=0)
        if problem.seed is not None:
            orders = rng.permuted(orders, axis=1)
        how = orders, block, n_iter, problem.tol
        made = map_in_threads(
            lambda group, how=how: loops.passes(rows, data, group, *how), groups, problem.n_jobs
        )
        n_iter += max(made)
    weights = np.concatenate([_weights_by_problem(group) for group in groups])
    alpha = np.concatenate([group.alpha[:, : group.pending.size] for group in groups], axis=1)
    violation = float(max(group.violation.max() for group in groups))
    return LowRankSolution(weights, alpha), n_iter, violation


def _rows_in_sequence(rows: LevelRows, n_columns: int) -> int:
    """Rows of a block.

    One, unless the pairs exceed the last-level cache, or rows have few of the columns, so that
    neighbours hardly share weights.
    """
    n, entries = rows.bounds.size - 1, rows.levels.size
    if rows.columns.nbytes + rows.levels.nbytes > _SMALL:
        return max(1, min(64, _BLOCK_ENTRIES * n // max(1, entries)))
    return _FEW if entries < _THIN * n * n_columns else 1


def _share(n_problems: int, rank: int) -> int:
    """Problems that share a row of the weights: what fills a cache line, unless there is one."""
    return 1 if n_problems == 1 else max(1, _LANES // rank)


def _new_group(
    positive: np.ndarray, share: int, n_columns: int, data: "loops.SharedData"
) -> "loops.SolverState":
    """Some problems that advance together; ``share`` is a power of two and may exceed them."""
    n, size, rank = data.codes.size, positive.size, data.score_table.shape[1]
    return loops.SolverState(
        positive=np.append(positive, np.full(share - size, -1)),
        alpha=np.zeros((n, share), np.float32),
        gradients=np.zeros((n, share), np.float32),
        active=np.where(data.upper > 0, np.uint8((1 << size) - 1), np.uint8(0)),
        pending=np.ones(size, np.bool_),
        limits=np.full(share, np.inf, np.float32),
        slight=np.zeros(share, np.float32),
        relaxation=np.ones(share, np.float32),
        violation=np.full(size, np.inf),
        seen=np.repeat(np.array([[-np.inf], [np.inf], [0.0]]), share, axis=1),
        weights=aligned_zeros((n_columns, share * rank)),
        shape=((0,) * rank, (0,) * share),
    )


def _weights_by_problem(group: "loops.SolverState") -> np.ndarray:
    """(problems, n_columns, rank)."""
    rank, share = map(len, group.shape)
    parts = group.weights.reshape(-1, share, rank)[:, : group.pending.size]
    return np.ascontiguousarray(np.swapaxes(parts, 0, 1))


def group_weights(weights: np.ndarray) -> np.ndarray:
    """Return weights (n_problems, d, rank) as rows that several problems share.

    Returns
    -------
    (n_groups, d, share × rank) float32
    """
    n, d, rank = weights.shape
    share = _share(n, rank)
    grouped = aligned_zeros((-(-n // share), d, share, rank))
    for k, of_problem in enumerate(weights):
        grouped[k // share, :, k % share] = of_problem
    return grouped.reshape(-1, d, share * rank)


def scores(rows: LevelRows, table: np.ndarray, grouped: np.ndarray) -> np.ndarray:
    """Return the scores of all rows, (n, n_groups × share) float32.

    Parameters
    ----------
    rows : LevelRows
    table : (levels, rank) float32
    grouped : (n_groups, d, share × rank) float32
        From :func:`group_weights`.
    """
    rank = table.shape[1]
    share = grouped.shape[2] // rank
    parts = []
    for weights in grouped:
        out = np.empty((rows.bounds.size - 1, share), np.float32)
        loops.scores(rows, table, weights, out, ((0,) * rank, (0,) * share))
        parts.append(out)
    return np.concatenate(parts, axis=1)
