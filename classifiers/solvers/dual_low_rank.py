"""Dual coordinate descent with short vectors of weights: Algorithm 3 of [Yang12] and its kin."""

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from visualwords.classifiers.level_rows import LevelRows
from visualwords.classifiers.solvers import _dual_low_rank as loops

_UNSEEN = np.array([[-np.inf], [np.inf], [0.0]])
_LANES = 16  # float32 numbers in a cache line: problems that share one row of the weights
_SMALL = 16 << 20  # bytes of pairs that a last-level cache holds
_THIN, _FEW = 0.05, 64  # share of the columns that rows have, and rows in sequence, if below that
_FAR = 0.25  # of the violation: samples at a bound with a gradient so far beyond it rest
_BLOCK_ENTRIES = 4096  # that are read in sequence, where the pairs come from memory


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
) -> tuple[np.ndarray, np.ndarray, int, float]:
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
        Of the order of visits; None: as stored.
    n_jobs : int or None
        Threads, over groups of problems.

    Returns
    -------
    weights : (n_problems, n_columns, rank) float32
    alpha : (n, n_problems) float32
    n_iter : int
        Passes of the slowest problem.
    violation : float
        Difference of the projected gradients in the last pass, of the worst problem.

    Notes
    -----
    Large data are visited in blocks of neighbouring rows, in random order of the blocks, so that
    memory is read in sequence; small data in random order of the rows, or of blocks where rows
    have few of the columns. From the second pass on, samples at a bound whose gradient points
    beyond it by a quarter of the violation rest, until the others are solved; then all are visited.
    """
    rank = score_table.shape[1]
    share = _share(len(problems), rank)
    groups = [
        _Group(np.array(problems[k : k + share]), share, rank, n_columns, cost)
        for k in range(0, len(problems), share)
    ]
    upper = cost.astype(np.float32)
    curvature = np.maximum(curvature, np.float32(1e-12))
    rng = np.random.default_rng(seed)
    limits = np.concatenate([[0], np.cumsum(sizes)])
    n_iter = 0
    alone = len(groups) == 1 or effective_n_jobs(n_jobs) == 1
    pool = None if alone else Parallel(n_jobs=n_jobs, prefer="threads", require="sharedmem")
    with nullcontext() if pool is None else pool:
        while n_iter < max_iter and any(group.pending for group in groups):
            n_iter += 1
            for k in range(len(chunks)) if seed is None else rng.permutation(len(chunks)):
                rows = slice(limits[k], limits[k + 1])
                busy = [g for g in groups if g.pending and g.active[rows].any()]
                if not busy:
                    continue
                pairs = chunks[k]
                block = _block_length(pairs, n_columns)
                starts = np.arange(0, len(pairs), block)
                if seed is not None:
                    rng.shuffle(starts)
                how = (
                    pairs,
                    starts,
                    block,
                    rows,
                    codes,
                    curvature,
                    upper,
                    score_table,
                    update_table,
                )
                if pool is None or len(busy) == 1:
                    for group in busy:
                        group.visit(*how)
                else:
                    pool(delayed(group.visit)(*how) for group in busy)
            for group in groups:
                group.judge(n_iter, tol)
    weights = np.concatenate([group.weights_by_problem() for group in groups])
    alpha = np.concatenate([group.alpha[:, : group.size] for group in groups], axis=1)
    return weights, alpha, n_iter, float(max(group.violation.max() for group in groups))


def group_weights(weights: np.ndarray) -> np.ndarray:
    """Return weights (n_problems, d, rank) as rows that several problems share.

    Returns
    -------
    (n_groups, d, share × rank) float32
    """
    n, d, rank = weights.shape
    share = _share(n, rank)
    padded = np.zeros((-(-n // share) * share, d, rank), np.float32)
    padded[:n] = weights
    groups = padded.reshape(-1, share, d, rank)
    return np.ascontiguousarray(np.swapaxes(groups, 1, 2)).reshape(-1, d, share * rank)


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
        loops.scores(
            rows.columns, rows.levels, rows.bounds, table, weights, out, (0,) * rank, (0,) * share
        )
        parts.append(out)
    return np.concatenate(parts, axis=1)


def _share(n_problems: int, rank: int) -> int:
    """Problems that share a row of the weights: what fills a cache line, unless there is one."""
    return 1 if n_problems == 1 else max(1, _LANES // rank)


class _Group:
    """Some problems that advance together; ``share`` is a power of two and may exceed them."""

    def __init__(
        self, positive: np.ndarray, share: int, rank: int, n_columns: int, cost: np.ndarray
    ):
        self.size, self.share, self.rank = positive.size, share, rank
        self.positive = np.full(share, -1, np.int64)
        self.positive[: self.size] = positive
        self.members = cost > 0
        self.n_members = np.count_nonzero(self.members)
        self.alpha = np.zeros((cost.size, share), np.float32)
        self.gradients = np.zeros((cost.size, share), np.float32)
        self.weights = np.zeros((n_columns + 1, share * rank), np.float32)  # one that rows lack
        self.violation = np.full(self.size, np.inf)
        self.limits = np.full(share, np.inf, np.float32)
        self.pending = (1 << self.size) - 1
        self.active = np.where(self.members, np.uint8(self.pending), np.uint8(0))
        self.seen = np.repeat(_UNSEEN, share, axis=1)

    def visit(
        self,
        pairs: LevelRows,
        starts: np.ndarray,
        block: int,
        rows: slice,
        codes: np.ndarray,
        curvature: np.ndarray,
        upper: np.ndarray,
        score_table: np.ndarray,
        update_table: np.ndarray,
    ) -> None:
        """Visit the active samples of a chunk once."""
        loops.epoch(
            pairs.columns, pairs.levels, pairs.bounds, starts, block, codes[rows], self.positive,
            curvature[rows], upper[rows], score_table, update_table, self.alpha[rows],
            self.gradients[rows], self.active[rows], self.limits, self.seen, self.weights,
            (0,) * self.rank, (0,) * self.share,
        )  # fmt: skip

    def judge(self, n_iter: int, tol: float) -> None:
        """After a pass: which problems are solved, which need their resting samples again."""
        for m, (largest, smallest, visits) in enumerate(self.seen.T[: self.size].tolist()):
            if not self.pending >> m & 1:
                continue
            self.violation[m] = violation = max(largest - smallest, 0.0)
            self.limits[m] = np.inf
            if violation > tol:
                if n_iter > 1:  # the first pass says little: it started from nothing
                    self.limits[m] = _FAR * violation
            elif visits == self.n_members:
                self.pending ^= 1 << m
                self.active &= np.uint8(self.pending)
            else:
                self.active[self.members] |= np.uint8(1 << m)
        self.seen[:] = _UNSEEN

    def weights_by_problem(self) -> np.ndarray:
        """(size, n_columns, rank)."""
        parts = self.weights[:-1].reshape(-1, self.share, self.rank)[:, : self.size]
        return np.ascontiguousarray(np.swapaxes(parts, 0, 1))


def _block_length(pairs: LevelRows, n_columns: int) -> int:
    """Rows that are visited in sequence.

    One, unless the pairs exceed the last-level cache, or rows have few of the columns, so that
    neighbours hardly share weights.
    """
    if pairs.columns.nbytes + pairs.levels.nbytes > _SMALL:
        return max(1, min(64, _BLOCK_ENTRIES * len(pairs) // max(1, pairs.levels.size)))
    return _FEW if pairs.levels.size < _THIN * len(pairs) * n_columns else 1
