"""HIKCodebook against kernel k-means from its definition, and its promises."""

from itertools import pairwise

import numpy as np
import pytest

from tests.reference.words import intersection_distances
from visualwords.codebook import HIKCodebook


@pytest.fixture
def histograms():
    return np.random.default_rng(0).gamma(0.4, 25, (400, 21)).clip(0, 255).astype(np.uint8)


@pytest.fixture
def codebook(histograms):
    return HIKCodebook(12, random_state=0).fit(histograms)


def members_of_last_step(codebook, histograms):
    """Labels from which the final tables were made: one iteration before the last."""
    before = HIKCodebook(12, random_state=0, max_iter=codebook.n_iter_ - 1).fit(histograms)
    return before.predict(histograms)


def test_distances_are_those_of_kernel_k_means(histograms, codebook):
    members = members_of_last_step(codebook, histograms)
    expected = intersection_distances(histograms, histograms, members, 12)
    error = np.abs(codebook.transform(histograms) + expected)
    assert error.max() <= (21 + 1) / codebook.scale_  # half a table's unit a dimension, twice
    exact = expected.argmin(axis=1)
    assert (codebook.predict(histograms) == exact).mean() > 0.99
    np.testing.assert_allclose(codebook.inertia_, expected.min(axis=1).sum(), rtol=2e-3)


def test_labels_are_those_of_the_similarities(histograms, codebook):
    labels = codebook.predict(histograms)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, codebook.transform(histograms).argmax(axis=1))


@pytest.mark.parametrize("center", ["mean", "median"])
def test_inertia_sums_the_distances_to_the_own_words(histograms, center):
    codebook = HIKCodebook(9, random_state=0, center=center, max_iter=3).fit(histograms)
    own = codebook.transform(histograms).max(axis=1)
    assert codebook.inertia_ == pytest.approx(np.maximum(-own, 0).sum(), rel=1e-9)


def test_iterations_lower_the_inertia(histograms):
    inertia = [
        HIKCodebook(12, random_state=0, max_iter=m, tol=0).fit(histograms).inertia_
        for m in (1, 2, 4, 8)
    ]
    assert all(b <= a * 1.001 for a, b in pairwise(inertia))
    assert inertia[-1] < inertia[0]


def test_medians_minimise_city_block_distance(histograms):
    codebook = HIKCodebook(12, random_state=0, center="median", tol=0).fit(histograms)
    labels = codebook.predict(histograms)
    total = 0
    for k in range(12):
        mine = histograms[labels == k].astype(int)
        if len(mine):
            total += np.abs(mine - np.median(mine, axis=0)).sum()
    assert codebook.inertia_ == pytest.approx(total, rel=2e-3)
    distances = -codebook.transform(histograms)
    np.testing.assert_allclose(distances, distances.round(), atol=1e-9)


@pytest.mark.parametrize("n_levels", [16, 64, 200])
def test_fewer_levels_give_similar_words(histograms, n_levels):
    codebook = HIKCodebook(6, n_levels, random_state=0).fit(histograms)
    fine = HIKCodebook(6, random_state=0).fit(histograms)
    per_level = histograms.max() / (n_levels - 1)
    assert codebook.inertia_ * per_level == pytest.approx(fine.inertia_, rel=0.05)
    assert codebook.get_state()["tables"].shape == (21, n_levels, 6)


def test_numbers_of_any_size_are_spread_over_the_levels(histograms):
    histograms[0, 0] = 255
    bytes_ = HIKCodebook(6, random_state=0).fit(histograms)
    stretched = histograms.astype(np.float32) * 4
    other = HIKCodebook(6, random_state=0).fit(stretched)
    np.testing.assert_array_equal(other.predict(stretched), bytes_.predict(histograms))
    np.testing.assert_array_equal(
        other.predict(stretched[:1] + 2000), bytes_.predict(np.full((1, 21), 255, np.uint8))
    )
    with pytest.raises(ValueError, match="Negative"):
        other.predict(-stretched)


def test_members_beyond_the_largest_sum_do_not_overflow():
    x = np.full((20, 300), 255, np.uint8)
    x[10:] = 0
    codebook = HIKCodebook(2, random_state=0).fit(x)
    labels = codebook.predict(x)
    assert (labels[:10] == labels[0]).all()
    assert (labels[10:] == 1 - labels[0]).all()


def test_no_word_stays_empty_while_descriptors_differ(rng, monkeypatch):
    monkeypatch.setattr("visualwords.codebook.hik.choose_seeds", lambda n, k, *how: np.arange(k))
    x = np.repeat(rng.integers(0, 256, (6, 10)).astype(np.uint8), 4, axis=0)
    codebook = HIKCodebook(6).fit(x)  # begins with two different descriptors
    assert sorted(codebook.counts_.tolist()) == [4] * 6


def test_parts_add_up_to_one_iteration(histograms):
    codebook = HIKCodebook(12, random_state=0, max_iter=3, tol=0).fit(histograms)
    once_more = HIKCodebook(12, random_state=0, max_iter=4, tol=0).fit(histograms)
    codebook.improve([codebook.accumulate(part) for part in np.array_split(histograms, 5)])
    for name in ("tables", "bias"):
        np.testing.assert_array_equal(codebook.get_state()[name], once_more.get_state()[name])
    with pytest.raises(ValueError, match="no descriptors"):
        codebook.improve([codebook.accumulate(histograms[:2])])
