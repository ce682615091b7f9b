"""gint-table1: intervals over seeds, and what another setting changes in a worse cell."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.papers import gint_table1
from benchmarks.papers.generated import Split, generated_table
from benchmarks.papers.gint_reasons import reason
from benchmarks.papers.lab import Lab


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize(
    ("kernel", "said"), [("linear", "with one"), ("rbf", "the grid"), ("gint", "of their column")]
)
def test_a_reason_has_the_accuracy_with_the_other_setting(kernel, said):
    assert said in reason(generated_table("imageseg"), kernel)


def test_columns_of_another_size_are_what_scaling_repairs():
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 2)) * [1000.0, 0.01], np.arange(200) % 2
    X[:, 1] += 0.01 * y  # the small column tells the classes apart
    split = Split(X[:100], y[:100], X[100:], y[100:])
    assert "100.00 %" in reason(split, "gmm")


def test_a_cell_of_several_seeds_has_their_mean_and_deviation(monkeypatch, tmp_path):
    found = [[(0.0, 90.0), (0.0, 70.0)], [(0.0, 98.0), (0.0, 60.0)]]
    monkeypatch.setattr(gint_table1, "SEEDS", {"spambase": 2})
    monkeypatch.setattr(
        gint_table1,
        "rows_of",
        lambda lab, name, seed: SimpleNamespace(seed=seed, y_test=np.zeros(10)),
    )
    monkeypatch.setattr(gint_table1, "exact_curve", lambda rows, kernel: found[rows.seed])
    row, both = gint_table1.cell(Lab(tmp_path), "spambase", "gmm")
    assert row.ours == both.best == 94.0
    assert row.spread == pytest.approx(np.std([90, 98], ddof=1))
    assert row.verdict == "equal"
