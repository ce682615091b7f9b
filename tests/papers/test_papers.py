"""benchmarks.papers: every experiment runs on small data, and what it writes can be read."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from benchmarks.papers import gint, pmk_objects
from benchmarks.papers.__main__ import main
from benchmarks.papers._loops import descend
from benchmarks.papers.datasets import Split, word_counts
from benchmarks.papers.gcs import train
from benchmarks.papers.icd_pedestrians import bootstrapped_windows
from benchmarks.papers.icd_solvers import StochasticHIK
from benchmarks.papers.lab import Lab, all_experiments, measured
from benchmarks.papers.peers import liblinear, libsvm, over_costs, summarize
from benchmarks.papers.pmk_matching import approximate_costs
from benchmarks.papers.pmsvm_as_printed import FeatureMap, PmSVMAsPrinted
from benchmarks.papers.results import Row
from visualwords.classifiers import ICDClassifier, PmSVMClassifier, kernels

EXPERIMENTS = all_experiments()


@pytest.mark.slow  # a minute: every experiment compiles loops of its own
def test_a_quick_run_of_every_experiment_writes_a_table_and_a_picture(tmp_path, capsys):
    assert main(["run", "all", "--quick", "--data", "nowhere", "-o", str(tmp_path), "-q"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for name, one in EXPERIMENTS.items():
        stored = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        rows = stored["results"]["rows"]
        assert all(np.isfinite(row["ours"]) and "paper" not in row for row in rows)
        assert one.what in printed
        page = (tmp_path / f"{name}.md").read_bytes()
        assert page.count(b"\n| ") > len(rows)
        assert b"quick run on small generated data" in page
        if stored["drawn"]:
            assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert main(["run", name, "--pages", "-o", str(tmp_path)]) == 0
        assert (tmp_path / f"{name}.md").read_bytes() == page


def test_list_names_every_experiment_with_its_paper(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in EXPERIMENTS)


def test_missing_data_is_one_sentence_and_exit_code_1(tmp_path, capsys):
    assert main(["run", "gcs-table2", "--data", str(tmp_path), "-o", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().err
    assert f"{tmp_path / 'corel1000'}: the data set corel1000 is missing" in printed
    assert "--data" in printed
    assert list((tmp_path / "out").iterdir()) == []


def test_an_unknown_experiment_is_wrong_usage_and_the_names_are_listed(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["run", "icd-table9"])
    assert "gcs-table2" in capsys.readouterr().err


def test_without_matplotlib_one_sentence_says_so_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["run", "pmk-fig3", "--quick", "-o", str(tmp_path)]) == 1
    assert "pip install matplotlib" in capsys.readouterr().err


class Recorder:
    """A model that answers rightly if C is 1 and it is not tested on the test rows."""

    def __init__(self, C, seen):
        self.C, self.seen = C, seen

    def fit(self, X, y):
        self.rows = set(X[:, 0])
        return self

    def predict(self, X):
        self.seen.append((self.rows, set(X[:, 0])))
        right = (self.C == 1) != (min(X[:, 0]) >= 30)
        return X[:, 1] if right else 1 - X[:, 1]


def test_c_is_chosen_on_training_rows_only():
    rows, seen = np.column_stack([np.arange(40), np.arange(40) % 2]), []
    split = Split(rows[:30], rows[:30, 1], rows[30:], rows[30:, 1])
    both = summarize(over_costs(lambda C: Recorder(C, seen), (1.0, 10.0), split))
    assert both == (100.0, 0.0)  # best on the test rows; chosen by the held-out third
    held_out = [(a, b) for a, b in seen if max(b) < 30]
    assert len(held_out) == 2
    assert all(not (a & b) for a, b in held_out)


def test_gram_matrices_lose_the_columns_of_rows_that_are_held_out(rng):
    X, y = rng.random((60, 5)), np.arange(60) % 2
    X[:, 0] += y
    plain = Split(X[:40], y[:40], X[40:], y[40:])
    grams = plain._replace(X=plain.X @ plain.X.T, X_test=plain.X_test @ plain.X.T)
    curves = [
        over_costs(lambda C: libsvm("linear", C), (1.0, 10.0), plain),
        over_costs(lambda C: libsvm("precomputed", C), (1.0, 10.0), grams, gram=True),
    ]
    assert curves[0] == curves[1]


def test_the_algorithms_as_printed_learn_what_the_library_learns():
    data = word_counts(300, n_words=200, n_classes=3)
    ours = PmSVMClassifier(C=1.0, approximation="polynomial").fit(data.X, data.y)
    for tables in (True, False):
        printed = PmSVMAsPrinted(C=1.0, tables=tables).fit(data.X, data.y)
        same = np.mean(printed.predict(data.X_test) == ours.predict(data.X_test))
        assert same > 0.95, tables


def test_prediction_by_the_table_rounds_values_down_and_takes_no_logarithm():
    data = word_counts(100, n_words=50, n_classes=3)
    model = PmSVMAsPrinted(C=1.0, b=4).fit(data.X, data.y)
    down = np.floor(4 * data.X_test) / 4
    expected = sum(
        model.a[:, :, k] @ (np.log(down + 0.05).T ** k * (data.X_test > 0).T) for k in range(3)
    )
    np.testing.assert_array_equal(model.predict(data.X_test), expected.argmax(axis=0))


def unary(levels, n_bins):
    """B(x) of [Wu10], Eq. (4), as rows."""
    return (levels[:, :, None] > np.arange(n_bins)).reshape(len(levels), -1).astype(float)


def test_a_stochastic_step_is_one_of_a_linear_svm_in_the_unary_space(rng):
    levels = rng.integers(0, 6, (30, 4)).astype(np.uint8)
    y = rng.choice([-1.0, 1.0], 30).astype(np.float32)
    order, steps, shrinks = rng.integers(0, 30, 50), rng.random(50), rng.uniform(0.8, 1, 50)
    table = np.zeros((4, 7), np.float32)
    descend(levels, y, order, steps, shrinks, table)
    plain, rows = np.zeros(24), unary(levels, 6)
    for i, step, shrink in zip(order, steps, shrinks):
        violated = y[i] * rows[i] @ plain < 1
        plain = shrink * plain + violated * step * y[i] * rows[i]
    np.testing.assert_allclose(np.diff(table).ravel(), plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scheme", ["pegasos", "norma"])
def test_the_stochastic_solvers_come_near_icd(scheme):
    data = word_counts(200, n_words=100, n_classes=3)
    exact = ICDClassifier().fit(data.X, data.y).score(data.X_test, data.y_test)
    model = StochasticHIK(scheme, 1.0, n_epochs=30).fit(data.X, data.y)
    assert np.mean(model.predict(data.X_test) == data.y_test) > exact - 0.1


def test_a_window_and_its_mirror_image_have_the_same_source(tmp_path):
    X, y, groups = bootstrapped_windows(Lab(tmp_path, quick=True))
    assert X.shape == (len(y), 6144)
    assert X.max() <= 352
    people = groups[y > 0]
    assert (people[::2] == people[1::2]).all()
    assert not set(people) & set(groups[y < 0])


@pytest.mark.parametrize(("name", "error"), [("chi2", 0.03), ("intersection", 0.08)])
def test_the_feature_map_approximates_its_kernel(name, error, rng):
    X = rng.random((20, 30))
    mapped = FeatureMap(name).numbers(X.ravel()).reshape(20, -1)
    exact = getattr(kernels, name)(X)
    assert np.abs(mapped @ mapped.T - exact).mean() < error * exact.mean()


def test_the_feature_map_learns_what_liblinear_learns_from_stored_features():
    data = word_counts(300, n_words=200, n_classes=3)
    model = FeatureMap("chi2").fit(data.X, data.y)
    rows = [model.numbers(X.ravel()).reshape(len(X), -1) for X in (data.X, data.X_test)]
    linear = liblinear(0.01, loss="hinge", fit_intercept=False).fit(rows[0], data.y)
    assert np.mean(linear.predict(rows[1]) == model.predict(data.X_test)) > 0.95


def test_dense_and_sparse_gram_matrices_train_the_same_svm(rng):
    X, y = rng.random((60, 2)), rng.choice([-1.0, 1.0], 60)
    grams = [kernels.gcs(X, radius=0.1, sparse=sparse) for sparse in (False, True)]
    (dense, _), (sparse, _) = (train(gram / np.pi * 4, y) for gram in grams)
    np.testing.assert_allclose(dense, sparse, atol=1e-9)
    assert np.all(dense * y > 0.9)


def test_the_match_kernel_is_the_mean_similarity_to_the_best_partner(rng):
    sets = [rng.normal(size=(n, 3)) for n in (4, 7, 1)]
    scale = np.mean([np.var(one, axis=0).sum() for one in sets])
    means, powers = pmk_objects.match(sets), pmk_objects.exponent(sets)
    alike = np.exp(-(((sets[0][:, None] - sets[1]) ** 2).sum(axis=2)) / scale)
    assert means[0, 1] == pytest.approx((alike.max(axis=0).mean() + alike.max(axis=1).mean()) / 2)
    assert np.allclose(np.diag(means), 1)
    assert np.allclose(np.diag(powers), 1)
    assert np.linalg.eigvalsh(powers).min() > -1e-12


def test_the_bhattacharyya_affinity_is_the_integral_of_both_roots(rng):
    sets = [rng.normal(shift, 1 + shift, (4000, 1)) for shift in (0.0, 0.5)]
    gram, x = pmk_objects.bhattacharyya(sets), np.linspace(-12, 12, 20_001)
    ridge = pmk_objects.RIDGE * np.mean([np.var(one) for one in sets])
    densities = [norm.pdf(x, one.mean(), np.sqrt(one.var() + ridge)) for one in sets]
    integral = trapezoid(np.sqrt(densities[0] * densities[1]), x)
    np.testing.assert_allclose(gram[0, 1], integral, rtol=1e-6)


def test_the_kullback_leibler_kernel_has_the_divergences_of_gaussians(rng):
    sets = [rng.normal(shift, 1 + shift, (4000, 1)) for shift in (0.0, 0.5)]
    ridge = pmk_objects.RIDGE * np.mean([np.var(one) for one in sets])
    (m, v), (n, w) = ((one.mean(), one.var() + ridge) for one in sets)
    both = (v / w + w / v + (m - n) ** 2 * (1 / v + 1 / w)) / 2 - 1
    # the only divergence is its own median
    assert pmk_objects.kullback_leibler(sets)[0, 1] == pytest.approx(np.exp(-1))
    assert both > 0
    gram = pmk_objects.kullback_leibler([*sets, sets[0] + 3])
    assert np.allclose(gram, gram.T)


def test_harris_points_of_a_blank_image_are_none_and_of_a_corner_near_it():
    image = np.zeros((64, 64), np.uint8)
    assert len(pmk_objects.harris_features([image])[0]) == 0
    image[32:, 32:] = 255
    points = pmk_objects.harris_features([image])[0]
    assert np.abs(points.positions - 0.5).max(axis=1).min() < 0.05


class Fitted:
    """A model that keeps something and adds one half."""

    def __init__(self, kept):
        self.kept = kept

    def predict(self, X):
        return [x + 0.5 for x in X]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc of Linux")
def test_the_memory_of_work_is_what_it_allocates():
    def grown(work):
        return measured(lambda: Fitted(work()), [1, 2], sum).growth

    assert 60 < grown(lambda: np.ones(8_000_000)) < 80
    assert grown(lambda: None) < 20
    parts = [np.ones(10_000) for _ in range(1000)]
    pins = parts[::10]  # keep what is freed between them in this process
    del parts
    assert 60 < grown(lambda: [np.ones(10_000) for _ in range(900)]) < 90
    assert len(pins) == 100


def test_a_model_that_is_measured_is_scored_by_its_answers():
    assert measured(lambda: Fitted(None), [1, 2], sum).score == 4.0


def test_the_pyramid_match_cost_of_points_in_one_bin_is_small():
    near = np.array([[8, 8], [900, 900]])
    match, embedding = approximate_costs([near, near + 1, near[:1] + 500])
    assert match[0, 1] < match[0, 2]
    assert embedding[0, 0] == 0


def test_the_gram_matrix_is_chosen_on_the_other_objects():
    classes, objects = np.repeat([0, 1], 12), np.repeat(np.arange(8), 3)
    views = pmk_objects.Views(classes, objects)
    good = (classes[:, None] == classes).astype(float)
    noise = np.eye(24)
    misleading = noise.copy()
    others, first = views.folds[0]
    misleading[np.ix_(first, others)] = good[np.ix_(first, others)]
    grams = {"noise": noise, "misleading": misleading, "good": good}
    # the one that only helps the objects left out first isn't taken
    assert views.best_of(grams.values()) == [1.0] * 4


def test_a_worse_min_max_cell_says_what_another_scaling_or_other_rows_give():
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 2)) * [1000.0, 0.01], np.arange(200) % 2
    X[:, 1] += 0.01 * y  # the small column distinguishes the classes
    split = Split(X[:100], y[:100], X[100:], y[100:])
    assert "100.00 %" in gint.reason(split, "gmm", np.array([60.0]), 90.0)
    rows = gint.reason(split, "gmm", np.array([99.5, 98.0]), 105.0)
    assert "98.00 to 99.50 % over 2 seeds" in rows


def test_a_row_of_several_seeds_has_their_mean_and_deviation():
    row = Row.mean("GMM", [90.0, 88.0], 94.0)
    assert row.ours == 89.0
    assert row.spread == pytest.approx(np.std([90, 88], ddof=1))
    assert row.verdict == "worse"
    assert replace(row, rival=True).verdict == "differs"
    assert Row.mean("GMM", [90.0]).spread is None
