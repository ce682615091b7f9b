"""Fisher vectors against scikit-image and their definition, and what they promise."""

from types import SimpleNamespace

import numpy as np
import pytest
from skimage.feature import fisher_vector
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from tests.reference.words import fisher_by_definition
from visualwords.codebook import FisherVectors
from visualwords.codebook.fisher import LEAST, DiagonalMixture
from visualwords.codebook.projection import Projection
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets


@pytest.fixture
def encoder(sets):
    return FisherVectors(5, 6, pyramid=8, random_state=0).fit(sets)


def inside(one, box):
    (x, y), (x0, y0, x1, y1) = one.positions.T, np.asarray(box, np.float32)
    return (x >= x0) & (x < x1) & (y >= y0) & (y < y1)


def test_fisher_vectors_equal_those_of_scikit_image(sets):
    encoder = FisherVectors(5, 6, pyramid=1, random_state=0).fit(sets)
    ours, mixture = encoder.transform(sets), encoder.mixture_
    peer = GaussianMixture(5, covariance_type="diag")
    peer.weights_, peer.means_, peer.covariances_ = (
        mixture.weights,
        mixture.means,
        mixture.variances,
    )
    peer.precisions_cholesky_ = 1 / np.sqrt(mixture.variances)
    for row, one in zip(ours, sets):
        if not len(one):
            continue
        raw = fisher_vector(encoder.projection_.apply(one.descriptors).astype(float), peer)
        expected = np.concatenate([raw[5:35], -raw[35:]])  # its weights left out, its sign turned
        expected = np.sign(expected) * np.sqrt(np.abs(expected))
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected), atol=2e-3)


def test_every_window_follows_the_definition(sets, encoder):
    m, boxes = encoder.mixture_, encoder._pyramid.boxes
    rows = encoder.transform(sets).reshape(len(sets), 8, -1)
    for row, one in zip(rows, sets):
        x = encoder.projection_.apply(one.descriptors)
        for window, box in zip(row, boxes):
            mine = x[inside(one, box)]
            expected = np.zeros(window.size)
            if len(mine):
                expected = fisher_by_definition(mine, m.weights, m.means, m.variances)
                expected = np.sign(expected) * np.sqrt(np.abs(expected))
                expected /= np.linalg.norm(expected)
            np.testing.assert_allclose(window, expected, atol=5e-3)


def test_the_mean_gradient_of_the_training_data_vanishes(rng):
    x = rng.normal(size=(4000, 3)).astype(np.float32) * (1, 2, 3)
    x = x.astype(np.float32)
    mixture = DiagonalMixture.learn(x, 3, max_iter=300, tol=1e-7, random_state=0)
    gradient = fisher_by_definition(x, mixture.weights, mixture.means, mixture.variances)
    assert np.abs(gradient).max() < 0.01


def test_the_mixture_is_as_likely_as_that_of_scikit_learn(rng):
    centers = rng.normal(0, 4, (6, 5))
    x = (centers[rng.integers(0, 6, 3000)] + rng.normal(size=(3000, 5))).astype(np.float32)
    ours = DiagonalMixture.learn(x, 6, random_state=0, max_iter=100)
    logits = ours.log_probabilities(x).astype(float)
    likelihood = np.log(np.exp(logits).sum(axis=1)).mean()
    peer = GaussianMixture(6, covariance_type="diag", random_state=0, max_iter=100).fit(x)
    assert likelihood > peer.score(x) - 0.05
    np.testing.assert_allclose(ours.weights.sum(), 1)
    steps = []
    progress = SimpleNamespace(start=lambda *args: None, advance=lambda: steps.append(1))
    DiagonalMixture.learn(x, 6, random_state=0, max_iter=100, progress=progress)
    assert 1 < len(steps) < 50  # the likelihood no longer grows


def test_projection_equals_principal_components(rng):
    from sklearn.decomposition import PCA

    x = rng.normal(size=(500, 8)) @ rng.normal(size=(8, 8))
    ours = Projection.learn(x.astype(np.float32), 4).apply(x)
    peer = PCA(4).fit_transform(x)
    np.testing.assert_allclose(np.abs(ours), np.abs(peer), atol=1e-4)


def test_rows_are_named_normalised_and_reproducible(sets):
    encoder = FisherVectors(4, None, pyramid=[(1, 1), (2, 1)], random_state=0, scope="image")
    rows = encoder.fit_transform(sets, np.arange(12) % 2)
    names = encoder.get_feature_names_out()
    assert rows.dtype == np.float32
    assert rows.shape == (12, len(names))
    assert len(set(names)) == len(names)
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(lengths[np.arange(12) != 5], 1, rtol=1e-5)
    assert lengths[5] == 0  # the image without descriptors
    np.testing.assert_array_equal(clone(encoder).fit(sets, np.arange(12) % 2).transform(sets), rows)


def test_equal_descriptors_do_no_harm():
    image = LocalFeatures(np.full((30, 4), 9, np.uint8), np.full((30, 2), 0.5), np.full(30, 16.0))
    sets = LocalFeatureSets.concatenate([image, image])
    assert np.isfinite(FisherVectors(2, 2, random_state=0).fit_transform(sets)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_descriptors_that_are_no_numbers_are_counted_and_refused(bad, rng):
    image = LocalFeatures(rng.random((60, 6)), rng.random((60, 2)), np.full(60, 16.0))
    spoilt = LocalFeatures(image.descriptors.copy(), image.positions, image.sizes)
    spoilt.descriptors[[3, 5], 2] = bad
    for n_components in 3, None:
        encoder = FisherVectors(4, n_components, random_state=0)
        for data in [image, spoilt], spoilt.descriptors:
            with pytest.raises(ValueError, match=r"2 of \d+ descriptors have NaN or infinite"):
                encoder.fit(data)
        with pytest.raises(ValueError, match="2 of 60 descriptors have NaN or infinite"):
            encoder.fit([image]).transform([spoilt])


def test_a_descriptor_beyond_what_32_bits_can_square_is_refused(rng):
    image = LocalFeatures(rng.random((60, 6)), rng.random((60, 2)), np.full(60, 16.0))
    encoder = FisherVectors(4, 3, random_state=0).fit([image])

    def times(factor):
        return LocalFeatures(image.descriptors * factor, image.positions, image.sizes)

    assert np.isfinite(encoder.transform([times(1e10)])).all()
    for factor in 1e20, 1e38, 1e300:
        with pytest.raises(ValueError, match="as far from the mean"):
            encoder.transform([times(factor)])


def by_definition(x, cells, weights, means, variances):
    """Sums of q, q x, q x² of each cell and the log-likelihood, in float64."""
    x = x.astype(np.float64)
    logs = np.log(weights) - 0.5 * (
        (x[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)
    ).sum(axis=2)
    q = np.exp(logs - logs.max(axis=1, keepdims=True))
    likelihood = (np.log(q.sum(axis=1)) + logs.max(axis=1)).sum()
    q[q < LEAST] = 0
    q /= q.sum(axis=1, keepdims=True)
    member = np.eye(3)[cells]
    both = np.hstack([x, x**2])
    sums = np.einsum("nc,nk,nd->ckd", member, q, both)
    return np.einsum("nc,nk->ck", member, q), sums, likelihood


@pytest.mark.parametrize("narrow", [0.3, 1e-2, 1e-4])
@pytest.mark.parametrize(("n", "k"), [(1100, 37), (41, 37), (80, 150), (0, 5)])
def test_sums_of_responsibilities_follow_the_definition(rng, narrow, n, k):
    """Of a mixture with a narrow Gaussian, and points of it, some at its mean and some far away."""
    means, variances = rng.normal(0, 0.7, (k, 21)), rng.uniform(0.2, 2, (k, 21))
    variances[4] = narrow
    mixture, labels = (rng.dirichlet(np.ones(k)), means, variances), rng.integers(0, k, n)
    x = means[labels] + np.sqrt(variances[labels]) * rng.normal(size=(n, 21))
    x[:30], x[30:34] = means[4], 9 * x[30:34]
    x, cells = x.astype(np.float32), rng.integers(0, 3, n).astype(np.int32)
    *sums, likelihood = DiagonalMixture(*mixture).moments(x, cells, 3)
    *expected, exact_likelihood = by_definition(x, cells, *mixture)
    for ours, theirs in zip(sums, expected):
        np.testing.assert_allclose(ours, theirs, atol=2e-4 * max(1, np.abs(theirs).max()))
    np.testing.assert_allclose(likelihood, exact_likelihood, rtol=1e-4)
