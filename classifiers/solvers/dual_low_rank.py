"""Dual coordinate descent with short vectors of weights: Algorithm 3 of [Yang12] and its kin."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from visualwords.classifiers.low_rank.level_rows import LevelRows
from visualwords.classifiers.solvers import _dual_low_rank as loops
from visualwords.classifiers.solvers._dual_low_rank import Rows, Samples, State
from visualwords.parallel import map_in_threads
from visualwords.simd import aligned_zeros

_LANES = 16  # float32 numbers in a cache line: problems that share one row of the weights
_SMALL = 16 << 20  # bytes of pairs that a last-level cache holds
_THIN, _FEW = 0.05, 64  # share of the columns that rows have, and rows in sequence, if below that
_PASSES, _STARTS = 8, 1 << 17  # whose orders are drawn at a time, at most
_BLOCK_ENTRIES = 4096  # that are read in sequence, where the pairs come from memory


class LowRankSolution(NamedTuple):
    """Weights (n_problems, n_columns, rank) and α (n, n_problems), float32."""

    weights: np.ndarray
    alpha: np.ndarray


def solve_dual_low_rank(
    chunks: Sequence[LevelRows],
    sizes: Sequence[int],
    n_columns: int,
    codes: np.ndarray,
    problems: Sequence[int],
    cost: np.ndarray,
    curvature: np.ndarray,
    score_table: np.ndarray,
    update_table: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
    n_jobs: int | None = None,
) -> tuple[LowRankSolution, int, float]:
    """Solve hinge-loss SVMs without bias, each of some classes against the rest ([Yang12], Eq. 5).

    Parameters
    ----------
    chunks : sequence of LevelRows
        The samples in order; may read each from disk when asked for it.
    sizes : sequence of int
        Number of samples in each chunk.
    n_columns : int
    codes : (n,) int
        Class of every sample.
    problems : sequence of int
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

    Returns
    -------
    solution : LowRankSolution
    n_iter : int
        Passes of the slowest problem.
    violation : float
        Difference of the projected gradients in the last pass, of the worst problem.

    Notes
    -----
    Large data are visited in blocks of neighbouring rows, in random order of the blocks, so that
    memory is read in sequence; small data in random order of the rows, or of blocks where rows
    have few of the columns. From the second pass on, samples at a bound whose gradient points
    beyond it by a quarter of the violation are shrunk until the others are solved; then all are
    visited again. From the third pass on steps are over-relaxed, and a row is left as it is where
    its projected gradients are below a twentieth of the violation, which saves half of the work.
    """
    rank = score_table.shape[1]
    share = _share(len(problems), rank)
    upper, curvature = cost.astype(np.float32), np.maximum(curvature, np.float32(1e-12))
    samples = Samples(codes, curvature, upper, score_table, update_table)
    groups = [
        _Group(np.array(problems[k : k + share]), share, n_columns, samples)
        for k in range(0, len(problems), share)
    ]
    order = _Order(n_columns, seed)
    if len(chunks) == 1:
        n_iter = _solve_in_memory(chunks[0], groups, order, n_jobs, tol, max_iter)
    else:
        n_iter = _solve_by_chunks(chunks, sizes, groups, order, n_jobs, tol, max_iter)
    weights = np.concatenate([group.weights_by_problem() for group in groups])
    alpha = np.concatenate([group.state.alpha[:, : group.size] for group in groups], axis=1)
    violation = float(max(group.state.violation.max() for group in groups))
    return LowRankSolution(weights, alpha), n_iter, violation


def _solve_in_memory(
    pairs: LevelRows,
    groups: "list[_Group]",
    order: "_Order",
    n_jobs: int | None,
    tol: float,
    max_iter: int,
) -> int:
    """Some passes at a time; returns the passes of the slowest group."""
    block, n_iter = order.block_length(pairs), 0
    while n_iter < max_iter and any(group.state.pending.any() for group in groups):
        starts = order.starts(pairs, block, max_iter - n_iter)
        made = _each(n_jobs, groups, "passes", pairs, starts, block, n_iter, tol)
        n_iter += max(made)
    return n_iter


def _solve_by_chunks(
    chunks: Sequence[LevelRows], sizes: Sequence[int], groups: "list[_Group]", order: "_Order",
    n_jobs: int | None, tol: float, max_iter: int,
) -> int:  # fmt: skip
    """Every chunk once a pass, unless all its samples are shrunk."""
    limits, n_iter = np.concatenate([[0], np.cumsum(sizes)]), 0
    while n_iter < max_iter and any(group.state.pending.any() for group in groups):
        n_iter += 1
        for k in order.chunks(len(chunks)):
            rows = slice(limits[k], limits[k + 1])
            busy = [g for g in groups if g.state.active[rows].any()]
            if busy:
                pairs = chunks[k]
                block = order.block_length(pairs)
                _each(n_jobs, busy, "visit", pairs, order.starts(pairs, block)[0], block, rows)
        for group in groups:
            group.end_pass(n_iter, tol)
    return n_iter


def _each(n_jobs: int | None, groups: "list[_Group]", method: str, *how: Any) -> list[Any]:
    """Call a method of every group."""
    return map_in_threads(lambda group: getattr(group, method)(*how), groups, n_jobs)


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
        out = np.empty((len(rows), share), np.float32)
        loops.scores(_pairs(rows), table, weights, out, (0,) * rank, (0,) * share)
        parts.append(out)
    return np.concatenate(parts, axis=1)


def _share(n_problems: int, rank: int) -> int:
    """Problems that share a row of the weights: what fills a cache line, unless there is one."""
    return 1 if n_problems == 1 else max(1, _LANES // rank)


def _pairs(rows: LevelRows) -> Rows:
    return Rows(rows.columns, rows.levels, rows.bounds)


class _Group:
    """Some problems that advance together; ``share`` is a power of two and may exceed them."""

    def __init__(self, positive: np.ndarray, share: int, n_columns: int, samples: Samples):
        n, rank = samples.codes.size, samples.score_table.shape[1]
        self.size, self.samples = positive.size, samples
        everyone = np.uint8((1 << self.size) - 1)
        self.state = State(
            positive=np.append(positive, np.full(share - self.size, -1)),
            alpha=np.zeros((n, share), np.float32),
            gradients=np.zeros((n, share), np.float32),
            active=np.where(samples.upper > 0, everyone, np.uint8(0)),
            pending=np.ones(self.size, np.bool_),
            limits=np.full(share, np.inf, np.float32),
            slight=np.zeros(share, np.float32),
            relaxation=np.ones(share, np.float32),
            violation=np.full(self.size, np.inf),
            seen=np.repeat(np.array([[-np.inf], [np.inf], [0.0]]), share, axis=1),
            weights=aligned_zeros((n_columns + 1, share * rank)),  # one column that rows lack
            rank=(0,) * rank,
            members=(0,) * share,
        )

    def passes(
        self, pairs: LevelRows, starts: np.ndarray, block: int, n_iter: int, tol: float
    ) -> int:
        """Pass over all samples in the given orders, until solved; return how many were needed."""
        return loops.passes(_pairs(pairs), self.samples, self.state, starts, block, n_iter, tol)

    def visit(self, pairs: LevelRows, starts: np.ndarray, block: int, rows: slice) -> None:
        """Visit the active samples of a chunk once."""
        samples, state = (
            record._replace(**{name: getattr(record, name)[rows] for name in names})
            for record, names in (
                (self.samples, ("codes", "curvature", "upper")),
                (self.state, ("alpha", "gradients", "active")),
            )
        )
        loops.epoch(_pairs(pairs), samples, state, starts, block)

    def end_pass(self, n_iter: int, tol: float) -> None:
        """After a pass over all chunks: find which problems are solved."""
        loops.end_pass(n_iter, tol, self.samples.upper, self.state)

    def weights_by_problem(self) -> np.ndarray:
        """(size, n_columns, rank)."""
        rank, share = len(self.state.rank), len(self.state.members)
        parts = self.state.weights[:-1].reshape(-1, share, rank)[:, : self.size]
        return np.ascontiguousarray(np.swapaxes(parts, 0, 1))


class _Order:
    """In which order samples are visited."""

    def __init__(self, n_columns: int, seed: int | None):
        self.n_columns, self.random = n_columns, seed is not None
        self.rng = np.random.default_rng(seed)

    def block_length(self, pairs: LevelRows) -> int:
        """Rows that are visited in sequence.

        One, unless the pairs exceed the last-level cache, or rows have few of the columns, so that
        neighbours hardly share weights.
        """
        if pairs.columns.nbytes + pairs.levels.nbytes > _SMALL:
            return max(1, min(64, _BLOCK_ENTRIES * len(pairs) // max(1, pairs.levels.size)))
        return _FEW if pairs.levels.size < _THIN * len(pairs) * self.n_columns else 1

    def starts(self, pairs: LevelRows, block: int, n_passes: int = 1) -> np.ndarray:
        """First rows of the blocks, in the orders of the next passes, at most so many."""
        starts = np.arange(0, len(pairs), block)
        n_passes = max(1, min(n_passes, _PASSES, _STARTS // starts.size))
        orders = np.repeat(starts[None], n_passes, axis=0)
        return self.rng.permuted(orders, axis=1) if self.random else orders

    def chunks(self, n_chunks: int) -> Iterable[int]:
        """Numbers of the chunks."""
        return self.rng.permutation(n_chunks) if self.random else range(n_chunks)
