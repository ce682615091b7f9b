"""Dual coordinate descent with short vectors of weights: Algorithm 3 of [Yang12] and its kin."""

from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords import simd
from visualwords.classifiers.tables.level_pairs import LevelRows
from visualwords.compiled import njit
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
    data = SharedData(codes, curvature, upper, problem.score_table, problem.update_table)
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
        how = {"orders": orders, "block": block, "n_iter": n_iter, "tol": problem.tol}
        n_iter += max(map_in_threads(partial(passes, rows, data, **how), groups, problem.n_jobs))
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
    positive: np.ndarray, share: int, n_columns: int, data: "SharedData"
) -> "SolverState":
    """Some problems that advance together; ``share`` is a power of two and may exceed them."""
    n, size, rank = data.codes.size, positive.size, data.score_table.shape[1]
    return SolverState(
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


def _weights_by_problem(group: "SolverState") -> np.ndarray:
    """(problems, n_columns, rank)."""
    rank, share = map(len, group.shape)
    parts = group.weights.reshape(-1, share, rank)[:, : group.pending.size]
    return np.ascontiguousarray(np.swapaxes(parts, 0, 1))


def group_weights(weights: np.ndarray) -> np.ndarray:
    """Weights (n_problems, d, rank) as rows that several problems share.

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
    """The scores of all rows, (n, n_groups × share) float32.

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
        score_rows(rows, table, weights, out, ((0,) * rank, (0,) * share))
        parts.append(out)
    return np.concatenate(parts, axis=1)


# Loops over rows of (column, level) pairs with one short vector of weights a column.
#
# Several one-vs-rest problems ("members") share a row of the weights, w[column] = (member 0's
# vector, member 1's vector, …), so that one read of a pair and of its table entry serves them all.
# LLVM does not turn these loops into vector instructions by itself; the two innermost are
# therefore written in its language, with vectors that it maps to whatever the processor has.

FAR = 0.25  # of the violation: samples at a bound whose gradient exceeds it by this are shrunk
SLIGHT = 0.05  # of the violation: a row whose gradients are all smaller is left as it is
RELAXATION = 1.3  # of steps after the second pass, as in successive over-relaxation
_I32 = ir.IntType(32)


class SharedData(NamedTuple):
    """What all problems share.

    Attributes
    ----------
    codes : (n,) int64
        Class of every sample.
    curvature, upper : (n,) float32
        Q_ii, and C of every sample.
    score_table, update_table : (levels, rank) float32
        s and u of every level.
    """

    codes: np.ndarray
    curvature: np.ndarray
    upper: np.ndarray
    score_table: np.ndarray
    update_table: np.ndarray


class SolverState(NamedTuple):
    """How far some problems are.

    Attributes
    ----------
    positive : (members,) int64
        The class that is against the rest; −1 for a member that only fills up.
    alpha, gradients : (n, members) float32
        α, and the gradient right after the last visit.
    active : (n,) uint8
        Bit m: member m visits the sample.
    pending : (problems,) bool
        Not solved.
    limits : (members,) float32
        Gradient beyond a bound from which on a sample is shrunk.
    slight, relaxation : (members,) float32
        Projected gradient below which no step is made, unless another member's is larger; and
        multiple of Newton's step that is made.
    violation : (problems,) float64
        Of the last pass.
    seen : (3, members) float64
        Largest and smallest projected gradient of this pass, and its number of visits.
    weights : (columns, members × rank) float32
    shape : (rank, members), tuples of as many zeros
        The compiler must know these lengths.
    """

    positive: np.ndarray
    alpha: np.ndarray
    gradients: np.ndarray
    active: np.ndarray
    pending: np.ndarray
    limits: np.ndarray
    slight: np.ndarray
    relaxation: np.ndarray
    violation: np.ndarray
    seen: np.ndarray
    weights: np.ndarray
    shape: tuple[tuple[int, ...], tuple[int, ...]]


def _entries(builder, arrays, span, rank, members):
    """Go through the entries of a row: yield the place of w[column], it, and the table's vectors.

    arrays : of columns, levels, table and weights, as in `row_scores`
    """
    columns, levels, table, weights = (array.data for array in arrays)
    start, stop = cgutils.unpack_tuple(builder, span)
    length = rank * members
    once, every = (ir.VectorType(ir.FloatType(), n) for n in (rank, length))
    repeated = ir.Constant(ir.VectorType(_I32, length), [*range(rank)] * members)
    with cgutils.for_range(builder, builder.sub(stop, start)) as loop:
        here = builder.add(start, loop.index)
        column, level = (
            builder.zext(builder.load(builder.gep(data, [here])), simd.INDEX)
            for data in (columns, levels)
        )
        place = builder.mul(column, simd.INDEX(length))
        entry = simd.load(builder, table, builder.mul(level, simd.INDEX(rank)), once)
        entry = builder.shuffle_vector(entry, entry, repeated)  # the same for every member
        yield place, simd.load(builder, weights, place, every), entry


@intrinsic
def row_scores(typing, columns, levels, span, table, weights, out, shape):
    """out[m] = sum over start <= q < stop of w[column_q, m] . table[level_q]  [Yang12, Eq. 20].

    columns, levels : unsigned           span : (start, stop)
    table : (levels, rank) float32, C order                  out : (members,) float32
    weights : (d, members * rank) float32, C order           shape : as in `SolverState`
    """
    rank, members = (lengths.count for lengths in shape)

    def emit(context, builder, signature, arguments):
        *arrays, result = simd.arrays(context, builder, signature, arguments, (0, 1, 3, 4, 5))
        zero = simd.constant(ir.VectorType(ir.FloatType(), rank * members), 0.0)
        total = cgutils.alloca_once_value(builder, zero)
        for _, w, t in _entries(builder, arrays, arguments[2], rank, members):
            builder.store(simd.multiply_add(builder, w, t, builder.load(total)), total)
        lanes = simd.lanes(builder, builder.load(total))
        for m in range(members):
            score = reduce(builder.fadd, lanes[m * rank : (m + 1) * rank])
            builder.store(score, builder.gep(result.data, [simd.INDEX(m)]))
        return context.get_dummy_value()

    return types.void(columns, levels, span, table, weights, out, shape), emit


@intrinsic
def row_update(typing, columns, levels, span, table, steps, weights, shape):
    """w[column_q, m] += steps[m] table[level_q] for start <= q < stop  [Yang12, Algorithm 3]."""
    rank, members = (lengths.count for lengths in shape)

    def emit(context, builder, signature, arguments):
        *arrays, step = simd.arrays(context, builder, signature, arguments, (0, 1, 3, 5, 4))
        factor = ir.Constant(ir.VectorType(ir.FloatType(), rank * members), ir.Undefined)
        for k in range(rank * members):
            lane = builder.load(builder.gep(step.data, [simd.INDEX(k // rank)]))
            factor = builder.insert_element(factor, lane, ir.Constant(_I32, k))
        for place, w, t in _entries(builder, arrays, arguments[2], rank, members):
            added = simd.multiply_add(builder, factor, t, w)
            simd.store(builder, added, arrays[3].data, place)
        return context.get_dummy_value()

    return types.void(columns, levels, span, table, steps, weights, shape), emit


if numba.config.DISABLE_JIT:  # numba then runs the kernels as Python, which has no intrinsics

    def row_scores(columns, levels, span, table, weights, out, shape):
        w = weights[columns[slice(*span)]].reshape(-1, len(shape[1]), len(shape[0]))
        out[:] = np.einsum("qmk,qk->m", w, table[levels[slice(*span)]])

    def row_update(columns, levels, span, table, steps, weights, shape):
        change = steps[None, :, None] * table[levels[slice(*span)]][:, None]
        np.add.at(weights, columns[slice(*span)], change.reshape(-1, weights.shape[1]))


@njit(inlined=(simd,))
def shrink(upper, state):
    """Deactivate samples at a bound whose gradient exceeds it by the limit  [Hsieh08, Sec. 3.2]."""
    n_members, active = len(state.shape[1]), state.active
    alpha, gradients = state.alpha.reshape(-1), state.gradients.reshape(-1)
    for m in range(n_members):
        bit, limit = np.uint8(1 << m), state.limits[m]
        for i in range(active.size):
            a, g = alpha[i * n_members + m], gradients[i * n_members + m]
            far = ((a <= 0) & (g > limit)) | ((a >= upper[i]) & (g < -limit))
            active[i] &= ~(bit if far else np.uint8(0))


@njit()
def visiting_order(starts, block, active):
    """Active rows, block by block in the order of ``starts``."""
    order, count = np.empty(active.size + 1, np.uint32), np.uint64(0)
    for start in starts:
        for i in range(np.uint64(start), np.uint64(min(start + block, active.size))):
            order[count] = i
            count += np.uint64(active[i] != 0)
    return order[:count]


@njit()
def step(gradient, alpha, upper, width):
    """New alpha and the projected gradient  [Yang12, Algorithm 2, line 7]; hinge loss.

    width : the step for a gradient of 1; of Newton's step it is 1 / Q_ii
    """
    zero = np.float32(0)
    below, above = (gradient if gradient < zero else zero), (gradient if gradient > zero else zero)
    projected = above if alpha >= upper else gradient
    projected = below if alpha <= zero else projected
    new = alpha - gradient * width
    new = new if new > zero else zero
    return (new if new < upper else upper), projected


@njit()
def choose_steps(i, scores, data, state, steps):
    """steps[m] = change of row i's alpha of member m; returns whether one is worth an update."""
    alpha, seen, curvature, worth = state.alpha, state.seen, data.curvature[i], False
    for m in range(steps.size):
        steps[m] = 0
        if (state.active[i] >> m) & 1 == 0:
            continue
        sign = np.float32(1 if data.codes[i] == state.positive[m] else -1)
        gradient, old = sign * scores[m] - np.float32(1), alpha[i, m]
        width = state.relaxation[m] / curvature
        new, projected = step(gradient, old, data.upper[i], width)
        if projected > seen[0, m]:
            seen[0, m] = projected
        if projected < seen[1, m]:
            seen[1, m] = projected
        seen[2, m] += 1
        state.gradients[i, m] = gradient + (new - old) * curvature
        steps[m] = new - old
        worth |= new != old and abs(projected) > state.slight[m]
    return worth


@njit(inlined=(simd,))
def epoch(rows, data, state, starts, block):
    """Visit the active samples once, in blocks of rows that begin at ``starts``."""
    columns, levels, bounds = rows
    members = len(state.shape[1])
    scores, steps = np.empty(members, np.float32), np.empty(members, np.float32)
    shrink(data.upper, state)
    for i in visiting_order(starts, block, state.active):
        span = bounds[i], bounds[i + 1]
        row_scores(columns, levels, span, data.score_table, state.weights, scores, state.shape)
        if not choose_steps(i, scores, data, state, steps):
            continue
        for m in range(members):
            new = state.alpha[i, m] + steps[m]
            state.alpha[i, m] = min(new, data.upper[i]) if new > 0 else np.float32(0)
            if data.codes[i] != state.positive[m]:
                steps[m] = -steps[m]
        row_update(columns, levels, span, data.update_table, steps, state.weights, state.shape)


@njit(inlined=(simd,))
def end_pass(n_iter, tol, upper, state):
    """After a pass: which members are solved, and which visit their shrunk samples again."""
    pending, violation, limits, seen = state.pending, state.violation, state.limits, state.seen
    active, n_used = state.active, 0
    for i in range(upper.size):
        n_used += upper[i] != 0
    for m in range(pending.size):
        bit = np.uint8(1 << m)
        if pending[m]:
            violation[m] = max(seen[0, m] - seen[1, m], 0.0)
            limits[m] = np.inf
            if n_iter > 1:  # the first pass started from zero: its gradients are misleading
                state.slight[m], state.relaxation[m] = SLIGHT * violation[m], RELAXATION
            if violation[m] > tol:
                if n_iter > 1:
                    limits[m] = FAR * violation[m]
            elif seen[2, m] == n_used:
                pending[m] = False
                for i in range(active.size):
                    active[i] &= ~bit
            else:
                for i in range(active.size):
                    active[i] |= bit if upper[i] > 0 else np.uint8(0)
        seen[0, m], seen[1, m], seen[2, m] = -np.inf, np.inf, 0


@njit(inlined=(simd,))
def passes(rows, data, state, orders, block, n_iter, tol):
    """Pass after pass in the given orders, until all members are solved; returns how many."""
    for k in range(orders.shape[0]):
        n_pending = 0
        for m in range(state.pending.size):
            n_pending += state.pending[m]
        if n_pending == 0:
            return k
        epoch(rows, data, state, orders[k], block)
        end_pass(n_iter + k + 1, tol, data.upper, state)
    return orders.shape[0]


@njit(inlined=(simd,))
def score_rows(rows, table, weights, out, shape):
    """out[i] = scores of row i for all members; weights and shape as in `SolverState`."""
    columns, levels, bounds = rows
    for i in range(out.shape[0]):
        row_scores(columns, levels, (bounds[i], bounds[i + 1]), table, weights, out[i], shape)
