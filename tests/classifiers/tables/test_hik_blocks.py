"""HIK SVMs trained in blocks of rows: the optimum of the Gram matrix, from memory and disk."""

import numpy as np
import pytest

from visualwords.classifiers import ICDClassifier
from visualwords.classifiers.kernels.level_gram import level_gram
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers import dual_blocks, machine_groups
from visualwords.classifiers.tables import hik_blocks
from visualwords.classifiers.tables.hik_training import Settings


@pytest.fixture
def histograms(rng, monkeypatch):
    """Sparse histograms of four classes, sorted by class, and blocks of 16 of them."""
    monkeypatch.setattr(hik_blocks, "ROWS_OF_A_BLOCK", 16)
    y = np.repeat(np.arange(4), 30)
    rates = rng.gamma(0.3, 4, (4, 40))
    return rng.poisson(rates[y]).astype(np.float32), np.array(list("abcd"))[y], np.arange(120) % 5


def scores_of(X, y, **parameters):
    """Return a fitted classifier's scores of its samples."""
    return ICDClassifier(C=0.01, **parameters).fit(X, y).decision_function(X)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_blocks_find_the_optimum_of_the_gram_matrix(histograms, loss, n_classes):
    X, y, _ = (part[: 30 * n_classes] for part in histograms)
    blocks, gram = (scores_of(X, y, loss=loss, solver=s, tol=1e-4) for s in ("blocks", "gram"))
    np.testing.assert_allclose(blocks, gram, atol=2e-3)


def test_held_out_scores_are_those_of_models_trained_without_the_fold(histograms):
    X, y, folds = histograms
    how = {"C": 0.01, "solver": "blocks", "tol": 1e-4, "quantization": "integer"}
    model = ICDClassifier(**how)
    held_out = model.fit_and_hold_out(X, y, folds)
    assert model.solver_ == "blocks"
    for fold in (0, 3):
        without = ICDClassifier(**how | {"solver": "gram"}).fit(X[folds != fold], y[folds != fold])
        found = without.decision_function(X[folds == fold])
        np.testing.assert_allclose(held_out[folds == fold], found, atol=2e-3)
    np.testing.assert_allclose(
        model.decision_function(X),
        scores_of(X, y, solver="gram", tol=1e-4, quantization="integer"),
        atol=2e-3,
    )


def test_a_file_in_random_order_gives_the_same_bits_as_memory(histograms, tmp_path):
    X, y, folds = histograms
    memory, disk = (ICDClassifier(C=0.01, solver="blocks") for _ in range(2))
    held_out = memory.fit_and_hold_out(X, y, folds)
    order = np.random.default_rng(Settings.of(memory).seed).permutation(len(X))
    file = RowFile(tmp_path / "rows")
    file.append(X[order])
    from_disk = disk.fit_and_hold_out(file, y[order], folds[order])
    np.testing.assert_array_equal(from_disk, held_out[order])
    for name, value in memory.get_state().items():
        np.testing.assert_array_equal(disk.get_state()[name], value)


def test_neither_threads_nor_the_division_of_groups_change_a_bit(histograms, monkeypatch):
    X, y, folds = histograms
    one, other = ICDClassifier(C=0.01, solver="blocks"), ICDClassifier(0.01, solver="blocks")
    held_out = one.fit_and_hold_out(X, y, folds)
    monkeypatch.setattr(machine_groups, "WIDTHS", (8, 8))  # three groups, which no machine leaves
    monkeypatch.setattr(dual_blocks, "GROUPS_AT_A_TIME", 1)
    other.n_jobs = 2
    np.testing.assert_array_equal(other.fit_and_hold_out(X, y, folds), held_out)
    np.testing.assert_array_equal(other.table_values_, one.table_values_)


def test_machines_that_are_solved_leave_their_group(histograms, monkeypatch):
    X, y, folds = histograms
    lanes = []
    end_pass = machine_groups.ExtrapolatedGroup.end_pass

    def noted(self):
        end_pass(self)
        lanes.append((len(self.running), self.running.sum()))

    monkeypatch.setattr(machine_groups.ExtrapolatedGroup, "end_pass", noted)
    ICDClassifier(C=0.01, solver="blocks", tol=1e-4).fit_and_hold_out(X, y, folds)
    assert {24, 16, 8} >= {width for width, _ in lanes} > {24}
    assert all(width - running < 8 for width, running in lanes[:-1])


def test_the_objective_is_known_where_passes_are_extrapolated(histograms, monkeypatch):
    X, y, _ = histograms
    found = []
    end_pass = machine_groups.ExtrapolatedGroup.end_pass

    def noted(self):
        end_pass(self)
        if self.running.any():
            scores = self.rows.scores(self.rows.load(0, len(X), float), self.weights, self.alpha)
            signs = np.where(self.samples.codes[:, None] == self.machines.positive, 1, -1)
            half = (signs * scores + self.samples.problem.diagonal[:, None] * self.alpha) / 2 - 1
            objective = (half * self.alpha).sum(axis=0)
            found.append((objective[: self.size], (self.rise - self.fallen)[: self.size]))

    monkeypatch.setattr(machine_groups.ExtrapolatedGroup, "end_pass", noted)
    ICDClassifier(C=0.01, solver="blocks", tol=1e-4).fit(X, y)
    assert len(found) > 10
    for objective, expected in found:
        np.testing.assert_allclose(expected, objective, rtol=1e-4)


def test_few_samples_are_held_out_fold_by_fold(histograms):
    X, y, folds = histograms
    model = ICDClassifier()
    held_out = model.fit_and_hold_out(X, y, folds)
    assert model.solver_ == "gram"
    alone = ICDClassifier().fit(X[folds != 0], y[folds != 0]).decision_function(X[folds == 0])
    np.testing.assert_array_equal(held_out[folds == 0], alone)


def test_tables_give_the_sums_of_the_kernel(rng):
    levels = rng.integers(0, 30, (60, 7)).astype(np.uint8)
    layout = hik_blocks.layout_of(np.ones((7, 256), np.uint8), np.uint8)
    rows = hik_blocks.LevelBlocks(levels, np.zeros((60, 60)), layout.offsets, layout.heights)
    coefficients = rng.normal(size=(60, 16))
    tables = rows.new_weights(16, np.float64)
    block = rows.load(0, 60, np.float64)
    rows.update(block, coefficients, tables)
    products = level_gram(levels) @ coefficients
    scores = rows.scores(block, tables, np.ones((60, 16)))
    np.testing.assert_allclose(scores, products, rtol=1e-4, atol=1e-3)


def test_training_ends_near_the_optimum_where_passes_hardly_lower_the_objective(histograms):
    X, y, _ = histograms
    scores = {tol: scores_of(X, y, solver="blocks", tol=tol) for tol in (0.1, 1e-4)}
    np.testing.assert_allclose(scores[0.1], scores[1e-4], atol=0.1)


def test_what_blocks_can_not_train_is_refused_with_a_sentence(histograms):
    X, y, _ = histograms
    with pytest.raises(ValueError, match="n_bins of at most 255"):
        ICDClassifier(solver="blocks", n_bins=300).fit(X, y)
    with pytest.raises(ValueError, match="needs dense samples"):
        ICDClassifier(solver="blocks", warm_start=True).fit(X, y)
