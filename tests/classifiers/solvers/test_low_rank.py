"""The dual solver with short vectors of weights against a plain one."""

import numpy as np
import pytest

from tests.reference import additive_svm as reference
from visualwords.classifiers.solvers.low_rank import LowRankProblem, solve_low_rank
from visualwords.classifiers.tables.level_pairs import LevelScale, level_rows

TOP, RANK = 20, 4


@pytest.fixture
def problem(rng):
    """Sparse rows, short vectors of their levels, classes, and the Gram matrix of the vectors."""
    table = np.concatenate([np.zeros((1, RANK)), rng.normal(size=(TOP, RANK))]).astype(np.float32)
    X = rng.integers(1, TOP + 1, (150, 40)) * (rng.random((150, 40)) < 0.15)
    codes = rng.integers(0, 3, 150)
    scale = LevelScale(np.zeros(1, np.float32), np.ones(1, np.float32) / TOP, TOP)
    return level_rows(X, scale), table, codes, table[X].reshape(150, -1).astype(float)


def solved(problem, cost, **how):
    rows, table, codes, _ = problem
    curvature = rows.sums(np.square(table, dtype=float).sum(axis=1))
    how = {"tol": 1e-3, "max_iter": 5000, "seed": 0} | how
    given = rows, 40, codes, np.arange(3), cost, curvature, table, table
    return solve_low_rank(LowRankProblem(*given, **how))


@pytest.mark.parametrize("C", [0.02, 1.0])
def test_optimum_satisfies_the_conditions_and_is_that_of_a_plain_solver(problem, C):
    _, _, codes, long = problem
    (weights, alpha), n_iter, violation = solved(problem, np.full(150, C))
    assert violation <= 1e-3
    assert n_iter > 3
    for m in range(3):
        sign = np.where(codes == m, 1.0, -1.0)
        w = long.T @ (alpha[:, m] * sign)
        np.testing.assert_allclose(weights[m].ravel(), w, atol=1e-4)
        gradient = sign * (long @ w) - 1
        assert gradient[alpha[:, m] == 0].min() > -2e-3
        assert gradient[alpha[:, m] == np.float32(C)].max(initial=-1) < 2e-3
        exact = reference.solve_dual(long @ long.T, sign, np.full(150, C), passes=300)
        wanted = exact.sum() - 0.5 * np.square(long.T @ (exact * sign)).sum()
        found = alpha[:, m].sum() - 0.5 * np.square(w).sum()
        np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_samples_without_cost_do_not_take_part(problem):
    cost = np.full(150, 0.1)
    cost[::3] = 0
    (_, alpha), _, violation = solved(problem, cost)
    assert not alpha[::3].any()
    assert violation <= 1e-3
