"""Loops over levels: quantisation, which levels occur, and rows of levels by their content."""

import numpy as np

from visualwords.compiled import njit

FEW_LEVELS = 16  # up to which comparing with each is faster than looking up
_COMPARED = 8
_CACHED = 4096  # levels that stay in the first-level cache


@njit()
def mark_levels(first, end, x, rows, present):
    """present[j, k] = 1 where level k of feature j occurs in a row that takes part."""
    for i in rows:
        for j in range(first, end):
            present[j, x[i, j]] = 1


@njit()
def mark_any(levels, present):
    """present[k] = 1 where level k occurs; levels : (n,).

    While few levels are known, comparing with each is faster than marking.
    """
    known, count = np.zeros(_COMPARED, levels.dtype), 0
    for start in range(0, levels.size, _CACHED):
        part = levels[start : start + _CACHED]
        if 0 < count <= _COMPARED and all_among(part, known):
            continue
        for level in part:
            if present[level] == 0:
                present[level] = 1
                if count < _COMPARED:
                    known[count:] = level
                count += 1


@njit()
def all_among(levels, known):
    """Whether all levels are among eight known ones, which may be repeated."""
    a, b, c, d = known[0], known[1], known[2], known[3]
    e, f, g, h = known[4], known[5], known[6], known[7]
    missing = False
    for k in range(np.uint64(levels.size)):
        x = levels[k]
        missing |= (
            ((x != a) & (x != b) & (x != c) & (x != d))
            & ((x != e) & (x != f) & (x != g) & (x != h))
        )  # fmt: skip
    return not missing


@njit()
def translate(levels, number_of, out):
    """out[k] = number_of[levels[k]]."""
    for k in range(np.uint64(levels.size)):
        out[k] = number_of[levels[k]]


@njit()
def count_steps(levels, heights, out):
    """out[k] = how many of the heights levels[k] reaches, in parts that stay in the cache."""
    for start in range(0, levels.size, 4096):
        part, target = levels[start : start + 4096], out[start : start + 4096]
        target[:] = 0
        for height in heights:
            for k in range(np.uint64(part.size)):
                target[k] += out.dtype.type(part[k] >= height)


@njit()
def all_known(levels, known):
    """Whether known is 1 at all levels."""
    unknown = np.uint8(0)
    for k in range(np.uint64(levels.size)):
        unknown |= ~known[levels[k]]
    return unknown & np.uint8(1) == 0


@njit()
def encode(x, code_of, codes):
    """codes[i, j] = code_of[j, x[i, j]]; codes may be x itself."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            codes[i, j] = code_of[j, x[i, j]]


@njit()
def highest_levels(x, top):
    """top[j] = max_i x[i, j]; top : of x's type."""
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(np.uint64(row.size)):
            top[j] = row[j] if row[j] > top[j] else top[j]


@njit()
def hash_rows(x, factors, out):
    """out[i] = sum_j x[i, j] factors[j] modulo 2**64; factors are odd random numbers."""
    for i in range(x.shape[0]):
        total = np.uint64(0)
        for j in range(x.shape[1]):
            total += np.uint64(x[i, j]) * factors[j]
        out[i] = total


@njit()
def hash_sparse_rows(data, indices, indptr, factors, out):
    """Likewise for a CSR matrix: the same numbers as of the dense one."""
    for i in range(indptr.size - 1):
        total = np.uint64(0)
        for k in range(indptr[i], indptr[i + 1]):
            total += np.uint64(data[k]) * factors[indices[k]]
        out[i] = total


@njit()
def sum_rows(x, out):
    """out[i] = sum_j x[i, j]."""
    for i in range(x.shape[0]):
        total = np.uint32(0)
        for j in range(x.shape[1]):
            total += np.uint32(x[i, j])
        out[i] = total
