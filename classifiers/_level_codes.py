"""Loops that find which levels occur in each feature, and number them."""

import numpy as np

from visualwords.compiled import njit


@njit()
def mark_levels(x, rows, present):
    """present[j, k] = 1 where level k of feature j occurs in a row that takes part."""
    for i in rows:
        for j in range(x.shape[1]):
            present[j, x[i, j]] = 1


@njit()
def mark_any(levels, present):
    """present[k] = 1 where level k occurs; levels : (n,)."""
    for level in levels:
        present[level] = 1


@njit()
def translate(levels, number_of, known, out):
    """out[k] = number_of[levels[k]]; returns whether all levels are known."""
    unknown = np.uint8(0)
    for k in range(np.uint64(levels.size)):
        level = levels[k]
        out[k] = number_of[level]
        unknown |= ~known[level]
    return unknown & np.uint8(1) == 0


@njit()
def encode(x, code_of, codes):
    """codes[i, j] = code_of[j, x[i, j]]; codes may be x itself."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            codes[i, j] = code_of[j, x[i, j]]


@njit()
def highest_levels(x, top):
    """top[j] = max_i x[i, j]."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            top[j] = max(top[j], x[i, j])
