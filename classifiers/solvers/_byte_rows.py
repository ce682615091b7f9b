"""Products of rows of bytes with weights, only those that are wanted."""

import numpy as np

from visualwords.compiled import njit

COLUMNS = 1024  # at a time, of which the weights of a group of machines stay near the processor
SIDE_BY_SIDE = 4  # sums, or rows added, in a loop
SUMS = {"contract", "reassoc", "nsz"}


@njit()
def list_marked(marks, places, counts):
    """places[i, :counts[i]] = where marks[i] != 0; the rest repeats the last of these.

    marks : (m, k)      places : (m, k + 3) int64      counts : (m,) int64
    """
    for i in range(marks.shape[0]):
        n = 0
        for k in range(marks.shape[1]):
            if marks[i, k] != 0:
                places[i, n] = k
                n += 1
        counts[i] = n
        for k in range(n, places.shape[1]):
            places[i, k] = places[i, n - 1] if n else 0


@njit(fastmath=SUMS)
def dots(x, weights, lanes, start, sums):
    """sums += x · weights[lanes] of four machines, of the columns from ``start`` on."""
    stop = start + x.size
    first, second = weights[lanes[0], start:stop], weights[lanes[1], start:stop]
    third, fourth = weights[lanes[2], start:stop], weights[lanes[3], start:stop]
    p = q = r = s = sums.dtype.type(0)
    for k in range(np.uint64(x.size)):
        value = sums.dtype.type(x[k])
        p += value * first[k]
        q += value * second[k]
        r += value * third[k]
        s += value * fourth[k]
    sums[0] += p
    sums[1] += q
    sums[2] += r
    sums[3] += s


@njit()
def score(rows, weights, lanes, counts, scores):
    """scores[i, k] = rows[i] · weights[lanes[i, k]], k < counts[i].

    rows : (b, d) int8      weights : (n_lanes, d)      scores : (b, n_lanes + 3) zeros
    lanes, counts :         as of `list_marked`
    """
    for start in range(0, rows.shape[1], COLUMNS):
        stop = min(start + COLUMNS, rows.shape[1])
        for i in range(rows.shape[0]):
            for k in range(0, counts[i], SIDE_BY_SIDE):
                four = slice(k, k + SIDE_BY_SIDE)
                dots(rows[i, start:stop], weights, lanes[i, four], start, scores[i, four])


@njit()
def spread(scores, lanes, counts, factor, found):
    """found[i, lanes[i, k]] = factor × scores[i, k], k < counts[i]."""
    for i in range(found.shape[0]):
        for k in range(counts[i]):
            found[i, lanes[i, k]] = factor * scores[i, k]


@njit(fastmath=SUMS)
def add_four(rows, a, b, c, d, factors, weights):
    """weights += factors · (rows[a], rows[b], rows[c], rows[d])."""
    first, second, third, fourth = rows[a], rows[b], rows[c], rows[d]
    p, q, r, s = factors[0], factors[1], factors[2], factors[3]
    for k in range(np.uint64(weights.size)):
        weights[k] += p * first[k] + q * second[k] + r * third[k] + s * fourth[k]


@njit()
def add(rows, coefficients, places, counts, weights):
    """weights[c] += sum_i coefficients[i, c] rows[i] over the rows that are listed for a machine.

    rows : (b, d) int8      coefficients : (b, n_lanes)      weights : (n_lanes, d)
    places, counts :        as of `list_marked`, (n_lanes, b + 3) and (n_lanes,)
    """
    factors = np.empty(SIDE_BY_SIDE, weights.dtype)
    for start in range(0, rows.shape[1], COLUMNS):
        some = rows[:, start : start + COLUMNS]
        for c in range(weights.shape[0]):
            for k in range(0, counts[c], SIDE_BY_SIDE):
                i = places[c, k : k + SIDE_BY_SIDE]
                for m in range(SIDE_BY_SIDE):
                    factors[m] = coefficients[i[m], c] if k + m < counts[c] else 0.0
                target = weights[c, start : start + COLUMNS]
                add_four(some, i[0], i[1], i[2], i[3], factors, target)
