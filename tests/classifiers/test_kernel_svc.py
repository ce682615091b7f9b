"""KernelSVC against scikit-learn's SVC, and what it keeps in files."""

import io

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from visualwords.classifiers import KernelSVC, kernels
from visualwords.classifiers.kernels.rows import pack_rows, unpack_rows
from visualwords.classifiers.kernels.widths import resolve_widths

OF_ROWS = [name for name in kernels.KERNELS if name != "pyramid_match"]


@pytest.fixture
def histograms(rng):
    """Shares of words in three overlapping classes of images, half of them zero."""
    y = rng.integers(0, 3, 90)
    X = rng.poisson(0.3 + 1.5 * rng.random((3, 24))[y]).astype(np.float32)
    return X / 64, np.array(["coast", "forest", "street"])[y]


@pytest.fixture
def sets(rng):
    """Sets of points in two classes that lie apart."""
    return [20 * rng.random((rng.integers(3, 9), 2)) + 15 * (k % 2) for k in range(40)]


def through_a_file(state):
    """The arrays as numpy reads them back, without pickle."""
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as read:
        return {name: read[name] for name in read.files}


def weights_of_classes(y, weight):
    """Balanced weights that count samples by their own weights."""
    names = np.unique(y)
    return {name: weight.sum() / len(names) / weight[y == name].sum() for name in names}


@pytest.mark.parametrize("C", [0.1, 1.0, 1000.0])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_scores_are_those_of_libsvm(histograms, C, multi_class):
    X, y = histograms
    K = kernels.gmm(X).astype(float)
    ours = KernelSVC("gmm", C=C, multi_class=multi_class, n_jobs=2).fit(X, y)
    if multi_class == "ovo":
        peer = SVC(kernel="precomputed", C=C).fit(K, y)
        expected = peer.decision_function(K)
        np.testing.assert_array_equal(ours.support_, np.sort(peer.support_))
        np.testing.assert_array_equal(ours.predict(X), peer.predict(K))
    else:
        peers = [SVC(kernel="precomputed", C=C).fit(K, y == name) for name in np.unique(y)]
        expected = np.stack([peer.decision_function(K) for peer in peers], axis=1)
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-9 * C)
    binary = KernelSVC("gmm", C=C, multi_class=multi_class).fit(X, y == "coast")
    peer = SVC(kernel="precomputed", C=C).fit(K, y == "coast")
    np.testing.assert_allclose(
        binary.decision_function(X), peer.decision_function(K), atol=1e-9 * C
    )
    np.testing.assert_array_equal(binary.support_, np.sort(peer.support_))


def test_weights_of_classes_and_samples_are_those_of_libsvm(histograms, rng):
    X, y = histograms
    weight = rng.integers(0, 4, len(y)).astype(float)
    K, keep = kernels.ngmm(X).astype(float), weight > 0
    settings = {"C": 0.5, "tol": 1e-6}
    ours = KernelSVC("ngmm", multi_class="ovo", class_weight="balanced", **settings)
    peer = SVC(kernel="precomputed", class_weight=weights_of_classes(y, weight), **settings)
    peer.fit(K[np.ix_(keep, keep)], y[keep], weight[keep])
    scores = ours.fit(X, y, weight).decision_function(X)
    np.testing.assert_allclose(scores, peer.decision_function(K[:, keep]), atol=1e-3)


def test_name_function_and_precomputed_matrix_agree(histograms):
    X, y = histograms
    named = KernelSVC("chi2").fit(X, y)
    function = KernelSVC(kernels.chi2).fit(X, y)
    np.testing.assert_array_equal(function.decision_function(X), named.decision_function(X))
    for layout in (np.asarray, sparse.csr_array):
        given = KernelSVC("precomputed").fit(layout(kernels.chi2(X)), y)
        scores = given.decision_function(layout(kernels.chi2(X[:9], X)))
        np.testing.assert_allclose(scores, named.decision_function(X[:9]))
        assert given.support_vectors_ is None


@pytest.mark.parametrize("kernel", OF_ROWS)
def test_a_restored_classifier_has_the_scores_of_any_layout(histograms, kernel):
    X, y = histograms
    model = KernelSVC(kernel, tol=1e-8, probability=True).fit(X, y)
    expected = model.decision_function(X)
    for rows in (X, sparse.csr_array(X), sparse.csr_matrix(X)):
        if rows is not X:
            model = KernelSVC(kernel, tol=1e-8, probability=True).fit(rows, y)
            np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-4)
        again = KernelSVC(kernel, tol=1e-8, probability=True)
        again.set_state(through_a_file(model.get_state()))
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
        alone = again.decision_function(rows[:1])
        np.testing.assert_allclose(alone, expected[:1], atol=1e-4)
        assert again.kernel_params_ == model.kernel_params_


@pytest.mark.parametrize("sub_polynomial", [None, 0.3])
def test_pyramid_match_by_name_uses_one_range_for_training_and_prediction(sets, sub_polynomial):
    labels = np.arange(40) % 2
    settings = {"C": 10.0, "sub_polynomial": sub_polynomial, "probability": True}
    model = KernelSVC("pyramid_match", **settings).fit(sets[:30], labels[:30])
    K = kernels.pyramid_match(sets, side=model.side_)
    peer = KernelSVC("precomputed", **settings).fit(K[:30, :30], labels[:30])
    again = KernelSVC("pyramid_match", **settings).set_state(through_a_file(model.get_state()))
    for one in (model, again):  # two sets alone would have a range of their own
        found = one.predict_proba(sets[30:32])
        np.testing.assert_allclose(found, peer.predict_proba(K[30:32, :30]))


def test_an_own_kernel_takes_lists_of_sets_which_no_file_can_keep(sets):
    labels = np.arange(40) % 2

    def overlap(a, b, gamma=0.1):
        means = [np.array([points.mean(0) for points in side]) for side in (a, b or a)]
        return kernels.rbf(*means, gamma=gamma)

    model = KernelSVC(overlap, C=10.0).fit(sets[:30], labels[:30])
    np.testing.assert_array_equal(model.predict(sets[30:]), labels[30:])
    assert len(model.support_vectors_) == len(model.support_)
    with pytest.raises(ValueError, match="pyramid_match"):
        model.get_state()


def test_a_registered_kernel_is_known_by_its_name(histograms, monkeypatch):
    from visualwords import Recipe

    X, y = histograms

    def cosine(X, Y=None, *, gamma):
        """⟨x, y⟩ of unit vectors, times γ."""
        unit = [Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (X, X if Y is None else Y)]
        return gamma * unit[0] @ unit[1].T

    monkeypatch.setitem(kernels.KERNELS, "cosine", cosine)  # this line registers it
    model = KernelSVC("cosine").fit(X, y)
    gamma = resolve_widths(kernels.polynomial, X)["gamma"]
    peer = KernelSVC(cosine, kernel_params={"gamma": gamma}).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), peer.decision_function(X))
    text = '[[channels]]\nextractor = "HOG"\n[classifier]\nkind = "kernel"\nkernel = "cosine"\n'
    assert '"cosine"' in Recipe.from_toml(f'name = "mine"\n{text}').to_toml()


def test_a_dominant_diagonal_is_treated_by_the_empirical_kernel_map(rng):
    X = rng.random((40, 30))
    y = np.arange(40) % 2
    X[y == 1, :3] += 0.2
    K = kernels.gmm(X) ** 30 + 10 * np.eye(40)
    model = KernelSVC("precomputed", sub_polynomial=0.1, C=0.1, tol=1e-6).fit(K, y)
    peer = SVC(kernel="linear", C=0.1, tol=1e-6).fit(K**0.1, y)
    np.testing.assert_allclose(
        model.decision_function(K), peer.decision_function(K**0.1), atol=1e-4
    )


@pytest.mark.parametrize("settings", [{}, {"multi_class": "ovo"}, {"sub_polynomial": 0.5}])
def test_held_out_scores_come_from_models_without_the_sample(histograms, settings):
    X, y = histograms
    folds = np.arange(90) % 4
    settings = {"kernel": "gcs", "class_weight": "balanced", **settings}
    model = KernelSVC(**settings)
    scores = model.fit_and_hold_out(X, y, folds)
    whole = KernelSVC(**settings).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    settings["kernel_params"] = model.kernel_params_  # widths are those of all rows
    for k in range(4):
        peer = KernelSVC(**settings).fit(X[folds != k], y[folds != k])
        expected = peer.decision_function(X[folds == k])
        np.testing.assert_allclose(scores[folds == k], expected, atol=1e-6)


def test_scores_do_not_depend_on_threads_or_blocks_of_prediction(histograms, monkeypatch):
    X, y = histograms
    model = KernelSVC().fit(X, y)
    scores = model.decision_function(X)
    threads = KernelSVC(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(threads.decision_function(X), scores)
    monkeypatch.setattr("visualwords.classifiers.kernel_svc.ENTRIES_AT_A_TIME", 500)
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-12)


def test_contradicting_parameters_and_data_are_refused(histograms):
    X, y = histograms
    for bad, message in [
        ({"kernel": "cosine"}, "not known; give a function or one of hik, chi2"),
        ({"C": 0}, "C is 0"),
        ({"multi_class": "ecoc"}, "choose one of ovr, ovo"),
        ({"kernel": "gcs", "kernel_params": {"radius": "wide"}}, "a number or 'median'"),
        ({"sub_polynomial": 2.0}, "sub_polynomial"),
        ({"kernel": "precomputed"}, "square"),
        ({"kernel": "polynomial", "kernel_params": {"degree": 400, "gamma": 1e9}}, "near 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            KernelSVC(**bad).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        KernelSVC().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"positive weight, but .*coast.* has none"):
        KernelSVC().fit(X, y, (y != "coast").astype(float))


def test_negative_values_are_refused_by_the_intersection_and_split_by_others(histograms, rng):
    X, y = histograms
    signed = np.where(rng.random(X.shape[1]) < 0.5, -X, X)  # columns of one sign: no new ones
    for kernel in ("hik", "intersection"):
        model = KernelSVC(kernel).fit(X, y)
        for rows in (signed, sparse.csr_array(signed)):
            with pytest.raises(ValueError, match="use kernel='gint'"):
                KernelSVC(kernel).fit(rows, y)
            with pytest.raises(ValueError, match="use kernel='gint'"):
                model.predict(rows)
    for kernel in ("gmm", "chi2", "jensen_shannon", "power_mean"):
        split = KernelSVC(kernel).fit(signed, y).decision_function(signed[:9])
        plain = KernelSVC(kernel).fit(X, y).decision_function(X[:9])
        np.testing.assert_allclose(split, plain, rtol=1e-6)


def test_a_state_of_another_model_is_refused(histograms):
    X, y = histograms
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
def test_rows_survive_packing_in_few_bytes(rng, dtype, density, thin):
    X = (rng.integers(0, 200, (30, 40)) * (rng.random((30, 40)) < density)).astype(dtype)
    if X.dtype.kind == "f":
        X /= 64
    packed = through_a_file(pack_rows(sparse.csr_array(X) if thin else X))
    again = unpack_rows(packed)
    assert again.dtype == dtype
    assert sparse.issparse(again) == thin
    np.testing.assert_array_equal(again.toarray() if thin else again, X)
    size = sum(array.nbytes for name, array in packed.items() if name not in ("shape", "starts"))
    assert size <= (5 if density < 0.5 else 3) * np.count_nonzero(X) + 100
    values = rng.normal(size=(5, 6))  # no narrow type has them
    np.testing.assert_array_equal(unpack_rows(pack_rows(values)), values)
