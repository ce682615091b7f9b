"""Loops of Newton's method on the tables of one problem.

``cells`` (n, d) names, for every sample and feature, the cell of the table t that holds
T[j, x_ij]; feature j owns the cells ``starts[j] … starts[j + 1] - 1``, of which the first is level
0 and stays 0. With ``stiffness`` g = 1 / (difference of a cell's level to the one below), or 0 at
level 0, ½ wᵀw = ½ sum g (t_k − t_{k−1})²; L is the tridiagonal matrix of this form.
"""

import numpy as np

from visualwords.compiled import njit


@njit()
def sum_cells(cells, t, out):
    """out[i] = sum_j t[cells[i, j]]  [Wu10, Eq. 6]."""
    for i in range(cells.shape[0]):
        row = cells[i]
        total = 0.0
        for j in range(np.uint64(row.size)):
            total += t[row[j]]
        out[i] = total


@njit()
def sum_by_cell(cells, rows, weights, out):
    """out[c] += sum of weights[i] over the samples i of ``rows`` that have the cell c."""
    for i in rows:
        row = cells[i]
        weight = weights[i]
        for j in range(np.uint64(row.size)):
            out[row[j]] += weight


@njit()
def multiply(cells, rows, weights, stiffness, starts, v, out):
    """out = (L + sum_i weights_i B_i B_iᵀ) v: the Hessian times v, by look-up and binning."""
    smoothness(stiffness, v, out)
    for i in rows:
        row = cells[i]
        total = 0.0
        for j in range(np.uint64(row.size)):
            total += v[row[j]]
        total *= weights[i]
        for j in range(np.uint64(row.size)):
            out[row[j]] += total
    out[starts[:-1]] = 0.0  # the table is 0 at level 0, and so are all its changes


@njit()
def smoothness(stiffness, t, out):
    """out = L t."""
    out[0] = 0.0
    for k in range(1, t.size):
        force = stiffness[k] * (t[k] - t[k - 1])
        out[k] = force
        out[k - 1] -= force


@njit()
def factorise(stiffness, starts, weight, inverse):
    """inverse = the inverted pivots of L + diag(weight)."""
    for j in range(starts.size - 1):
        inverse[starts[j]] = 0.0
        for k in range(starts[j] + 1, starts[j + 1]):
            above = stiffness[k + 1] if k + 1 < starts[j + 1] else 0.0
            pivot = stiffness[k] + above + weight[k] - stiffness[k] ** 2 * inverse[k - 1]
            inverse[k] = 1.0 / pivot


@njit()
def solve(stiffness, starts, inverse, right, out):
    """out = (L + diag(weight))⁻¹ right, with the pivots of ``factorise``."""
    for j in range(starts.size - 1):
        first, end = starts[j], starts[j + 1]
        out[first] = 0.0
        for k in range(first + 1, end):
            out[k] = right[k] + stiffness[k] * inverse[k - 1] * out[k - 1]
        above = 0.0
        for k in range(end - 1, first, -1):
            out[k] = inverse[k] * (out[k] + above)
            above = stiffness[k] * out[k]


@njit()
def newton_direction(problem, rows, weights, gradient, accuracy, max_turns):
    """Solve H step = −gradient by preconditioned conjugate gradients, to a relative accuracy.

    The preconditioner treats every feature alone, exactly: L + the weight of each of its levels.
    """
    cells, starts, stiffness = problem.cells, problem.starts, problem.stiffness
    inverse, image = np.zeros(gradient.size), np.zeros(gradient.size)
    sum_by_cell(cells, rows, weights, image)
    factorise(stiffness, starts, image, inverse)
    step, residual = np.zeros(gradient.size), -gradient
    prepared = np.empty(gradient.size)
    solve(stiffness, starts, inverse, residual, prepared)
    direction = prepared.copy()
    size = np.dot(residual, prepared)
    target = accuracy**2 * size
    for _ in range(max_turns):
        if size <= target:
            break
        multiply(cells, rows, weights, stiffness, starts, direction, image)
        length = size / np.dot(direction, image)
        step += length * direction
        residual -= length * image
        solve(stiffness, starts, inverse, residual, prepared)
        before, size = size, np.dot(residual, prepared)
        direction = prepared + (size / before) * direction
    return step
