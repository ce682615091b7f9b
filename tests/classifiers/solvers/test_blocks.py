"""SVMs trained in blocks of rows: the optimum of the Gram matrix, from memory and disk."""

import copy

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight

from visualwords.classifiers import ICDClassifier
from visualwords.classifiers.linear import ByteLinearClassifier
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers import byte_rows, dual_blocks


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 16 rows even for few."""
    monkeypatch.setattr(dual_blocks, "LEVELS_OF_A_BLOCK", 16)
    monkeypatch.setattr(byte_rows, "ROWS_OF_A_BLOCK", (16, 16))
    monkeypatch.setattr(byte_rows, "gram_is_faster", lambda *shape: False)


@pytest.fixture
def histograms(rng):
    """Sparse histograms of four classes, sorted by class, and five folds."""
    y = np.repeat(np.arange(4), 30)
    rates = rng.gamma(0.3, 4, (4, 40))
    return rng.poisson(rates[y]).astype(np.float32), np.array(list("abcd"))[y], np.arange(120) % 5


@pytest.fixture
def byte_vectors(rng):
    """Byte rows of four overlapping classes, sorted by class, and five folds."""
    y = np.repeat(np.arange(4), 25)
    centers = rng.normal(0, 6, (4, 300))
    X = np.clip(np.rint(rng.normal(centers[y], 25)), -127, 127).astype(np.int8)
    return X, np.array(list("abcd"))[y], np.arange(100) % 5


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_blocks_of_levels_find_the_optimum_of_the_gram_matrix(histograms, loss, n_classes):
    X, y, folds = (part[: 30 * n_classes] for part in histograms)
    how = {"C": 0.01, "loss": loss, "tol": 1e-4, "quantization": "integer"}
    blocks, gram = (ICDClassifier(**how, solver=solver) for solver in ("blocks", "gram"))
    held_out = blocks.fit_and_hold_out(X, y, folds)
    expected = gram.fit(X, y).decision_function(X)
    assert (blocks.solver_, gram.solver_) == ("blocks", "gram")
    np.testing.assert_allclose(blocks.decision_function(X), expected, atol=2e-3)
    np.testing.assert_allclose(blocks.fit(X, y).decision_function(X), expected, atol=2e-3)
    for fold in (0, 3):
        gram.fit(X[folds != fold], y[folds != fold])
        found = gram.decision_function(X[folds == fold])
        np.testing.assert_allclose(held_out[folds == fold], found, atol=2e-3)


def test_at_the_usual_tolerance_scores_are_close_to_the_optimum(histograms):
    X, y, _ = histograms
    rough, fine = (ICDClassifier(C=0.01, solver="blocks", tol=tol).fit(X, y) for tol in (0.1, 1e-4))
    assert rough.n_iter_ < fine.n_iter_
    np.testing.assert_allclose(rough.decision_function(X), fine.decision_function(X), atol=0.1)


def test_few_samples_are_held_out_fold_by_fold(histograms):
    X, y, folds = histograms
    model = ICDClassifier()
    held_out = model.fit_and_hold_out(X, y, folds)
    assert model.solver_ == "gram"
    alone = ICDClassifier().fit(X[folds != 0], y[folds != 0]).decision_function(X[folds == 0])
    np.testing.assert_array_equal(held_out[folds == 0], alone)


@pytest.mark.parametrize(("n", "weight"), [(90, None), (90, "balanced"), (45, None)])
def test_blocks_of_bytes_find_the_optimum_of_scikit_learn(byte_vectors, monkeypatch, n, weight):
    X, y, folds = (part[:n] for part in byte_vectors)  # of four classes, or two
    unit = X / np.sqrt((X.astype(float) ** 2).sum(axis=1).mean())
    how = {"C": 10, "class_weight": weight}
    peer = LinearSVC(C=10, dual=True, fit_intercept=False, tol=1e-7, max_iter=50000)
    peer.fit(unit, y, sample_weight=compute_sample_weight(weight, y))
    blocks, gram = (ByteLinearClassifier(**how, tol=1e-6) for _ in range(2))
    held_out = blocks.fit_and_hold_out(X, y, folds)
    difference = (blocks.decision_function(X) - peer.decision_function(unit)).reshape(n, -1)
    lengths = np.linalg.norm(X.astype(float), axis=1)
    noise = np.outer(lengths, blocks.factors_ / np.sqrt(12))  # of weights rounded to whole numbers
    assert (np.abs(difference) < 5 * noise).all()
    monkeypatch.setattr(byte_rows, "gram_is_faster", lambda *shape: True)
    np.testing.assert_allclose(held_out, gram.fit_and_hold_out(X, y, folds), atol=2e-4)
    assert np.abs(blocks.weights_.astype(int) - gram.weights_).max() <= 1


def test_squared_errors_of_many_rows_are_solved_in_blocks(byte_vectors, monkeypatch):
    X, y, folds = byte_vectors
    blocks, whole = (ByteLinearClassifier(loss="squared_error", tol=1e-5) for _ in range(2))
    found = blocks.fit_and_hold_out(X, y, folds)
    monkeypatch.setattr(byte_rows, "gram_is_faster", lambda *shape: True)
    exact = whole.fit_and_hold_out(X, y, folds)
    assert (blocks.n_iter_ > 1, whole.n_iter_) == (True, 1)
    np.testing.assert_allclose(found, exact, atol=1e-3)
    np.testing.assert_allclose(
        blocks.decision_function(X), whole.decision_function(X), atol=0.02 * np.abs(exact).max()
    )


MODELS = {
    "levels": lambda **how: ICDClassifier(C=0.01, solver="blocks", **how),
    "bytes": ByteLinearClassifier,
}


@pytest.fixture(params=MODELS)
def kind(request, histograms, byte_vectors):
    """A classifier, and what it learns from in blocks."""
    data = histograms if request.param == "levels" else byte_vectors
    return MODELS[request.param], data


def assert_same_state(one, other):
    for name, value in one.get_state().items():
        np.testing.assert_array_equal(other.get_state()[name], value)


def test_a_file_in_random_order_gives_the_same_bits_as_memory(kind, tmp_path):
    build, (X, y, folds) = kind
    memory, disk = build(), build()
    held_out = memory.fit_and_hold_out(X, y, folds)
    is_icd = isinstance(memory, ICDClassifier)
    seed = int(np.random.RandomState(0).randint(2**31)) if is_icd else 0
    order = np.random.default_rng(seed).permutation(len(X))
    file = RowFile(tmp_path / "rows")
    for start in range(0, len(X), 30):
        file.append(X[order[start : start + 30]])
    from_disk = disk.fit_and_hold_out(file, y[order], folds[order])
    np.testing.assert_array_equal(from_disk, held_out[order])
    assert_same_state(memory, disk)
    np.testing.assert_array_equal(  # what all samples give does not depend on the folds
        build().fit(file, y[order]).decision_function(X), memory.decision_function(X)
    )


def test_neither_threads_nor_the_division_into_groups_change_a_bit(kind, monkeypatch):
    build, (X, y, folds) = kind
    one, other = build(), build(n_jobs=2)
    held_out = one.fit_and_hold_out(X, y, folds)
    monkeypatch.setattr(dual_blocks, "LANES", 5)  # five groups of machines
    monkeypatch.setattr(dual_blocks, "GROUPS_AT_A_TIME", 2)
    np.testing.assert_array_equal(other.fit_and_hold_out(X, y, folds), held_out)
    assert_same_state(one, other)


def test_a_row_of_zeros_and_a_class_of_one_row_are_no_trouble(kind):
    build, (X, y, _) = kind
    X[3] = 0
    y[:] = "a"
    y[50:], y[0] = "b", "c"
    assert np.isfinite(build().fit(X, y).decision_function(X)).all()


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
    with pytest.raises(TypeError, match="needed is an int8 matrix"):
        ByteLinearClassifier().fit(file, [0, 1, 0])
    (tmp_path / "rows").write_bytes(b"short")
    with pytest.raises(OSError, match="shorter"):
        again[0:2]


def test_what_blocks_can_not_train_is_refused_with_a_sentence(histograms):
    X, y, _ = histograms
    with pytest.raises(ValueError, match="n_bins of at most 255"):
        ICDClassifier(solver="blocks", n_bins=300).fit(X, y)
    with pytest.raises(ValueError, match="needs dense samples"):
        ICDClassifier(solver="blocks", quantization="integer").fit(1000 * X, y)
