"""The three HIK solvers against definitions, optimality conditions, LIBLINEAR and each other."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from tests.reference import hik
from visualwords.classifiers.solvers.dual_gram import dual_problem, solve_dual_gram
from visualwords.classifiers.tables import additive_tables, hik_training
from visualwords.classifiers.tables.level_codes import LevelNumbers
from visualwords.classifiers.tables.rows import canonical_rows

SETTINGS = {"tol": 1e-8, "max_iter": 20_000, "seed": 0, "shrinking": True, "n_jobs": None}


@pytest.fixture
def problem(rng):
    """Counts of two overlapping classes, with gaps between levels, targets and unequal costs."""
    y = rng.choice([-1.0, 1.0], 80)
    levels = rng.poisson(np.where(y > 0, 2.0, 3.0)[:, None], (80, 9)).astype(np.uint8)
    levels[:, 3] *= 5
    levels[:, 4] = 0
    cost = 0.02 * rng.integers(1, 4, 80)
    return levels, y, cost


def train(levels, y, cost, solver, **changes):
    settings = hik_training.Settings(**{"loss": "squared_hinge", **SETTINGS, **changes})
    labels = (y > 0).astype(np.uint64)
    taking_part = canonical_rows(levels, labels, cost)
    trained = hik_training.train_tables(
        levels,
        LevelNumbers(np.arange(levels.max() + 1)),
        y[None],
        taking_part,
        settings,
        solver=solver,
    )
    return trained, taking_part


def objectives(levels, y, cost, trained, taking_part, loss):
    """Dual and primal objective of the solution's α."""
    squared = loss == "squared_hinge"
    rows = taking_part.rows
    gram = hik.intersection_gram(levels[rows], levels[rows])
    arguments = gram, y[rows], trained.alpha[0], taking_part.cost, squared
    return hik.dual_objective(*arguments), hik.primal_objective(*arguments)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("solver", ["dual", "gram"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_same_optimum_as_liblinear_on_the_unary_expansion(problem, loss, solver, form):
    levels, y, cost = problem
    given = sparse.csr_matrix(levels) if form == "sparse" else levels
    trained, taking_part = train(given, y, cost, solver, loss=loss)
    ours, _ = objectives(levels, y, cost, trained, taking_part, loss)
    peer = LinearSVC(C=1.0, loss=loss, fit_intercept=False, tol=1e-10, max_iter=10**6, dual=True)
    B = hik.unary_expansion(levels, levels.max())
    w = peer.fit(B, y, sample_weight=cost).coef_[0]
    slack = np.maximum(1 - y * (B @ w), 0)
    theirs = 0.5 * w @ w + cost @ (slack**2 if loss == "squared_hinge" else slack)
    assert -ours == pytest.approx(theirs, rel=1e-6)


def test_primal_has_the_optimum_of_the_dual(problem):
    levels, y, cost = problem
    dual, taking_part = train(levels, y, cost, "dual")
    primal, _ = train(levels, y, cost, "primal", tol=1e-9)
    np.testing.assert_array_equal(primal.offsets, dual.offsets)
    np.testing.assert_allclose(primal.tables, dual.tables, atol=2e-6)
    value, _ = objectives(levels, y, cost, dual, taking_part, "squared_hinge")
    T = primal.tables[:, 0].astype(float)
    steps = np.diff(T)
    steps[primal.offsets[1:-1] - 1] = 0  # from one feature to the next
    slack = np.maximum(
        1 - y * additive_tables.table_scores(levels, primal.offsets, primal.tables)[:, 0], 0
    )
    assert 0.5 * steps @ steps + cost @ slack**2 == pytest.approx(-value, rel=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("solver", ["dual", "gram"])
def test_dual_solution_satisfies_the_kkt_conditions(problem, loss, solver):
    levels, y, cost = problem
    trained, part = train(levels, y, cost, solver, loss=loss)
    alpha, rows = trained.alpha[0], part.rows
    gram = hik.intersection_gram(levels[rows], levels[rows])
    margin = y[rows] * (gram @ (alpha * y[rows]))
    diagonal = 0.5 / part.cost if loss == "squared_hinge" else np.zeros(rows.size)
    upper = np.inf if loss == "squared_hinge" else part.cost
    gradient = margin - 1 + diagonal * alpha
    assert np.all(alpha >= 0)
    assert np.all(alpha <= upper)
    assert np.all(gradient[alpha == 0] > -1e-6)
    assert np.all(gradient[alpha == upper] < 1e-6)
    inside = (alpha > 0) & (alpha < upper)
    assert np.abs(gradient[inside]).max() < 1e-6
    dual, primal = objectives(levels, y, cost, trained, part, loss)
    assert primal + dual == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("solver", ["dual", "gram"])
def test_tables_equal_their_definition(problem, solver):
    levels, y, cost = problem
    trained, part = train(levels, y, cost, solver, tol=0.1)
    coefficients = trained.alpha[0] * y[part.rows]
    expected = hik.table(levels[part.rows], coefficients, levels.max())
    n_levels = int(levels.max()) + 1
    heights = np.arange(n_levels)
    full = additive_tables.expand_tables(trained.offsets, trained.tables, heights, n_levels)[0]
    np.testing.assert_allclose(full, expected, atol=1e-6)


def test_shrinking_and_order_do_not_change_the_optimum(problem):
    levels, y, cost = problem
    reference, _ = train(levels, y, cost, "dual")
    for changes in ({"shrinking": False}, {"seed": None}, {"seed": 7}):
        other, _ = train(levels, y, cost, "dual", **changes)
        np.testing.assert_allclose(other.tables, reference.tables, atol=2e-6)


def test_sparse_and_dense_levels_give_the_same_model(problem):
    levels, y, cost = problem
    for solver in ("dual", "gram", "primal"):
        dense, _ = train(levels, y, cost, solver)
        thin, _ = train(sparse.csr_matrix(levels), y, cost, solver)
        np.testing.assert_array_equal(thin.offsets, dense.offsets)
        np.testing.assert_allclose(thin.tables, dense.tables, atol=2e-6)


def test_levels_above_a_byte_and_levels_that_never_occur(rng):
    levels = 100 * rng.integers(0, 4, (40, 6)).astype(np.uint16)
    y = np.where(levels[:, 0] > 100, 1.0, -1.0)
    cost = np.full(40, 1e-4)
    results = [train(levels, y, cost, solver)[0] for solver in ("dual", "gram", "primal")]
    for other in results[1:]:
        np.testing.assert_allclose(other.tables, results[0].tables, atol=2e-6)


def test_rows_of_zeros_are_learned_from_without_harm():
    levels = np.zeros((4, 3), np.uint8)
    levels[0, 0] = 2
    y = np.array([1.0, -1.0, 1.0, -1.0])
    for solver, loss in (("dual", "hinge"), ("gram", "hinge"), ("primal", "squared_hinge")):
        trained, _ = train(levels, y, np.ones(4), solver, loss=loss, max_iter=50)
        assert np.isfinite(trained.tables).all()


@pytest.mark.parametrize("solver", ["dual", "gram", "primal"])
def test_order_and_repetition_of_rows_do_not_change_a_bit(problem, solver, rng):
    levels, y, cost = problem
    first, _ = train(levels, y, cost, solver, tol=0.1)
    shuffled = rng.permutation(80)
    again, _ = train(levels[shuffled], y[shuffled], cost[shuffled], solver, tol=0.1)
    np.testing.assert_array_equal(again.tables, first.tables)
    twice = np.r_[shuffled, :80]
    split, _ = train(levels[twice], y[twice], cost[twice] / 2, solver, tol=0.1)
    np.testing.assert_array_equal(split.tables, first.tables)


@pytest.mark.parametrize("n", [3000])
def test_the_primal_starts_well_from_a_subsample(rng, n):
    y = rng.choice([-1.0, 1.0], 4 * n)
    levels = rng.poisson(np.where(y > 0, 4.0, 5.0)[:, None], (4 * n, 3)).astype(np.uint8)
    cost = np.full(4 * n, 1e-3)
    direct, _ = train(levels, y, cost, "primal", tol=1e-6, seed=None)
    staged, _ = train(levels, y, cost, "primal", tol=1e-6)
    np.testing.assert_allclose(staged.tables, direct.tables, atol=1e-6)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_mostly_small_counts_have_the_same_optimum_on_tables(rng, kind, loss):
    levels = rng.poisson(0.7, (50, 75)).astype(kind)
    levels[:, 5] *= 40
    levels[rng.integers(0, 50, 30), rng.integers(0, 75, 30)] = 200 if kind == np.uint8 else 350
    y = rng.choice([-1.0, 1.0], 50)
    cost = np.full(50, 0.01)
    gram, part = train(levels, y, cost, "gram", loss=loss)
    dual, _ = train(levels, y, cost, "dual", loss=loss)
    one, _ = objectives(levels, y, cost, gram, part, loss)
    two, _ = objectives(levels, y, cost, dual, part, loss)
    assert one == pytest.approx(two, rel=1e-6)
    rough, _ = train(levels, y, cost, "dual", loss=loss, tol=0.01)
    np.testing.assert_allclose(rough.tables, dual.tables, atol=2e-3)


@pytest.mark.parametrize("mean", [0.3, 2.0, 6.0])  # few, most and nearly all codes are not 0
@pytest.mark.parametrize("tol", [0.1, 1e-8])  # tables of single and of double precision
def test_wide_samples_have_the_same_optimum_on_tables_and_on_the_gram_matrix(rng, mean, tol):
    levels = rng.poisson(mean, (40, 4099)).astype(np.uint8)
    y, cost = rng.choice([-1.0, 1.0], 40), np.full(40, 0.01)
    dual, _ = train(levels, y, cost, "dual", tol=tol)
    gram, _ = train(levels, y, cost, "gram", tol=tol)
    np.testing.assert_allclose(dual.tables, gram.tables, atol=3e-3 if tol > 1e-3 else 1e-6)
    stored, _ = train(sparse.csr_matrix(levels), y, cost, "dual", tol=tol)
    np.testing.assert_allclose(stored.alpha, dual.alpha, rtol=1e-4 if tol > 1e-3 else 1e-7)


def test_passes_for_the_gap_do_not_undo_convergence():
    """In this problem the pass that ends the search for a small gap differs by more than tol."""
    gram = np.array([[69619, 32242, 58304], [32242, 69534, 27229], [58304, 27229, 68610]])
    cost = np.full(3, 1e-3)
    problem = dual_problem(np.arange(3), cost, np.diagonal(gram).astype(float), "squared_hinge")
    for seed in range(40):
        _, n_iter, violation = solve_dual_gram(
            gram.astype(np.float32), 2 * np.eye(3) - 1, problem, tol=0.1, max_iter=1000, seed=seed
        )
        assert n_iter.max() < 1000
        assert violation.max() <= 0.1


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("tol", [0.1, 1e-6])  # scores of single and of double precision
def test_problems_advanced_together_end_like_each_alone(rng, loss, tol):
    levels = rng.poisson(2.0, (50, 30)).astype(np.uint8)
    gram = hik.intersection_gram(levels, levels).astype(np.float32)
    cost = 0.02 * rng.integers(1, 4, 50)
    problem = dual_problem(np.arange(50), cost, np.diagonal(gram).astype(float), loss)
    y = np.where(rng.integers(0, 9, 50) == np.arange(9)[:, None], 1.0, -1.0)
    how = {"tol": tol, "max_iter": 5000, "seed": 3}
    alpha, n_iter, violation = solve_dual_gram(gram, y, problem, **how)
    assert (violation <= tol).all()
    for p in range(9):
        alone, passes, _ = solve_dual_gram(gram, y[p : p + 1], problem, **how)
        assert passes == n_iter[p]
        np.testing.assert_allclose(alpha[p], alone[0], atol=1e-6)
