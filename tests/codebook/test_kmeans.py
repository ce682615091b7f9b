"""KMeansCodebook against scikit-learn, and its promises."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans

from tests.reference.words import nearest_words
from visualwords.codebook import KMeansCodebook
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets


@pytest.fixture
def bytes_and_seeds(rng):
    x = (rng.gamma(0.6, 30, (3000, 24))).clip(0, 255).astype(np.uint8)
    return x, x[:40].astype(np.float32)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("max_iter", [1, 7])
def test_iterations_equal_those_of_scikit_learn(bytes_and_seeds, dtype, max_iter):
    x, seeds = bytes_and_seeds
    ours = KMeansCodebook(40, init=seeds, max_iter=max_iter, tol=0).fit(x.astype(dtype))
    peer = KMeans(40, init=seeds, n_init=1, max_iter=max_iter, tol=0, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it did not converge, as asked
        peer.fit(x.astype(np.float64))
    np.testing.assert_allclose(ours.words_, peer.cluster_centers_, atol=1e-3)
    np.testing.assert_allclose(ours.inertia_, peer.inertia_, rtol=1e-6)
    assert ours.n_iter_ == max_iter
    np.testing.assert_array_equal(ours.predict(x), peer.predict(x.astype(np.float64)))


def test_seeding_is_as_good_as_that_of_scikit_learn(bytes_and_seeds):
    x, _ = bytes_and_seeds
    ours = [KMeansCodebook(40, random_state=s).fit(x).inertia_ for s in range(3)]
    peer = [KMeans(40, n_init=1, random_state=s).fit(x).inertia_ for s in range(3)]
    assert np.mean(ours) <= 1.01 * np.mean(peer)


def test_similarities_are_negative_squared_distances(bytes_and_seeds):
    x, _ = bytes_and_seeds
    codebook = KMeansCodebook(5, random_state=0).fit(x)
    expected = -((x[:9, None].astype(float) - codebook.words_) ** 2).sum(axis=2)
    np.testing.assert_allclose(codebook.transform(x[:9]), expected, rtol=1e-6)
    assert codebook.get_feature_names_out().tolist() == [f"word{k}" for k in range(5)]


def test_no_word_stays_empty_while_descriptors_differ():
    x = np.repeat(np.eye(6, dtype=np.float32) * 10, 5, axis=0)
    words = np.zeros((6, 6), np.float32)
    words[0] = 1
    codebook = KMeansCodebook(6, init=words).fit(x)
    assert codebook.counts_.tolist() == [5] * 6
    assert codebook.inertia_ == 0


def test_equal_descriptors_do_no_harm():
    codebook = KMeansCodebook(3, random_state=0).fit(np.full((9, 4), 7, np.uint8))
    assert np.isfinite(codebook.words_).all()
    assert codebook.inertia_ == 0


def test_parts_add_up_to_one_exact_iteration(bytes_and_seeds):
    x, seeds = bytes_and_seeds
    once = KMeansCodebook(40, init=seeds, max_iter=1, tol=0).fit(x)
    codebook = KMeansCodebook(40, init=seeds, max_iter=0).fit(x)
    np.testing.assert_array_equal(codebook.words_, seeds)
    codebook.improve([codebook.accumulate(part) for part in np.array_split(x, 7)])
    np.testing.assert_array_equal(codebook.words_, once.words_)


def test_classes_and_images_have_equal_shares(rng):
    def image(n, value):
        return LocalFeatures(
            np.full((n, 2), value, np.uint8), np.full((n, 2), 0.5), np.full(n, 16.0)
        )

    sets = LocalFeatureSets.concatenate([image(500, 0), image(500, 50), image(10, 200)])
    codebook = KMeansCodebook(3, random_state=0, max_descriptors=40).fit(sets, ["a", "a", "b"])
    order = codebook.words_[:, 0].argsort()
    assert codebook.words_[order, 0].tolist() == [0, 50, 200]
    assert codebook.counts_[order].tolist() == [15, 15, 10]
    assert codebook.predict(sets[2]).tolist() == [order[2]] * 10


def test_roots_compare_as_hellinger_does(bytes_and_seeds):
    x, _ = bytes_and_seeds
    codebook = KMeansCodebook(20, random_state=0, root=True).fit(x)
    roots = np.rint(np.sqrt(255.0 * x))
    np.testing.assert_array_equal(codebook.predict(x), nearest_words(roots, codebook.words_))
    floats = KMeansCodebook(20, random_state=0, root=True).fit(x.astype(np.float32))
    expected = KMeansCodebook(20, random_state=0).fit(np.sqrt(x, dtype=np.float32))
    np.testing.assert_array_equal(floats.words_, expected.words_)
    with pytest.raises(ValueError, match="Negative"):
        floats.predict(-x.astype(np.float32))


def test_no_descriptors_have_no_words(bytes_and_seeds):
    codebook = KMeansCodebook(4, random_state=0).fit(bytes_and_seeds[0])
    assert codebook.predict(np.zeros((0, 24), np.uint8)).shape == (0,)
