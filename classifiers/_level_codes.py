"""Loops that find which levels occur in each feature, and number them."""

import numpy as np

from visualwords.compiled import njit

FEW_LEVELS = 16  # up to which comparing with each is faster than looking up


@njit()
def mark_levels(x, rows, present):
    """present[j, k] = 1 where level k of feature j occurs in a row that takes part."""
    for i in rows:
        for j in range(x.shape[1]):
            present[j, x[i, j]] = 1


@njit()
def mark_any(levels, present):
    """present[k] = 1 where level k occurs; levels : (n,).

    While few levels are known, comparing with each is faster than marking.
    """
    known, count = np.empty(FEW_LEVELS, levels.dtype), 0
    seen = np.empty(4096, np.uint8)
    for start in range(0, levels.size, seen.size):
        part = levels[start : start + seen.size]
        if count <= FEW_LEVELS and all_among(part, known[:count], seen):
            continue
        for level in part:
            if present[level] == 0:
                present[level] = 1
                if count < FEW_LEVELS:
                    known[count] = level
                count += 1


@njit()
def all_among(levels, known, seen):
    """Whether all levels are among the known ones; ``seen`` has room for as many."""
    seen[: levels.size] = 0
    for level in known:
        for k in range(np.uint64(levels.size)):
            seen[k] |= np.uint8(levels[k] == level)
    missing = np.uint8(0)
    for k in range(np.uint64(levels.size)):
        missing |= seen[k] ^ np.uint8(1)
    return missing == 0


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
