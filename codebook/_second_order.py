"""Logarithms of symmetric positive definite matrices, by way of tridiagonal ones.

A = Q T Qᵀ with T tridiagonal and Q a product of reflections (Householder), so that
log A = Q log(T) Qᵀ. Of T, the logarithm is an integral of inverses, and those of a tridiagonal
matrix are products of a few numbers: there are no eigenvectors.
"""

import math

import numpy as np

from visualwords.compiled import njit

_NODES = 16  # of the trapezoidal rule: at distance h, its error is about 4 exp(−2 π² / h)
_TAIL = 6.5  # they reach so far beyond the logarithms of eigenvalues: error exp(−2 tail)
_FAINT = 1e-14  # columns whose squares are below it, in those of ε, are taken for 0
_ROUNDING = 1e-6  # of sums of eigenvalues in single precision
_NOTHING = 1e-30  # numbers of an inverse below it are 0: products of such would be slow
_SUMS = {"reassoc", "nsz", "contract"}


@njit(fastmath=_SUMS)
def reflect(column, faint):
    """Make a column the v of I − β v vᵀ that takes it to (α, 0, …); return β and α.

    column : (m,) float32      faint : squares below it are taken for 0
    """
    rest = np.float32(0)
    for i in range(np.uint64(1), np.uint64(column.size)):
        rest += column[i] * column[i]
    first = column[0]
    if rest <= faint:
        return np.float32(0), first
    squares = first * first + rest
    length = np.float32(math.sqrt(squares))
    alpha = -length if first > 0 else length
    column[0] = first - alpha
    return np.float32(1) / (squares - first * alpha), alpha


@njit(fastmath=_SUMS)
def turn(matrix, v, beta, first, w):
    """matrix = H matrix H with H = I − β v vᵀ, in the rows from the first on; w is memory.

    matrix : (d, d) float32, symmetric      w : (d,) float32
    v : (d,) float32: whole rows, with zeros in v, take less time than parts of them
    """
    d = np.uint64(v.size)
    product = np.float32(0)
    w[:first] = 0
    for i in range(np.uint64(first), d):
        row, total = matrix[i], np.float32(0)
        for j in range(d):
            total += row[j] * v[j]
        w[i] = total
        product += total * v[i]
    shift = np.float32(0.5) * beta * product
    for i in range(d):
        w[i] = beta * (w[i] - shift * v[i])
    for i in range(np.uint64(first), d):
        row, of_v, of_w = matrix[i], v[i], w[i]
        for j in range(d):
            row[j] -= of_v * w[j] + of_w * v[j]


@njit(fastmath=_SUMS)
def tridiagonalize(a, faint, reflections, betas, diagonal, beside, w):
    """Leave Qᵀ A Q in diagonal and beside; row k of reflections is the v of reflection k.

    a, reflections : (d, d) float32, a is overwritten      betas, diagonal, w : (d,) float32
    beside : (d,) float32, whose last number stays 0
    """
    d = a.shape[0]
    for k in range(d - 1):
        v = reflections[k]
        v[: k + 1] = 0
        v[k + 1 :] = a[k, k + 1 :]
        diagonal[k] = a[k, k]
        betas[k], beside[k] = reflect(v[k + 1 :], faint)
        if betas[k] != 0:
            turn(a, v, betas[k], k + 1, w)
    diagonal[d - 1] = a[d - 1, d - 1]


@njit(fastmath=_SUMS)
def factorize(diagonal, beside, lowest, shifts, weights, factors, parts):
    """T + shift = L D Lᵀ of all shifts: −L beside the diagonal, and weight / D.

    diagonal, beside : (d,) float32      lowest : float32, no eigenvalue of T is smaller
    shifts, weights : (nodes,) float32      factors, parts : (d, nodes) float32
    """
    before = np.zeros(_NODES, np.float32)
    for i in range(diagonal.size):
        of_beside = beside[i - 1] if i else np.float32(0)
        for s in range(_NODES):  # no pivot is below the smallest eigenvalue, but for rounding
            pivot = diagonal[i] + shifts[s] + before[s] * of_beside
            pivot = max(pivot, lowest + shifts[s])
            before[s] = -beside[i] / pivot
            factors[i, s] = before[s]
            parts[i, s] = weights[s] / pivot


@njit()
def sum_inverses(factors, parts, rows, out):
    """out = Σ_s weight_s (T + shift_s)⁻¹: a row of an inverse is a multiple of the one below.

    factors, parts : (d, nodes) float32 of `factorize`      out : (d, d) float32
    rows : (nodes, d) float32, memory: whole rows, with zeros, take less time than parts of them
    """
    d = np.uint64(out.shape[0])
    rows[:], out[:] = 0, 0
    for i in range(out.shape[0] - 1, -1, -1):
        target = out[i]
        for s in range(_NODES):
            row, factor, on_diagonal = rows[s], factors[i, s], parts[i, s]
            if i + 1 < out.shape[0]:
                on_diagonal += factor * factor * row[i + 1]
            for j in range(d):
                value = factor * row[j]
                row[j] = value if abs(value) > _NOTHING else np.float32(0)
                target[j] += value
            row[i] = on_diagonal
            target[i] += on_diagonal
    for i in range(out.shape[0]):
        for j in range(i):
            out[i, j] = out[j, i]


@njit()
def log_tridiagonal(diagonal, beside, lowest, memory, out):
    """out = log T, by log(x / c) = ∫ t / (c + t) − t / (x + t) du over all u, t = exp(u).

    c is the largest eigenvalue or more. Beyond the first and the last node, terms fall like
    exp(−|u|): they are a multiple of these.

    diagonal, beside : (d,) float32      lowest : float64, no eigenvalue is smaller
    memory : (3, d, nodes) float32      out : (d, d) float32
    """
    d, largest = diagonal.size, lowest
    for i in range(d):
        before = abs(beside[i - 1]) if i else np.float32(0)
        largest = max(largest, diagonal[i] + before + abs(beside[i]))  # Gershgorin
    start, end = math.log(lowest) - _TAIL, math.log(largest) + _TAIL
    step = (end - start) / (_NODES - 1)
    shifts, weights = np.empty(_NODES, np.float32), np.empty(_NODES, np.float32)
    total = math.log(largest)
    for s in range(_NODES):
        shift, weight = math.exp(start + step * s), step
        if s in (0, _NODES - 1):
            weight /= 1.0 - math.exp(-step)
        shifts[s], weights[s] = shift, -weight * shift
        total += weight * shift / (largest + shift)
    factorize(diagonal, beside, np.float32(lowest), shifts, weights, memory[0], memory[1])
    sum_inverses(memory[0], memory[1], memory[2].reshape(_NODES, d), out)
    for i in range(d):
        out[i, i] += np.float32(total)


@njit(fastmath=_SUMS)
def log_matrices(matrices, epsilon, out):
    """out[k] = diagonal and √2 × what is above it of log(matrices[k] + ε I), row by row.

    matrices : (n, d, d) float32, positive semi-definite, overwritten
    epsilon : float64, raised where the rounding of a matrix would exceed it
    out : (n, d (d + 1) / 2) float32
    """
    n, d = matrices.shape[:2]
    reflections, found = np.empty((d, d), np.float32), np.empty((d, d), np.float32)
    of_t, memory = np.zeros((4, d), np.float32), np.empty((3, d, _NODES), np.float32)
    betas, diagonal, beside, w = of_t[0], of_t[1], of_t[2], of_t[3]
    root = np.float32(math.sqrt(2.0))
    for k in range(n):
        lowest = max(epsilon, _ROUNDING * np.trace(matrices[k]))
        faint = np.float32(_FAINT * lowest * lowest)
        for i in range(d):
            matrices[k, i, i] += np.float32(lowest)
        tridiagonalize(matrices[k], faint, reflections, betas, diagonal, beside, w)
        log_tridiagonal(diagonal, beside, lowest, memory, found)
        for m in range(d - 2, -1, -1):
            if betas[m] != 0:
                turn(found, reflections[m], betas[m], 0, w)
        start = 0
        for i in range(d):
            out[k, start] = found[i, i]
            for j in range(i + 1, d):
                out[k, start + j - i] = root * found[i, j]
            start += d - i
