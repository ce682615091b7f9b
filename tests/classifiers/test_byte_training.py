"""Linear SVMs of bytes in blocks of rows: the optimum of the Gram matrix, from memory and disk."""

import copy

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from visualwords.classifiers import byte_blocks, byte_training
from visualwords.classifiers.byte_linear import ByteLinearClassifier
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers import dual_blocks, machine_groups


@pytest.fixture
def rows(rng):
    """Rows of four overlapping classes, sorted by class, and five folds."""
    y = np.repeat(np.arange(4), 25)
    centers = rng.normal(0, 6, (4, 300))
    X = np.clip(np.rint(rng.normal(centers[y], 25)), -127, 127).astype(np.int8)
    return X, np.array(["a", "b", "c", "d"])[y], np.arange(100) % 5


@pytest.fixture
def in_blocks(monkeypatch):
    """Blocks of 16 rows even for few."""
    monkeypatch.setattr(byte_training, "gram_is_faster", lambda *shape: False)
    monkeypatch.setattr(byte_blocks, "ROWS_OF_A_BLOCK", (16, 16))


def write_rows(folder, X, seed=0):
    """Write rows in the order in which blocks of them in memory are; return file and order."""
    order = np.random.default_rng(seed).permutation(len(X))
    file = RowFile(folder / "rows")
    for start in range(0, len(X), 30):
        file.append(X[order[start : start + 30]])
    return file, order


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weight", [None, "balanced"])
def test_blocks_find_the_optimum_of_the_gram_matrix(
    rows, in_blocks, monkeypatch, n_classes, weight
):
    X, y, folds = (part[: 25 * n_classes - 10] for part in rows)
    blocks = ByteLinearClassifier(tol=1e-6, class_weight=weight)
    held_out = blocks.fit_and_hold_out(X, y, folds)
    monkeypatch.setattr(byte_training, "gram_is_faster", lambda *shape: True)
    gram = ByteLinearClassifier(tol=1e-6, class_weight=weight)
    np.testing.assert_allclose(held_out, gram.fit_and_hold_out(X, y, folds), atol=2e-4)
    np.testing.assert_allclose(blocks.factors_, gram.factors_, rtol=1e-4)
    assert np.abs(blocks.weights_.astype(int) - gram.weights_).max() <= 1  # rounded


def test_blocks_find_the_optimum_of_scikit_learn(rows, in_blocks):
    X, y, _ = rows
    unit = X / np.sqrt((X.astype(float) ** 2).sum(axis=1).mean())
    peer = LinearSVC(C=10, dual=True, fit_intercept=False, tol=1e-7, max_iter=50000).fit(unit, y)
    ours = ByteLinearClassifier(C=10, tol=1e-6).fit(X, y)
    difference = ours.decision_function(X) - peer.decision_function(unit)
    lengths = np.linalg.norm(X.astype(float), axis=1)
    noise = np.outer(lengths, ours.factors_ / np.sqrt(12))  # of weights rounded to whole numbers
    assert (np.abs(difference) < 5 * noise).all()


def test_at_the_usual_tolerance_scores_are_close_to_the_optimum(rows, in_blocks):
    X, y, _ = rows
    model = ByteLinearClassifier().fit(X, y)
    fine = ByteLinearClassifier(tol=1e-6).fit(X, y)
    assert model.n_iter_ < fine.n_iter_
    scores, best = model.decision_function(X), fine.decision_function(X)
    assert np.abs(scores - best).mean() < 0.02


def test_a_file_in_random_order_gives_the_same_bits_as_memory(rows, in_blocks, tmp_path):
    X, y, folds = rows
    file, order = write_rows(tmp_path, X)
    memory, disk = ByteLinearClassifier(), ByteLinearClassifier()
    held_out = memory.fit_and_hold_out(X, y, folds)
    from_disk = disk.fit_and_hold_out(file, y[order], folds[order])
    np.testing.assert_array_equal(from_disk, held_out[order])
    for name, value in memory.get_state().items():
        np.testing.assert_array_equal(disk.get_state()[name], value)


def test_neither_threads_nor_the_division_of_groups_change_a_bit(rows, in_blocks, monkeypatch):
    X, y, folds = rows
    monkeypatch.setattr(machine_groups, "WIDTHS", (8, 8))  # three groups
    one = ByteLinearClassifier()
    held_out = one.fit_and_hold_out(X, y, folds)
    monkeypatch.setattr(dual_blocks, "GROUPS_AT_A_TIME", 1)
    other = ByteLinearClassifier(n_jobs=2)
    np.testing.assert_array_equal(other.fit_and_hold_out(X, y, folds), held_out)
    np.testing.assert_array_equal(other.weights_, one.weights_)


def test_a_row_of_zeros_and_a_class_of_one_row_are_no_trouble(rows, in_blocks):
    X, y, _ = rows
    X[3] = 0
    y[:] = "a"
    y[50:], y[0] = "b", "c"
    assert np.isfinite(ByteLinearClassifier().fit(X, y).decision_function(X)).all()


def test_a_file_gives_neighbouring_rows_and_refuses_others(tmp_path):
    file = RowFile(tmp_path / "rows")
    file.append(np.arange(6, dtype=np.float32).reshape(2, 3))
    file.append(np.ones((1, 3), np.float32))
    again = copy.deepcopy(file)
    np.testing.assert_array_equal(again[1:3], [[3, 4, 5], [1, 1, 1]])
    assert again.shape == (3, 3)
    assert len(again[5:]) == 0
    with pytest.raises(ValueError, match="2 columns of float32 do not fit"):
        file.append(np.ones((1, 2), np.float32))
    with pytest.raises(ValueError, match="neighbouring"):
        file[::2]
    (tmp_path / "rows").write_bytes(b"short")
    with pytest.raises(OSError, match="shorter"):
        again[0:2]


def test_bytes_of_a_file_are_what_training_needs(rows, tmp_path):
    X, y, _ = rows
    file = RowFile(tmp_path / "rows")
    file.append(X.astype(np.float32))
    with pytest.raises(TypeError, match="needed is an int8 matrix"):
        ByteLinearClassifier().fit(file, y)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_products_in_tiles_are_those_of_all_rows(rng, n_jobs):
    X = rng.integers(-127, 128, (37, 3000), dtype=np.int8)
    whole = X.astype(np.int64) @ X.T.astype(np.int64)
    np.testing.assert_array_equal(byte_training.products_of(X, n_jobs), whole)


def test_squared_errors_of_many_rows_are_solved_in_blocks(rows, monkeypatch, tmp_path):
    X, y, folds = rows
    settings = {"loss": "squared_error", "tol": 1e-5}
    whole = ByteLinearClassifier(**settings)
    exact = whole.fit_and_hold_out(X, y, folds)
    monkeypatch.setattr(byte_training, "ROWS_TO_FACTORIZE", 50)
    monkeypatch.setattr(byte_training, "solve_on_products", None)  # not used
    monkeypatch.setattr(byte_blocks, "ROWS_OF_A_BLOCK", (16, 16))
    blocks = ByteLinearClassifier(**settings)
    np.testing.assert_allclose(blocks.fit_and_hold_out(X, y, folds), exact, atol=1e-3)
    np.testing.assert_allclose(
        blocks.decision_function(X), whole.decision_function(X), atol=0.02 * np.abs(exact).max()
    )
    file, order = write_rows(tmp_path, X)
    of_file = ByteLinearClassifier(**settings).fit_and_hold_out(file, y[order], folds[order])
    np.testing.assert_allclose(of_file, exact[order], atol=1e-3)
