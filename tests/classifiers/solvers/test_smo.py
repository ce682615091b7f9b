"""The kernel SVM's solvers: optimality, LIBSVM's objective, shrinking, rows on demand."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from visualwords.classifiers.solvers import smo
from visualwords.classifiers.solvers._smo import Blocks
from visualwords.classifiers.solvers.row_cache import RowCache
from visualwords.classifiers.solvers.smo import solve
from visualwords.classifiers.solvers.smo_on_demand import solve_together


@pytest.fixture
def problem(rng):
    """Overlapping classes, costs that differ; so many samples that ``tol`` counts."""
    X = rng.normal(size=(500, 3))
    y = np.where(X[:, 0] + rng.normal(size=500) > 0, 1.0, -1.0)
    return X, y, rng.uniform(0.5, 200, 500)


def rows_of(K, max_bytes=0):
    """The rows of a matrix, on demand."""
    index = np.arange(len(K))
    return RowCache(lambda i, j: K[np.ix_(i, j)], index, len(K), max_bytes)


def on_demand(K, y, cost, **settings):
    """One problem with a cache of 60 rows."""
    return solve_together(rows_of(K, 60 * 4 * len(K)), [y], cost, **settings)[0]


def in_blocks(K, *rest, **settings):
    """The matrix without its block below the diagonal."""
    first, second = slice(200), slice(200, None)
    places = ((first, first), (first, second), (second, second))
    blocks = Blocks(*(np.ascontiguousarray(K[place]) for place in places))
    return solve(blocks, *rest, **settings)


SOLVERS = {
    "float64": solve,
    "blocks": in_blocks,
    "float32": lambda K, *rest, **settings: solve(K.astype(np.float32), *rest, **settings),
    "CSR": lambda K, *rest, **settings: solve(sparse.csr_array(K), *rest, **settings),
    "on demand": on_demand,
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_dual_solution_satisfies_the_kkt_conditions(problem, solver):
    X, y, cost = problem
    K = rbf_kernel(X)
    found = SOLVERS[solver](K, y, cost, tol=1e-4)
    assert found.violation <= 1e-4
    assert abs(found.coefficients.sum()) < 1e-9
    alpha = y * found.coefficients
    assert np.all((alpha >= 0) & (alpha <= cost))
    margin = y * (K @ found.coefficients + found.intercept)
    slack = 1e-3
    assert np.all(margin[alpha == 0] >= 1 - slack)
    assert np.all(margin[alpha == cost] <= 1 + slack)
    np.testing.assert_allclose(margin[(alpha > 0) & (alpha < cost)], 1, atol=slack)
    beta = found.coefficients
    np.testing.assert_allclose(found.objective, beta @ K @ beta / 2 - y @ beta, rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_optimum_is_that_of_libsvm(problem, solver):
    X, y, cost = problem
    K = rbf_kernel(X)
    peer = SVC(kernel="precomputed", C=1.0, tol=1e-6).fit(K, y, sample_weight=cost)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    found = SOLVERS[solver](K, y, cost, tol=1e-6)
    np.testing.assert_allclose(found.objective, beta @ K @ beta / 2 - y @ beta, rtol=1e-6)
    np.testing.assert_allclose(found.intercept, peer.intercept_[0], atol=1e-3)


def test_shrinking_changes_nothing(problem, monkeypatch):
    X, y, cost = problem
    K = rbf_kernel(X)
    sizes = []
    real = smo.rows_of

    def noted(source, places, columns):
        sizes.append(columns.size)
        return real(source, places, columns)

    monkeypatch.setattr(smo, "rows_of", noted)
    found = solve(K, y, cost, tol=1e-6)
    assert sizes[0] == 500
    assert min(sizes) < 350
    monkeypatch.setattr(smo, "STEPS_BETWEEN_SHRINKING", 1)
    monkeypatch.setattr(smo, "WORTH_SHRINKING", 1.0)
    eager = solve(K, y, cost, tol=1e-6)
    monkeypatch.setattr(smo, "WORTH_SHRINKING", 0.0)
    never = solve(K, y, cost, tol=1e-6)
    for other in eager, never:
        np.testing.assert_allclose(other.objective, found.objective, rtol=1e-9)
        assert other.violation <= 1e-6


def test_blocks_take_the_steps_of_the_whole_matrix(problem):
    X, y, cost = problem
    K = rbf_kernel(X)
    K = (K + K.T) / 2  # equal to the last bit on both sides
    start = solve(K, y, cost, tol=0.1).coefficients  # and from there with shrinking
    for settings in ({"tol": 1e-5}, {"tol": 1e-5, "start": start}):
        found, expected = in_blocks(K, y, cost, **settings), solve(K, y, cost, **settings)
        assert found.n_iter == expected.n_iter
        np.testing.assert_array_equal(found.coefficients, expected.coefficients)


@pytest.mark.parametrize("dense", [True, False])
def test_some_samples_of_a_matrix_are_solved_like_a_matrix_of_them(problem, dense, rng):
    X, y, cost = problem
    K = rbf_kernel(X)
    samples = np.sort(rng.permutation(500)[:400])
    gram = K if dense else sparse.csr_array(K)
    part = solve(gram, y[samples], cost[samples], samples=samples, tol=1e-6)
    alone = solve(K[np.ix_(samples, samples)], y[samples], cost[samples], tol=1e-6)
    np.testing.assert_allclose(part.objective, alone.objective, rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_any_start_leads_to_the_optimum(problem, solver, rng):
    X, y, cost = problem
    K = rbf_kernel(X)
    cold = SOLVERS[solver](K, y, cost, tol=1e-6)
    for start in (cold.coefficients, 1000 * rng.normal(size=500)):
        settings = {"starts": [start]} if solver == "on demand" else {"start": start}
        warm = SOLVERS[solver](K, y, cost, tol=1e-6, **settings)
        np.testing.assert_allclose(warm.objective, cold.objective, rtol=1e-7)
        if start is cold.coefficients:
            assert warm.n_iter < cold.n_iter / 4


def test_too_few_steps_are_reported(problem):
    X, y, cost = problem
    K = rbf_kernel(X)
    for solver in SOLVERS.values():
        found = solver(K, y, cost, max_iter=7)
        assert found.n_iter == 7
        assert found.violation > 1e-3
        assert abs(found.coefficients.sum()) < 1e-9


def test_problems_solved_together_are_those_solved_alone(rng):
    X = rng.normal(size=(400, 2))
    codes = rng.integers(0, 5, 400)
    signs = [np.where(codes == c, 1.0, -1.0) for c in range(5)]
    K, cost = rbf_kernel(X), np.full(400, 3.0)
    cache = rows_of(K, 200 * 4 * 400)
    for y, found in zip(signs, solve_together(cache, signs, cost, tol=1e-5)):
        np.testing.assert_allclose(
            found.objective, solve(K, y, cost, tol=1e-5).objective, rtol=1e-6
        )
    assert cache.n_computed < sum(on_demand_rows(K, y, cost) for y in signs)


def on_demand_rows(K, y, cost):
    """Rows that one problem needs, with the same memory."""
    cache = rows_of(K, 200 * 4 * len(K))
    solve_together(cache, [y], cost, tol=1e-5)
    return cache.n_computed


def test_row_cache_forgets_the_oldest(rng):
    X = rng.random((60, 4))
    asked = []

    def kernel(x, y):
        asked.append(len(x))
        return x @ y.T

    cache = RowCache(kernel, X, 60, max_bytes=0)
    for wanted in ([0, 1, 2], [1, 2, 3], range(4, 32), [0, 3], [20, 21, 40, 41], [4, 5], [1]):
        wanted = np.array(wanted)
        cache.fetch(wanted)
        np.testing.assert_allclose(cache.rows[cache.place_of[wanted]], (X @ X.T)[wanted], rtol=1e-6)
    assert asked == [3, 1, 28, 2, 1]  # 1 and 2 made room for 40 and 41
    assert cache.n_computed == 35
