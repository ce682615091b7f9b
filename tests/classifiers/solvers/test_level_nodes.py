import itertools

import numpy as np

from visualwords.classifiers.solvers import _primal_table as loops
from visualwords.classifiers.solvers.level_nodes import level_nodes


def interpolation(starts):
    """P as a matrix, from the two nodes of every cell."""
    nodes = level_nodes(starts)
    P = np.zeros((starts[-1], nodes.n_nodes))
    for cell in range(starts[-1]):
        for node, share in zip(nodes.nodes[cell], nodes.shares[cell]):
            P[cell, node] += share
    return nodes, P


def test_straight_tables_are_reproduced_and_level_0_is_0():
    starts = np.array([0, 1, 3, 20, 62])  # features of 1, 2, 17 and 42 cells
    _, P = interpolation(starts)
    assert not P[starts[:-1]].any()
    for start, end in itertools.pairwise(starts[1:]):
        line = np.zeros(starts[-1])
        line[start:end] = np.arange(end - start)
        weights, *_ = np.linalg.lstsq(P, line, rcond=None)
        np.testing.assert_allclose(P @ weights, line, atol=1e-9)


def test_the_inverse_is_that_of_the_projected_hessian(rng):
    starts = np.array([0, 12, 30])
    nodes, P = interpolation(starts)
    cells = np.stack([rng.integers(0, 12, 200), rng.integers(12, 30, 200)], axis=1)
    stiffness = rng.uniform(0.5, 1, 30)
    stiffness[starts[:-1]] = 0
    weights, rows = rng.uniform(1, 2, 200), np.arange(200)
    nodes.renew(cells.astype(np.uint16), rows, weights, stiffness)
    hessian = np.zeros((30, 30))
    for k, unit in enumerate(np.eye(30)):
        unit[starts[:-1]] = 0
        loops.multiply(cells, rows, weights, stiffness, starts, unit, hessian[k])
    np.testing.assert_allclose(np.linalg.inv(P.T @ hessian @ P), nodes.inverse, rtol=1e-8)
    added, right = np.zeros(30), rng.normal(size=30)
    loops.add_coarse(nodes.nodes, nodes.shares, nodes.inverse, right, added)
    np.testing.assert_allclose(added, P @ nodes.inverse @ P.T @ right, rtol=1e-8, atol=1e-12)


def test_features_that_say_the_same_need_few_turns(rng):
    n, d, levels = 4000, 12, 40
    common = rng.integers(0, levels, n)
    x = np.clip(common[:, None] + rng.integers(-1, 2, (n, d)), 0, levels - 1)
    starts = levels * np.arange(d + 1)
    cells = (x + starts[:-1]).astype(np.uint16)
    stiffness = np.ones(starts[-1])
    stiffness[starts[:-1]] = 0
    weights, rows, gradient = np.full(n, 0.1), np.arange(n), rng.normal(size=starts[-1])
    gradient[starts[:-1]] = 0
    nodes = level_nodes(starts)
    turns = []
    for inverse in (nodes.inverse, None):
        if inverse is None:
            nodes.renew(cells, rows, weights, stiffness)
            inverse = nodes.inverse
        step, needed = loops.newton_direction(
            cells, rows, weights, stiffness, starts, nodes.nodes, nodes.shares, inverse, gradient,
            1e-6, 500,
        )  # fmt: skip
        image = np.empty(starts[-1])
        loops.multiply(cells, rows, weights, stiffness, starts, step, image)
        np.testing.assert_allclose(image, -gradient, atol=1e-3)
        turns.append(needed)
    assert turns[1] < turns[0]
