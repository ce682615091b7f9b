"""KernelSVC against LIBSVM, the optimality conditions, and its memory paths against each other."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from visualwords.classifiers import KernelSVC, calibration, kernels
from visualwords.classifiers.kernels.banded import bandwidth, reorder


@pytest.fixture
def histograms(rng):
    """Three overlapping classes of counts."""
    y = rng.integers(0, 3, 120)
    X = rng.poisson(1 + 3 * rng.random((3, 10))[y])
    return X.astype(float), np.array(["coast", "forest", "street"])[y]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_two_classes_agree_with_libsvm(histograms, C):
    X, y = histograms
    y = y == "coast"
    K = kernels.gmm(X)
    ours = KernelSVC("gmm", C=C, tol=1e-6).fit(X, y)
    peer = SVC(kernel="precomputed", C=C, tol=1e-6).fit(K, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(K), atol=1e-4)
    np.testing.assert_array_equal(ours.support_, np.sort(peer.support_))


def test_pairs_of_classes_agree_with_libsvm(histograms):
    X, y = histograms
    K = kernels.intersection(X)
    ours = KernelSVC("hik", C=0.1, multi_class="ovo", tol=1e-6).fit(X, y)
    peer = SVC(kernel="precomputed", C=0.1, tol=1e-6).fit(K, y)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(K))
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(K), atol=1e-3)


def test_weights_of_classes_and_samples_agree_with_libsvm(histograms, rng):
    X, y = histograms
    weight = rng.integers(0, 4, len(y)).astype(float)
    settings = {"class_weight": "balanced", "C": 0.5, "tol": 1e-6}
    keep = weight > 0
    ours = KernelSVC("ngmm", multi_class="ovo", **settings).fit(X, y, weight)
    K = kernels.ngmm(X)
    factor = dict(zip(ours.classes_, np.ones(3)))
    for name in factor:
        factor[name] = weight.sum() / 3 / weight[y == name].sum()
    peer = SVC(kernel="precomputed", **(settings | {"class_weight": factor}))
    peer.fit(K[np.ix_(keep, keep)], y[keep], weight[keep])
    np.testing.assert_allclose(
        ours.decision_function(X), peer.decision_function(K[:, keep]), atol=1e-3
    )


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("cache_size", [0.0, 0.02, 0.04])
def test_rows_on_demand_give_the_model_of_the_whole_matrix(histograms, multi_class, cache_size):
    X, y = histograms
    settings = {"kernel": "gint", "C": 10.0, "multi_class": multi_class, "tol": 1e-5}
    whole = KernelSVC(**settings).fit(X, y)
    thrifty = KernelSVC(**settings, cache_size=cache_size).fit(X, y)
    np.testing.assert_allclose(thrifty.objective_, whole.objective_, rtol=1e-5)
    np.testing.assert_allclose(thrifty.decision_function(X), whole.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("kernel", ["chi2", "power_mean", "jensen_shannon", "gcs", "laplace"])
def test_one_row_has_the_scores_that_it_has_among_many(rng, kernel):
    X = rng.random((200, 6))
    y = X[:, 0] + 0.3 * rng.normal(size=200) > 0.5
    others = rng.random((100, 6))
    model = KernelSVC(kernel, C=0.1).fit(X, y)
    for _ in range(2):
        scores = model.decision_function(others)
        alone = [model.decision_function(others[k : k + 1])[0] for k in range(5)]
        np.testing.assert_allclose(alone, scores[:5], rtol=1e-9)
        model.fit(2 * X, ~y)  # the same object with other support vectors


@pytest.mark.parametrize("settings", [{}, {"multi_class": "ovo"}, {"cache_size": 0.03}])
def test_a_warm_start_gives_the_model_of_a_cold_one_in_fewer_steps(histograms, settings):
    X, y = histograms
    settings = {"kernel": "gmm", "tol": 1e-8, **settings}
    warm = KernelSVC(C=1.0, warm_start=True, **settings)
    n_iter = {"warm": 0, "cold": 0}
    for C in (1.0, 1.1, 1.2, 0.9):
        warm.set_params(C=C).fit(X, y)
        cold = KernelSVC(C=C, **settings).fit(X, y)
        n_iter["warm"] += warm.n_iter_
        n_iter["cold"] += cold.n_iter_
        np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=1e-7)
        np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-5)
    assert n_iter["warm"] < n_iter["cold"]


def test_a_warm_start_takes_no_step_where_no_sample_is_at_a_bound(rng):
    X = np.concatenate([rng.normal(0, 1, (200, 3)), rng.normal(20, 1, (200, 3))])
    y = np.repeat([0, 1], 200)
    model = KernelSVC("polynomial", kernel_params={"degree": 1}, C=10.0, warm_start=True).fit(X, y)
    assert (np.abs(model.dual_coef_) < 10).all()
    assert model.n_iter_ > 0
    expected = model.decision_function(X)
    model.set_params(C=1000.0).fit(X, y)
    assert model.n_iter_ == 0
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9)


def test_a_warm_start_on_other_data_begins_anew(histograms):
    X, y = histograms
    model = KernelSVC("gmm", warm_start=True).fit(X, y)
    for keep in np.arange(120) < 80, y != "coast":
        expected = KernelSVC("gmm").fit(X[keep], y[keep]).decision_function(X)
        found = model.fit(X[keep], y[keep]).decision_function(X)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_sparse_gram_trains_the_dense_model_on_a_band(rng):
    X = np.sort(rng.random((400, 1)), axis=0)[rng.permutation(400)]
    y = (np.sin(20 * X[:, 0]) > 0) ^ (rng.random(400) < 0.05)
    settings = {"kernel": "gcs", "kernel_params": {"radius": 0.02}, "C": 5.0, "tol": 1e-5}
    dense = KernelSVC(**settings).fit(X, y)
    thin = KernelSVC(**settings, sparse_gram=True).fit(X, y)
    np.testing.assert_allclose(thin.decision_function(X), dense.decision_function(X), atol=1e-4)
    before, after = thin.bandwidth_
    assert after < before / 3
    assert thin.density_ < 0.1
    given = KernelSVC("precomputed", C=5.0, tol=1e-5)
    given.fit(kernels.gcs(X, radius=0.02, sparse=True), y)
    assert given.bandwidth_ == thin.bandwidth_


def test_sparse_training_never_builds_the_dense_matrix(rng, monkeypatch):
    def refuse(self):
        raise AssertionError("a dense matrix")

    X = rng.random((900, 2))
    y = X[:, 0] > X[:, 1]
    monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
    model = KernelSVC("gcs", kernel_params={"radius": 0.05}, sparse_gram=True).fit(X, y)
    assert model.density_ < 0.1


def test_reordering_reports_the_bandwidth(rng):
    X = np.arange(50.0)[rng.permutation(50), None]
    K = kernels.triangular(X, radius=1.0, sparse=True)
    banded = reorder(K)
    assert banded.bandwidth_before == bandwidth(K) > 10
    assert banded.bandwidth == bandwidth(banded.gram) == 1
    np.testing.assert_array_equal(
        banded.gram.toarray(), K.toarray()[np.ix_(banded.order, banded.order)]
    )


def test_precomputed_function_and_name_agree(histograms):
    X, y = histograms
    named = KernelSVC("chi2").fit(X, y)
    function = KernelSVC(kernels.chi2).fit(X, y)
    given = KernelSVC("precomputed").fit(kernels.chi2(X), y)
    np.testing.assert_allclose(function.decision_function(X), named.decision_function(X))
    np.testing.assert_allclose(
        given.decision_function(kernels.chi2(X[:9], X)), named.decision_function(X[:9])
    )
    assert given.support_vectors_ is None


def test_kernels_of_sets_take_lists(rng):
    sets = [rng.random((rng.integers(2, 6), 2)) + (k % 2) for k in range(30)]
    labels = np.arange(30) % 2

    def overlap(a, b):
        b = a if b is None else b
        return np.array([[np.exp(-((s.mean(0) - t.mean(0)) ** 2).sum()) for t in b] for s in a])

    model = KernelSVC(overlap, C=10.0).fit(sets[:20], labels[:20])
    np.testing.assert_array_equal(model.predict(sets[20:]), labels[20:])
    assert len(model.support_vectors_) == len(model.support_)


@pytest.mark.parametrize("sub_polynomial", [None, 0.3])
def test_pyramid_match_by_name_uses_one_range_for_training_and_prediction(rng, sub_polynomial):
    sets = [20 * rng.random((rng.integers(3, 9), 2)) + 15 * (k % 2) for k in range(40)]
    labels = np.arange(40) % 2
    settings = {"C": 10.0, "sub_polynomial": sub_polynomial, "probability": True}
    model = KernelSVC("pyramid_match", **settings).fit(sets[:30], labels[:30])
    K = kernels.pyramid_match(sets, side=model.side_)
    peer = KernelSVC("precomputed", **settings).fit(K[:30, :30], labels[:30])
    small = sets[30:32]  # alone they would have a range of their own
    np.testing.assert_allclose(
        model.decision_function(small), peer.decision_function(K[30:32, :30])
    )
    np.testing.assert_allclose(model.predict_proba(small), peer.predict_proba(K[30:32, :30]))


def test_dominant_diagonal_is_treated_by_the_empirical_kernel_map(rng):
    X = rng.random((40, 30))
    y = np.arange(40) % 2
    X[y == 1, :3] += 0.2
    K = kernels.gmm(X) ** 30 + 10 * np.eye(40)
    model = KernelSVC("precomputed", sub_polynomial=0.1, C=0.1, tol=1e-6).fit(K, y)
    features = K**0.1
    peer = SVC(kernel="linear", C=0.1, tol=1e-6).fit(features, y)
    np.testing.assert_allclose(
        model.decision_function(K), peer.decision_function(features), atol=1e-4
    )


@pytest.mark.parametrize("kernel", ["hik", "precomputed"])
def test_probabilities_rise_with_scores_and_sum_to_one(histograms, kernel):
    X, y = histograms
    data = kernels.intersection(X) if kernel == "precomputed" else X
    model = KernelSVC(kernel, C=0.1, probability=True).fit(data, y)
    P = model.predict_proba(data)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.mean(model.classes_[P.argmax(axis=1)] == y) > 0.7
    assert not hasattr(KernelSVC(kernel), "predict_proba")


def test_result_does_not_depend_on_threads_or_blocks_of_prediction(histograms, monkeypatch):
    X, y = histograms
    model = KernelSVC().fit(X, y)
    scores = model.decision_function(X)
    threads = KernelSVC(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(threads.decision_function(X), scores)
    monkeypatch.setattr("visualwords.classifiers.kernel_prediction.ENTRIES_AT_A_TIME", 500)
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-6)
    thin = KernelSVC().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_array(X)), scores, rtol=1e-6)


def test_stopping_early_warns_and_names_the_parameter(histograms):
    X, y = histograms
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        KernelSVC(max_iter=1).fit(X, y)


def test_contradicting_parameters_are_refused(histograms):
    X, y = histograms
    for bad, message in [
        ({"kernel": "cosine"}, "not known"),
        ({"C": 0}, "C is 0"),
        ({"multi_class": "ecoc"}, "ovr or ovo"),
        ({"storage": "int4"}, "float32 or float16"),
        ({"kernel": "gcs", "kernel_params": {"radius": "wide"}}, "a number or 'median'"),
        ({"sub_polynomial": 2.0}, "sub_polynomial"),
        ({"kernel": "hik", "sparse_gram": True}, "sparse_gram needs"),
        ({"kernel": "precomputed"}, "square"),
    ]:
        with pytest.raises(ValueError, match=message):
            KernelSVC(**bad).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        KernelSVC().fit(X, np.zeros(len(X)))


def test_signed_rows_are_split_by_sign(histograms, rng):
    X, y = histograms
    X = np.where(rng.random(X.shape[1]) < 0.5, -X, X)  # columns of one sign: the split adds zeros
    for kernel in ("hik", "gmm", "chi2", "jensen_shannon", "power_mean"):
        signed = KernelSVC(kernel).fit(X, y).decision_function(X[:9])
        plain = KernelSVC(kernel).fit(abs(X), y).decision_function(abs(X[:9]))
        np.testing.assert_allclose(signed, plain, rtol=1e-6)


def test_held_out_scores_come_from_models_without_the_sample(histograms):
    X, y = histograms
    model = KernelSVC("gcs")
    folds = np.arange(120) % 4
    scores = model.fit_and_hold_out(X, y, folds)
    peer = KernelSVC("gcs", kernel_params=model.kernel_params_)  # widths are those of all rows
    expected = calibration.held_out_scores(peer, X, y, folds=folds)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    np.testing.assert_allclose(
        model.decision_function(X), KernelSVC("gcs").fit(X, y).decision_function(X)
    )


@parametrize_with_checks(
    [KernelSVC(), KernelSVC("ngmm", multi_class="ovo"), KernelSVC("gcs"), KernelSVC("polynomial")]
)
def test_sklearn_contract(estimator, check):
    check(estimator)
