"""What KernelSVC keeps in files: the same scores, few bytes; and sparse rows for every kernel."""

import io

import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers import KernelSVC, kernels
from visualwords.classifiers.stored_rows import pack_rows, round_rows, unpack_rows

OF_ROWS = [name for name in kernels.__all__ if name != "pyramid_match"]


@pytest.fixture
def words(rng):
    """Shares of words in three classes of images, half of them zero."""
    y = rng.integers(0, 3, 60)
    X = rng.poisson(0.3 + 1.5 * rng.random((3, 24))[y]).astype(np.float32)
    return X / 64, np.array(["coast", "forest", "street"])[y]


def through_a_file(state):
    """The arrays as numpy reads them back, without pickle."""
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as read:
        return {name: read[name] for name in read.files}


@pytest.mark.parametrize("kernel", OF_ROWS)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_a_restored_classifier_has_the_same_scores(words, kernel, layout):
    X, y = words
    rows = layout(X)
    model = KernelSVC(kernel, probability=True).fit(rows, y)
    again = KernelSVC(kernel, probability=True).set_state(through_a_file(model.get_state()))
    for part in (rows[:1], rows):
        np.testing.assert_array_equal(again.decision_function(part), model.decision_function(part))
        np.testing.assert_array_equal(again.predict_proba(part), model.predict_proba(part))
    assert again.kernel_params_ == model.kernel_params_
    assert again.n_features_in_ == 24


@pytest.mark.parametrize("kernel", ["hik", *OF_ROWS])
def test_sparse_rows_give_the_scores_of_dense_ones(words, kernel):
    X, y = words
    dense = KernelSVC(kernel, tol=1e-8).fit(X, y)
    thin = KernelSVC(kernel, tol=1e-8).fit(sparse.csr_matrix(X), y)
    expected = dense.decision_function(X)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_array(X)), expected, atol=1e-4)
    np.testing.assert_allclose(thin.decision_function(X), expected, atol=1e-4)
    np.testing.assert_allclose(dense.decision_function(sparse.csr_array(X)), expected, atol=1e-4)


@pytest.mark.parametrize("settings", [{"multi_class": "ovo"}, {"sub_polynomial": 0.5}])
def test_pairs_of_classes_and_treated_diagonals_are_kept_too(words, settings):
    X, y = words
    model = KernelSVC("gmm", **settings).fit(X, y)
    again = KernelSVC("gmm", **settings).set_state(through_a_file(model.get_state()))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_precomputed_kernel_keeps_no_rows(words):
    X, y = words
    K = kernels.gmm(X)
    model = KernelSVC("precomputed").fit(K, y == "coast")
    again = KernelSVC("precomputed").set_state(through_a_file(model.get_state()))
    np.testing.assert_array_equal(again.decision_function(K), model.decision_function(K))


def test_sets_are_kept(rng):
    sets = [20 * rng.random((rng.integers(3, 9), 2)) + 15 * (k % 2) for k in range(30)]
    model = KernelSVC("pyramid_match").fit(sets, np.arange(30) % 2)
    again = KernelSVC("pyramid_match").set_state(through_a_file(model.get_state()))
    np.testing.assert_array_equal(
        again.decision_function(sets[:3]), model.decision_function(sets[:3])
    )


def test_a_list_of_sets_of_an_own_kernel_is_refused_in_words(rng):
    sets = [rng.random((3, 2)) + k % 2 for k in range(8)]

    def of_means(a, b):
        means = [np.array([points.mean(0) for points in side]) for side in (a, b or a)]
        return means[0] @ means[1].T

    model = KernelSVC(of_means).fit(sets, np.arange(8) % 2)
    with pytest.raises(ValueError, match="pyramid_match"):
        model.get_state()


def test_a_state_of_another_model_is_refused(words):
    X, y = words
    state = KernelSVC("gmm").fit(sparse.csr_array(X), y).get_state()
    for name, value in [
        ("dual_coef", state["dual_coef"][:, 1:]),
        ("intercept", state["intercept"][:2]),
        ("dual_coef", np.full_like(state["dual_coef"], np.nan)),
        ("classes", state["classes"][:2]),
        ("n_features_in", np.array(7)),
        ("rows_starts", state["rows_starts"][::-1]),
        ("rows_columns", np.full_like(state["rows_columns"], 77)),
        ("rows_dtype", np.array("O")),
    ]:
        with pytest.raises(ValueError, match="damaged"):
            KernelSVC("gmm").set_state(state | {name: value})


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("density", [0.1, 0.9])
@pytest.mark.parametrize("thin", [False, True])
def test_rows_survive_packing(rng, dtype, density, thin):
    X = (rng.integers(0, 200, (30, 40)) * (rng.random((30, 40)) < density)).astype(dtype)
    if X.dtype.kind == "f":
        X /= 64
    rows = sparse.csr_array(X) if thin else X
    packed = through_a_file(pack_rows(rows))
    again = unpack_rows(packed)
    assert again.dtype == dtype
    assert sparse.issparse(again) == thin
    np.testing.assert_array_equal(again.toarray() if thin else again, X)
    size = sum(array.nbytes for name, array in packed.items() if name not in ("shape", "starts"))
    assert size <= (5 if density < 0.5 else 3) * np.count_nonzero(X) + 100


def test_numbers_that_fit_no_narrow_type_stay(rng):
    X = rng.random((5, 6))
    assert pack_rows(X)["values"].dtype == np.float64
    np.testing.assert_array_equal(unpack_rows(pack_rows(-X)), -X)


@pytest.mark.parametrize("storage", ["float16", "float32"])
def test_rows_can_be_rounded_for_storage(words, rng, storage):
    X, y = words
    X = X * rng.random(X.shape)  # float64 that no narrow type holds
    model = KernelSVC("chi2", storage=storage).fit(X, y)
    state = model.get_state()
    assert state["rows_values"].dtype == storage
    exact = KernelSVC("chi2").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=5e-3)
    again = KernelSVC("chi2", storage=storage).set_state(through_a_file(state))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="scale X"):
        round_rows(np.array([[1e39]]), storage)
