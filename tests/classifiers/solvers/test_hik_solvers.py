"""The HIK solvers against definitions, optimality conditions, LIBLINEAR and each other."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from tests.reference import hik
from visualwords.classifiers import ICDClassifier, icd
from visualwords.classifiers.solvers import dual_gram, dual_table
from visualwords.classifiers.solvers.problems import LevelProblem, dual_problem
from visualwords.classifiers.tables.level_tables import (
    canonical_rows,
    expand_tables,
    learn_layout,
    table_scores,
)


@pytest.fixture
def problem(rng):
    """Counts of two overlapping classes, with gaps between levels, targets and unequal costs."""
    y = rng.integers(0, 2, 80)
    levels = rng.poisson(np.where(y == 1, 2.0, 3.0)[:, None], (80, 9)).astype(np.uint8)
    levels[:, 3] *= 5
    levels[:, 4] = 0
    return levels, y, 0.02 * rng.integers(1, 4, 80)


def level_problem(levels, y, cost, *, loss="squared_hinge", tol=1e-8, seed=0, max_iter=20_000):
    rows, merged = canonical_rows(levels, y, cost)
    how = loss, tol, max_iter, seed, None
    return LevelProblem(levels, rows, learn_layout(levels), y[rows], np.array([1]), merged, *how)


def train(levels, y, cost, solver, **how):
    """The problem, and its tables (cells, 1)."""
    given = level_problem(levels, y, cost, **how)
    tables, _, violation = icd.SOLVERS[solver](given)
    assert violation <= given.tol
    return given, tables


def objective(given, tables, loss):
    """Primal objective of tables, ½ wᵀw from the differences of neighbouring cells."""
    steps, rises = np.diff(tables[:, 0].astype(float)), np.diff(given.layout.cell_heights())
    inside = np.ones(steps.size, bool)
    inside[given.layout.offsets[1:-1] - 1] = False  # from one feature to the next
    scores = table_scores(given.levels, given.layout, tables)[given.rows, 0]
    slack = np.maximum(1 - given.signs[0] * scores, 0)
    half = 0.5 * (steps[inside] ** 2 / rises[inside]).sum()
    return half + given.cost @ (slack**2 if loss == "squared_hinge" else slack)


SOLVERS = [
    *[("gram", "squared_hinge"), ("gram", "hinge"), ("dual", "squared_hinge"), ("dual", "hinge")],
    *[("primal", "squared_hinge"), ("blocks", "squared_hinge"), ("blocks", "hinge")],
]


@pytest.mark.parametrize(("solver", "loss"), SOLVERS)
def test_same_optimum_as_liblinear_on_the_unary_expansion(problem, solver, loss):
    levels, y, cost = problem
    B, sign = hik.unary_expansion(levels, levels.max()), np.where(y == 1, 1, -1)
    peer = LinearSVC(C=1.0, loss=loss, fit_intercept=False, tol=1e-10, max_iter=10**6, dual=True)
    w = peer.fit(B, y, sample_weight=cost).coef_[0]
    slack = np.maximum(1 - sign * (B @ w), 0)
    theirs = 0.5 * w @ w + cost @ (slack**2 if loss == "squared_hinge" else slack)
    forms = (levels,) if solver == "blocks" else (levels, sparse.csr_matrix(levels))
    for given in forms:
        # blocks end where a pass hardly lowers the objective: about the square of the tolerance
        ours = objective(*train(given, y, cost, solver, loss=loss, tol=1e-6), loss)
        assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("solver", ["dual", "gram"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_dual_solutions_satisfy_the_optimality_conditions(problem, solver, loss):
    levels, y, cost = problem
    given = level_problem(levels, y, cost, loss=loss)
    gram = hik.intersection_gram(levels[given.rows], levels[given.rows])
    sign, dual = given.signs[0], dual_problem(given.cost, np.diagonal(gram).copy(), loss)
    how = {"tol": given.tol, "max_iter": given.max_iter, "seed": 0}
    if solver == "gram":
        alpha, *_ = dual_gram.solve_dual_gram(gram.astype(np.float32), sign[None], dual, **how)
        alpha = alpha[0]
    else:
        alpha, *_ = dual_table.solve_dual_table(dual_table.coded_rows(given), sign, dual, **how)
    gradient = sign * (gram @ (alpha * sign)) - 1 + dual.diagonal * alpha
    assert np.all((alpha >= 0) & (alpha <= dual.upper))
    assert np.all(gradient[alpha == 0] > -1e-6)
    assert np.all(gradient[alpha == dual.upper] < 1e-6)
    assert np.abs(gradient[(alpha > 0) & (alpha < dual.upper)]).max() < 1e-6
    arguments = gram, sign, alpha, given.cost, loss == "squared_hinge"
    gap = hik.dual_objective(*arguments) + hik.primal_objective(*arguments)
    assert gap == pytest.approx(0, abs=1e-6)
    expected = hik.table(levels[given.rows], alpha * sign, levels.max())
    tables = dual_gram.tables_of(given, alpha[None])
    full = expand_tables(given.layout, tables, int(levels.max()) + 1)[0]
    np.testing.assert_allclose(full, expected, atol=1e-6)


def test_the_order_of_visits_does_not_change_the_optimum(problem):
    _, reference = train(*problem, "dual")
    for solver, seed in (("dual", None), ("dual", 7), ("gram", None), ("gram", 7)):
        np.testing.assert_allclose(train(*problem, solver, seed=seed)[1], reference, atol=2e-6)


@pytest.mark.parametrize("solver", ["dual", "gram", "primal", "blocks"])
def test_order_and_repetition_of_rows_do_not_change_a_bit(problem, solver, rng):
    levels, y, cost = problem
    _, first = train(levels, y, cost, solver, tol=0.1)
    shuffled = rng.permutation(80)
    again = train(levels[shuffled], y[shuffled], cost[shuffled], solver, tol=0.1)[1]
    np.testing.assert_array_equal(again, first)
    twice = np.r_[shuffled, :80]
    split = train(levels[twice], y[twice], cost[twice] / 2, solver, tol=0.1)[1]
    np.testing.assert_array_equal(split, first)


def test_rows_of_zeros_are_learned_from_without_harm():
    levels = np.zeros((4, 3), np.uint8)
    levels[0, 0] = 2
    for solver, loss in SOLVERS:
        given = level_problem(levels, np.array([1, 0, 1, 0]), np.ones(4), loss=loss, max_iter=50)
        assert np.isfinite(icd.SOLVERS[solver](given)[0]).all()


def test_the_primal_starts_well_from_a_subsample(rng):
    y = rng.integers(0, 2, 12_000)
    levels = rng.poisson(np.where(y == 1, 4.0, 5.0)[:, None], (12_000, 3)).astype(np.uint8)
    cost = np.full(12_000, 1e-3)
    direct = train(levels, y, cost, "primal", tol=1e-6, seed=None)[1]
    np.testing.assert_allclose(train(levels, y, cost, "primal", tol=1e-6)[1], direct, atol=1e-6)


@pytest.mark.parametrize("mean", [0.3, 2.0, 6.0])  # few, most and nearly all levels are not 0
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_wide_samples_have_the_same_optimum_on_tables_and_on_the_gram_matrix(rng, mean, kind):
    levels = rng.poisson(mean, (40, 4099)).astype(kind)
    levels[rng.integers(0, 40, 30), rng.integers(0, 4099, 30)] = 200 if kind == np.uint8 else 350
    y, cost = rng.integers(0, 2, 40), np.full(40, 0.01)
    for tol, atol in ((0.1, 3e-3), (1e-8, 1e-6)):  # tables of single and of double precision
        (_, dual), (_, gram) = (train(levels, y, cost, s, tol=tol) for s in ("dual", "gram"))
        np.testing.assert_allclose(dual, gram, atol=atol)


def test_passes_for_the_gap_do_not_undo_convergence():
    """In this problem the pass that ends the search for a small gap differs by more than tol."""
    gram = np.array([[69619, 32242, 58304], [32242, 69534, 27229], [58304, 27229, 68610]])
    problem = dual_problem(np.full(3, 1e-3), np.diagonal(gram).astype(float), "squared_hinge")
    for seed in range(40):
        _, n_iter, violation = dual_gram.solve_dual_gram(
            gram.astype(np.float32), 2 * np.eye(3) - 1, problem, tol=0.1, max_iter=1000, seed=seed
        )
        assert n_iter < 1000
        assert violation <= 0.1


@pytest.fixture
def three_classes(rng):
    y = rng.integers(0, 3, 70)
    return rng.poisson(0.5 + 2 * rng.random((3, 8))[y]), np.array(["a", "b", "c"])[y]


# LIBLINEAR does not count the passes of this solver: scikit-learn compares memory as it was.
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_crammer_singer_agrees_with_liblinear_on_the_unary_expansion(three_classes, form):
    X, y = three_classes
    codes = np.searchsorted(["a", "b", "c"], y)

    def objective(scores, w_norms):
        own = scores[np.arange(codes.size), codes]
        margins = 1 + scores - own[:, None]
        margins[np.arange(codes.size), codes] = 0
        return 0.5 * w_norms + 0.05 * np.maximum(margins.max(axis=1), 0).sum()

    B = hik.unary_expansion(X, X.max())
    how = {"C": 0.05, "multi_class": "crammer_singer"}
    peer = LinearSVC(**how, fit_intercept=False, tol=1e-9, max_iter=10**6, random_state=0)
    peer.fit(B, y)
    more = {"tol": 1e-8, "max_iter": 10**5, "quantization": "integer"}
    model = ICDClassifier(**how, **more).fit(form(X), y)
    assert model.solver_ == "dual"
    steps = np.diff(model.tables_.astype(float), axis=2)
    ours = objective(model.decision_function(X), np.sum(steps**2))
    theirs = objective(peer.decision_function(B), np.sum(peer.coef_**2))
    assert ours == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(B), atol=1e-4)


def test_crammer_singer_of_two_classes_gives_one_score(three_classes):
    X, y = three_classes
    two = y != "c"
    model = ICDClassifier(C=0.1, multi_class="crammer_singer", quantization="integer")
    model.fit(X[two], y[two])
    assert model.decision_function(X).shape == (70,)
    assert model.tables_.shape[0] == 1
    assert np.mean(model.predict(X[two]) == y[two]) > 0.8


def test_a_solver_of_ones_own_is_one_function_and_one_line(three_classes, monkeypatch):
    def perceptron(problem):
        """The tables of α = number of mistakes."""
        gram = hik.intersection_gram(*2 * [problem.levels[problem.rows]])
        alpha, passes = np.zeros((problem.positive.size, problem.rows.size)), 20
        for sign, own in zip(problem.signs, alpha):
            for _ in range(passes):
                for i in range(own.size):
                    own[i] += sign[i] * (gram[i] @ (own * sign)) <= 0
        return dual_gram.tables_of(problem, alpha), passes, 0.0

    X, y = three_classes
    monkeypatch.setitem(icd.SOLVERS, "perceptron", perceptron)
    model = ICDClassifier(solver="perceptron").fit(X, y)
    assert (model.solver_, model.n_iter_) == ("perceptron", 20)
    assert model.score(X, y) > 0.7
