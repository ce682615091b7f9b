"""Compiled loops of generalized consistent weighted sampling (GCWS), [Li16, Algorithm 1].

Hash j draws for every column i: r ~ Gamma(2, 1), c ~ Gamma(2, 1), β ~ Uniform(0, 1), from the
counter (seed, j, i) and rounded to float32. Of a value u with L = log u,

    t = floor(L/r + β),   log a = log c − r (t − β + 1),

and the column with the least log a wins. Only additions, multiplications, divisions and
``floor`` are used, without fast arithmetic, so that every machine gets the same bits.
"""

import math

import numpy as np

from visualwords.compiled import njit

LANES = 64  # hashes that are sampled together
ROWS, COLUMNS = 256, 128  # of a tile: its draws and its state take half of a second-level cache
_W1, _W2, _W3 = np.uint64(LANES), np.uint64(2 * LANES), np.uint64(3 * LANES)
_ODD_1 = np.uint64(0x9E3779B97F4A7C15)
_ODD_2 = np.uint64(0xBF58476D1CE4E5B9)
_ODD_3 = np.uint64(0x94D049BB133111EB)
_LN2 = 0.6931471805599453


@njit()
def _mix(z):
    """The finaliser of SplitMix64: every bit of the input reaches every bit of the output."""
    z = (z ^ (z >> np.uint64(30))) * _ODD_2
    z = (z ^ (z >> np.uint64(27))) * _ODD_3
    return z ^ (z >> np.uint64(31))


@njit()
def _uniform(key, draw):
    """The draw-th uniform number in (0, 1) of a key, 53 bits."""
    bits = _mix(key + np.uint64(draw) * _ODD_1) >> np.uint64(11)
    return (np.float64(bits) + 0.5) * 2.0**-53


@njit()
def _log(x):
    """log x by the series of atanh: the same on every machine, unlike the C library's."""
    m, e = math.frexp(x)
    if m < 0.7071067811865476:
        m *= 2.0
        e -= 1
    s = (m - 1.0) / (m + 1.0)
    total = 0.0
    for k in range(21, 0, -2):
        total = total * (s * s) + 1.0 / k
    return 2.0 * s * total + e * _LN2


@njit()
def log_all(x, out):
    """out = log x of positive numbers."""
    for i in range(x.size):
        out[i] = _log(x[i])


@njit()
def draw(seed, first_hash, columns, out):
    """out[i, :, l] = r, β, log c of column columns[i] for hash first_hash + l.

    columns : (n,) int64     out : (n, 3, lanes) float32
    """
    for i in range(columns.size):
        by_column = _mix(np.uint64(columns[i]) * _ODD_1 + np.uint64(seed))
        for lane in range(out.shape[2]):
            key = _mix(by_column + np.uint64(first_hash + lane + 1) * _ODD_2)
            out[i, 0, lane] = -_log(_uniform(key, 1) * _uniform(key, 2))
            out[i, 1, lane] = _uniform(key, 3)
            out[i, 2, lane] = _log(-_log(_uniform(key, 4) * _uniform(key, 5)))


@njit()
def pack(draws, out):
    """out[i] = 1/r, β, r and log c − r (1 − β), LANES of each: what the inner loop reads."""
    for i in range(draws.shape[0]):
        for lane in range(LANES):
            r, beta = np.float64(draws[i, 0, lane]), np.float64(draws[i, 1, lane])
            out[i, lane] = 1.0 / r
            out[i, LANES + lane] = beta
            out[i, 2 * LANES + lane] = r
            out[i, 3 * LANES + lane] = draws[i, 2, lane] - r * (1.0 - beta)


@njit()
def _compete(logs, columns, ranks, entries, packed, state, i):
    """Let entries p … p + 3 (none after ``last``) of one row compete in all LANES hashes.

    entries : p, last, and where the row starts
    state[i] : LANES least values of log a, then the LANES ranks that hold them
    """
    p, last, start = entries
    p1, p2, p3 = min(p + 1, last), min(p + 2, last), min(p + 3, last)
    c0, c1 = np.uint64(columns[p]), np.uint64(columns[p1])
    c2, c3 = np.uint64(columns[p2]), np.uint64(columns[p3])
    log0, log1, log2, log3 = logs[p], logs[p1], logs[p2], logs[p3]
    r0, r1, r2, r3 = ranks[p - start], ranks[p1 - start], ranks[p2 - start], ranks[p3 - start]
    one, zero = np.float32(1), np.float32(0)
    for k in range(_W1):
        a0 = packed[c0, _W3 + k] - packed[c0, _W2 + k] * np.floor(
            log0 * packed[c0, k] + packed[c0, _W1 + k]
        )
        a1 = packed[c1, _W3 + k] - packed[c1, _W2 + k] * np.floor(
            log1 * packed[c1, k] + packed[c1, _W1 + k]
        )
        a2 = packed[c2, _W3 + k] - packed[c2, _W2 + k] * np.floor(
            log2 * packed[c2, k] + packed[c2, _W1 + k]
        )
        a3 = packed[c3, _W3 + k] - packed[c3, _W2 + k] * np.floor(
            log3 * packed[c3, k] + packed[c3, _W1 + k]
        )
        left = r0 if a0 <= a1 else r1
        right = r2 if a2 <= a3 else r3
        a0, a2 = min(a0, a1), min(a2, a3)
        rank, least = left if a0 <= a2 else right, min(a0, a2)
        best, holder = state[i, k], state[i, _W1 + k]
        state[i, k] = min(least, best)
        # A product instead of a choice: the compiler would make that a slow masked store.
        state[i, _W1 + k] = holder + (rank - holder) * (one if least < best else zero)


@njit()
def sample_rows(indptr, columns, logs, ranks, packed, first, last, winners):
    """winners[i, l] = the entry of row i that hash l of this block chooses; −1 in an empty row.

    indptr, columns, logs : CSR, columns ascending and counted as in ``packed``, float32 log u
    ranks : 0, 1, 2, … as float32     packed : (n_columns, 4 · LANES)     winners : (n, LANES)
    """
    state = np.empty((ROWS, 2 * LANES), np.float32)
    at = np.empty(ROWS, np.int64)
    for top in range(first, last, ROWS):
        rows = min(ROWS, last - top)
        at[:rows] = indptr[top : top + rows]
        state[:, :LANES] = np.float32(np.inf)
        state[:, LANES:] = np.float32(0)
        for stop in range(COLUMNS, packed.shape[0] + COLUMNS, COLUMNS):
            for i in range(rows):
                p, end = at[i], at[i]
                while end < indptr[top + i + 1] and columns[end] < stop:
                    end += 1
                while p < end:
                    entries = p, end - 1, indptr[top + i]
                    _compete(logs, columns, ranks, entries, packed, state, np.uint64(i))
                    p += 4
                at[i] = end
        for i in range(rows):
            empty = indptr[top + i] == indptr[top + i + 1]
            for lane in range(LANES):
                chosen = indptr[top + i] + np.int64(state[i, LANES + lane])
                winners[top + i, lane] = -1 if empty else chosen


@njit()
def levels(winners, columns, logs, draws, out):
    """out[i, l] = t* = floor(log u / r + β) of the chosen entries, 0 where there is none."""
    for i in range(winners.shape[0]):
        for lane in range(winners.shape[1]):
            p = winners[i, lane]
            if p < 0:
                out[i, lane] = 0
            else:
                r = np.float64(draws[columns[p], 0, lane])
                beta = np.float64(draws[columns[p], 1, lane])
                out[i, lane] = np.int64(np.floor(logs[p] / r + beta))
