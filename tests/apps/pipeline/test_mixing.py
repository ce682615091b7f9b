"""How much each channel counts, chosen on folds."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from visualwords.apps.pipeline.mixing import Held, held_out_scores, mix

CODES = np.arange(90) % 3
FOLDS = np.arange(90) // 3 % 5
HELD = Held(CODES, [FOLDS])


def kernel(rng, strength, n_columns=40):
    """The kernel of rows that depend on the class so much, the mean of its diagonal 1."""
    rows = rng.normal(size=(len(CODES), n_columns))
    rows += strength * rng.normal(size=(3, n_columns))[CODES]
    products = rows @ rows.T
    return products / np.diagonal(products).mean()


def test_held_out_scores_are_those_of_a_regression_without_the_fold(rng):
    total, ridge = kernel(rng, 0.3), rng.uniform(0.1, 0.4, len(CODES))
    other = np.roll(FOLDS, 7)
    found, again = held_out_scores(total, Held(CODES, [FOLDS, other]), ridge)
    np.testing.assert_array_equal(again, held_out_scores(total, Held(CODES, [other]), ridge)[0])
    targets = np.where(CODES[:, None] == np.arange(3), 1.0, -1.0)
    for fold in range(5):
        train, test = np.flatnonzero(fold != FOLDS), np.flatnonzero(fold == FOLDS)
        # a ridge of its own for each image is its weight, with one ridge of 1
        peer = KernelRidge(alpha=1.0, kernel="precomputed")
        peer.fit(total[np.ix_(train, train)], targets[train], sample_weight=1 / ridge[train])
        expected = peer.predict(total[np.ix_(test, train)])
        np.testing.assert_allclose(found[test], expected, atol=1e-8)


def test_a_kernel_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="positive"):
        held_out_scores(-np.eye(len(CODES)), HELD, np.full(len(CODES), 0.1))


def test_what_helps_gets_a_larger_share_and_noise_none(rng):
    kernels = [kernel(rng, 0.15), kernel(rng, 0), kernel(rng, 0.6)]
    shares = mix(kernels, [[0.5, 0.5, 0]], HELD)
    assert shares.sum() == pytest.approx(1)
    assert shares[1] <= 0.2
    assert shares[2] >= 0.4
    np.testing.assert_array_equal(shares, mix(kernels, [[0.5, 0.5, 0]], HELD))


def test_the_best_of_several_starts_is_taken(rng):
    kernels = [kernel(rng, 0), kernel(rng, 0.8)]
    assert mix(kernels, [[1, 0], [0, 1]], HELD)[1] > 0.5
    assert mix(kernels, [[0, 1], [1, 0]], HELD)[1] > 0.5


def test_a_single_kernel_that_does_not_help_changes_nothing(rng):
    kernels = [kernel(rng, 0.6), kernel(rng, 0.3), kernel(rng, 0)]
    np.testing.assert_allclose(mix(kernels, [[0.9, 0.1, 0]], HELD), [0.9, 0.1, 0])


def test_classes_count_alike_whatever_their_number_of_images(rng):
    few = np.flatnonzero((CODES < 2) | (np.arange(len(CODES)) < 15))
    own = rng.normal(size=(len(CODES), 20)), rng.normal(size=(len(CODES), 20))
    own[0][:, 0] += 6 * (CODES == 2)  # knows the rare class alone
    own[1][:, 0] += 1.5 * (CODES == 1)  # distinguishes the frequent ones a little
    kernels = [(rows @ rows.T / np.mean((rows**2).sum(1)))[few][:, few] for rows in own]
    shares = mix(kernels, [[0.5, 0.5]], Held(CODES[few], [FOLDS[few]]))
    assert shares[0] >= 0.5
    np.testing.assert_allclose(mix(kernels[:1], [[3.0]], Held(CODES[few], [FOLDS[few]])), [1])
