"""benchmarks.papers: every experiment runs on small data, and what it writes can be read."""

import json
import sys

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from benchmarks.papers._stochastic_hik import descend
from benchmarks.papers.additive_methods import FeatureMap, FeatureTable
from benchmarks.papers.cost_choice import over_costs, summarize
from benchmarks.papers.experiments import EXPERIMENTS
from benchmarks.papers.generated_counts import word_counts
from benchmarks.papers.harris_points import RIDGE, bhattacharyya, harris_features
from benchmarks.papers.lab import Lab
from benchmarks.papers.memory import memory_of
from benchmarks.papers.pedestrian_windows import bootstrapped_windows
from benchmarks.papers.pmk_eth80 import best_gram_by_place, places_in_class
from benchmarks.papers.pmk_fig3 import approximate_costs
from benchmarks.papers.pmsvm_as_printed import PmSVMAsPrinted
from benchmarks.papers.results import Results, Row, Table
from benchmarks.papers.run import main
from benchmarks.papers.stochastic_hik import StochasticHIK
from benchmarks.papers.stored import Record
from benchmarks.papers.writing import markdown
from visualwords.classifiers import ICDClassifier, PmSVMClassifier, kernels


@pytest.mark.slow  # every experiment compiles loops of its own
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_quick_run_writes_a_table_and_a_picture(name, tmp_path, capsys):
    assert main(["run", name, "--quick", "--data", "nowhere", "-o", str(tmp_path), "-q"]) == 0
    stored = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    rows = stored["results"]["rows"]
    assert all(np.isfinite(row["ours"]) and row["paper"] is None for row in rows)
    assert EXPERIMENTS[name].what in " ".join(capsys.readouterr().out.split())
    text = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert text.count("\n| ") > len(rows)
    assert "quick run on small generated data" in text
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".md", ".png"]
    page = text.encode()
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


def test_without_matplotlib_the_table_is_written_and_the_figure_explained(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["run", "pmk-fig3", "--quick", "-o", str(tmp_path)]) == 0
    assert "pip install matplotlib" in capsys.readouterr().err
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".md"]
    page = tmp_path / "pmk-fig3.md"
    assert "![" not in page.read_text(encoding="utf-8")
    assert "pip install matplotlib" in page.read_text(encoding="utf-8")


def test_the_page_has_paper_ours_and_difference():
    results = Results(
        "Ten rows.",
        [Row("HIK", 81.25, paper=82.0, spread=0.5, seconds=1.5), Row("other", 3.0, unit="×")],
        tables=[Table("More", ("a", "b"), [["x", 0.5]])],
    )
    text = markdown(EXPERIMENTS["pmk-fig3"], Record.now("pmk-fig3", results, 12.0, quick=False))
    assert "| HIK | 82 % | 81.25 ± 0.50 % | -0.75 | 1.50 |" in text
    assert "| other |  | 3.00 × |  |  |" in text
    assert "| x | 0.50 |" in text
    assert "python -m benchmarks.papers run pmk-fig3" in text
    assert "scikit-learn" in text


def test_c_is_chosen_on_training_rows_only():
    seen = []

    def score(C, train, test):
        seen.append((C, set(train), set(test)))
        return {1.0: 90.0, 10.0: 80.0}[C] - 50 * (test.min() >= 30) * (C == 1.0)

    y = np.arange(30) % 3
    found = summarize(over_costs(score, (1.0, 10.0), y, n_test=10))
    assert found == (80.0, 40.0)  # best on the test rows; chosen by the held-out third
    held_out = [(a, b) for _, a, b in seen if max(b) < 30]
    assert len(held_out) == 2
    assert all(not (a & b) and max(a) < 30 for a, b in held_out)


def test_the_algorithms_as_printed_learn_what_the_library_learns():
    data = word_counts(300, n_words=200, n_classes=3)
    ours = PmSVMClassifier(C=1.0, approximation="polynomial").fit(data.X, data.y)
    for tables in (True, False):
        printed = PmSVMAsPrinted(C=1.0, tables=tables).fit(data.X, data.y)
        same = np.mean(printed.predict(data.X_test) == ours.predict(data.X_test))
        assert same > 0.95, tables
        assert printed.memory == (8 if tables else 20) * np.count_nonzero(data.X)


def unary(levels, n_bins):
    """Return B(x) of [Wu10], Eq. (4), as rows."""
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
    mapped = FeatureMap(name).map(X)
    exact = getattr(kernels, name)(X)
    assert np.abs((mapped @ mapped.T).toarray() - exact).mean() < error * exact.mean()


def test_the_feature_table_learns_what_liblinear_learns_from_mapped_features():
    data = word_counts(300, n_words=200, n_classes=3)
    stored = FeatureMap("chi2").fit(data.X, data.y).predict(data.X_test)
    table = FeatureTable("chi2").fit(data.X, data.y).predict(data.X_test)
    assert np.mean(stored == table) > 0.95


def test_the_bhattacharyya_affinity_is_the_integral_of_both_roots(rng):
    sets = [rng.normal(shift, 1 + shift, (4000, 1)) for shift in (0.0, 0.5)]
    gram, x = bhattacharyya(sets), np.linspace(-12, 12, 20_001)
    ridge = RIDGE * np.mean([np.var(one) for one in sets])
    densities = [norm.pdf(x, one.mean(), np.sqrt(one.var() + ridge)) for one in sets]
    integral = trapezoid(np.sqrt(densities[0] * densities[1]), x)
    np.testing.assert_allclose(gram[0, 1], integral, rtol=1e-6)


def test_harris_points_of_a_blank_image_are_none_and_of_a_corner_near_it():
    image = np.zeros((64, 64), np.uint8)
    assert len(harris_features([image])[0]) == 0
    image[32:, 32:] = 255
    found = harris_features([image])[0]
    assert np.abs(found.positions - 0.5).max(axis=1).min() < 0.05


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc of Linux")
def test_the_memory_of_work_is_what_it_allocates():
    grown = memory_of(lambda: np.ones(8_000_000))
    assert 60 < grown < 80
    assert memory_of(lambda: None) < 20
    parts = [np.ones(10_000) for _ in range(1000)]
    pins = parts[::10]  # keep what is freed between them in this process
    del parts
    assert 60 < memory_of(lambda: [np.ones(10_000) for _ in range(900)]) < 90
    assert len(pins) == 100


def test_the_pyramid_match_cost_of_points_in_one_bin_is_small(rng):
    near = np.array([[8, 8], [900, 900]])
    match, embedding = approximate_costs([near, near + 1, near[:1] + 500])
    assert match[0, 1] < match[0, 2]
    assert embedding[0, 0] == 0


def test_the_gram_matrix_is_chosen_on_the_other_objects():
    classes, objects = np.repeat([0, 1], 12), np.repeat(np.arange(8), 3)
    places = places_in_class(classes, objects)
    good = (classes[:, None] == classes).astype(float)
    noise = np.eye(24)
    misleading = noise.copy()
    misleading[np.ix_(places == 0, places > 0)] = good[np.ix_(places == 0, places > 0)]
    found = best_gram_by_place([noise, misleading, good], classes, objects, places)
    assert found == [1.0] * 4  # the one that only helps the objects left out first isn't taken
