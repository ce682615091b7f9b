"""PmSVM against the SVM of the true kernel, and what its parameters promise."""

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from tests.reference import additive_svm as reference
from visualwords.classifiers import PmSVMClassifier


@pytest.fixture
def histograms(rng):
    """Three overlapping classes of histograms with many zeros."""
    y = rng.integers(0, 3, 90)
    X = rng.poisson(0.3 + 2 * rng.random((3, 8))[y]) * rng.random((90, 8))
    return X.astype(np.float32), np.array(["coast", "forest", "street"])[y]


@pytest.fixture
def two_classes(histograms):
    X, y = histograms
    return X, (y == "coast").astype(int)


def exact_scores(X, y, kernel, C):
    """Decision values of the SVM with the true kernel, and its Gram matrix and alpha."""
    K = reference.gram(X.astype(float), X.astype(float), kernel)
    sign = np.where(y == 1, 1.0, -1.0)
    alpha = reference.solve_dual(K, sign, np.full(y.size, C))
    return K @ (alpha * sign), K, alpha


@pytest.mark.parametrize(
    ("definition", "how", "atol"),
    [
        (lambda a, b: reference.power_mean(a, b, -1), {"p": -1, "rank": 8}, 5e-3),
        (lambda a, b: reference.power_mean(a, b, -8), {"p": -8, "rank": 8}, 2e-2),
        (reference.jensen_shannon, {"kernel": "jensen_shannon", "rank": 8}, 2e-2),
    ],
)
def test_agrees_with_the_svm_of_the_true_kernel(two_classes, definition, how, atol):
    X, y = two_classes
    wanted, *_ = exact_scores(X, y, definition, C=0.1)
    model = PmSVMClassifier(C=0.1, table_size=20000, tol=1e-4, **how).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=atol)
    assert np.mean(model.predict(X) == (wanted > 0)) > 0.97


def test_more_rank_and_more_levels_come_closer_to_the_true_kernel(two_classes):
    X, y = two_classes
    wanted, *_ = exact_scores(X, y, lambda a, b: reference.power_mean(a, b, -8), C=0.1)

    def error(**how):
        model = PmSVMClassifier(-8, C=0.1, tol=1e-4, **how).fit(X, y)
        return np.abs(model.decision_function(X) - wanted).max()

    for better in (
        [{"rank": rank, "table_size": 20000} for rank in (1, 4, 8)],
        [{"rank": 8, "table_size": size} for size in (10, 100, 10000)],
        [{"approximation": "polynomial", "degree": m} for m in (2, 5, 7)],
    ):
        errors = [error(**how) for how in better]
        assert errors == sorted(errors, reverse=True)


def test_the_users_own_kernel_is_trained_like_the_named_one(two_classes):
    X, y = two_classes
    own = njit(lambda a, b: 2 * a * b / (a + b) if a + b > 0 else 0.0)
    mine, theirs = PmSVMClassifier(kernel=own).fit(X, y), PmSVMClassifier().fit(X, y)
    np.testing.assert_allclose(
        mine.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("how", [{"nodes": "adhoc"}, {"degree": 2}])
def test_tables_and_exact_values_agree_within_the_tables_error(histograms, how):
    X, y = histograms
    table = PmSVMClassifier(approximation="polynomial", table_size=1000, **how).fit(X, y)
    exact = PmSVMClassifier(approximation="polynomial", table_size=None, **how).fit(X, y)
    np.testing.assert_allclose(table.decision_function(X), exact.decision_function(X), atol=0.02)
    on_levels = np.rint(X / X.max() * 1000) / 1000
    table.fit(on_levels, y)
    exact.fit(on_levels, y)
    np.testing.assert_allclose(
        table.decision_function(on_levels), exact.decision_function(on_levels), atol=1e-4
    )


def test_global_scaling_is_undone_and_that_of_features_is_that_of_a_scaler(histograms):
    X, y = histograms

    def scores(X, **how):
        return PmSVMClassifier(**how).fit(X, y).decision_function(X)

    divided = X / X.max(axis=0)
    for ours, wanted in (
        (scores(X, C=0.01), scores(X / 10, C=0.1)),
        (scores(X, scaling="feature"), scores(divided, scaling="none")),
    ):
        np.testing.assert_allclose(ours, wanted, rtol=1e-3, atol=1e-4)


def test_counts_with_a_far_outlier_keep_their_small_values(rng):
    y = rng.integers(0, 2, 200)
    X = rng.poisson(0.5 + np.outer(y == 1, [2, 0, 1]) + np.outer(y == 0, [0, 2, 1])).astype(float)
    X[0, 2] = 50000
    assert PmSVMClassifier().fit(X, y).score(X, y) > 0.8


def kinds_of(X, tmp_path):
    mapped = np.memmap(tmp_path / "x.bin", np.float32, "w+", shape=X.shape)
    mapped[:] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    csr = sparse.csr_matrix(X)
    wide = csr.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    stored_zeros = sparse.csr_matrix(
        (
            X.ravel(),
            np.tile(np.arange(X.shape[1]), X.shape[0]),
            np.arange(0, X.size + 1, X.shape[1]),
        )
    )
    halves = sparse.vstack([csr, csr]).tocsr()
    repeated = sparse.csr_matrix(
        (np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), csr.indptr * 2), shape=X.shape
    )
    return {
        "float64": X.astype(np.float64),
        "Fortran order": np.asfortranarray(X),
        "read-only": read_only,
        "mapped": mapped,
        "CSR": csr,
        "CSR with 64-bit indices": wide,
        "CSR with stored zeros": stored_zeros,
        "CSR with repeated entries": repeated,
        "rows of a larger one": halves[: X.shape[0]],
    }


def test_every_kind_of_matrix_gives_the_same_model(histograms, tmp_path):
    X, y = histograms
    wanted = PmSVMClassifier().fit(X, y)
    for name, same in kinds_of(X, tmp_path).items():
        model = PmSVMClassifier().fit(same, y)
        assert np.array_equal(model.weights_, wanted.weights_), name
        assert np.array_equal(model.decision_function(same), wanted.decision_function(X)), name


def test_more_than_65536_columns_train_as_well(two_classes):
    X, y = two_classes
    wide = sparse.hstack([sparse.csr_matrix((90, 70000), dtype=np.float32), X]).tocsr()
    model = PmSVMClassifier(tol=1e-5).fit(wide, y)
    wanted = PmSVMClassifier(tol=1e-5).fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.decision_function(wide), wanted, atol=1e-4)


def test_weights_count_like_repeated_samples(histograms):
    X, y = histograms
    weight = np.arange(90) % 3
    weighted = PmSVMClassifier(tol=1e-4, spacing="uniform", rank=8).fit(X, y, weight)
    repeated = PmSVMClassifier(tol=1e-4, spacing="uniform", rank=8).fit(
        X.repeat(weight, axis=0), y.repeat(weight)
    )
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=5e-3
    )
    heavy = PmSVMClassifier(class_weight={"coast": 50.0}).fit(X, y)
    light = PmSVMClassifier(class_weight={"coast": 0.02}).fit(X, y)
    assert np.sum(heavy.predict(X) == "coast") > np.sum(light.predict(X) == "coast")


def test_tables_explain_the_score(histograms):
    X, y = histograms
    model = PmSVMClassifier(scaling="none").fit(X / X.max(), y)
    levels, T = np.rint(X / X.max() * 1000).astype(int), model.tables_
    assert T.shape == (3, 8, 1001)
    looked_up = T[:, np.arange(8), levels].sum(axis=2).T
    np.testing.assert_allclose(looked_up, model.decision_function(X / X.max()), atol=1e-5)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"approximation": "taylor"}, "approximation"),
        ({"nodes": "equidistant"}, "nodes"),
        ({"scaling": "none"}, "0 … 1"),
        ({"table_size": 70000}, "table_size"),
        ({"C": 0}, "positive"),
        ({"p": 2}, "p ≤ 0"),
    ],
)
def test_wrong_parameters_are_refused(histograms, how, message):
    with pytest.raises(ValueError, match=message):
        PmSVMClassifier(**how).fit(*histograms)


def test_negative_values_are_moved_if_dense_and_refused_if_sparse(two_classes):
    X, y = two_classes
    moved = PmSVMClassifier().fit(X - 1, y).decision_function(X - 1)
    assert np.mean((moved > 0) == y) > 0.5
    with pytest.raises(ValueError, match="dense"):
        PmSVMClassifier().fit(sparse.csr_matrix(X - 1), y)


def test_corner_rows(two_classes):
    X, y = two_classes
    X = np.concatenate([X, np.zeros((2, 8), np.float32)])
    model = PmSVMClassifier().fit(X, [*y, 0, 1])
    assert model.decision_function(np.zeros((1, 8))).tolist() == [0.0]
    assert np.isfinite(PmSVMClassifier().fit(np.zeros((4, 2)), [0, 1, 0, 1]).weights_).all()
    one = PmSVMClassifier().fit([[1.0], [2.0]], ["a", "b"])
    assert one.predict([[5.0]]).shape == (1,)
