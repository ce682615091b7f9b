"""The novelty of images: three scores, and what a model file keeps of them."""

import numpy as np
import pytest

from visualwords.apps.pipeline.appearance import N_STATISTICS, Appearance
from visualwords.apps.pipeline.novelty import Novelty, held_out_looks


@pytest.fixture
def known(rng):
    """Scores and distances of 300 images of three classes."""
    return drawn(rng, 300)


def drawn(rng, n):
    scores = rng.normal(-1, 0.3, (n, 3))
    scores[np.arange(n), np.arange(n) % 3] += 2
    return scores, rng.normal(1, 0.1, n)


def test_the_share_of_known_images_above_a_novelty_is_as_promised(known, rng):
    values = Novelty.fit(*known).of(*drawn(rng, 4000))
    assert ((values > 0) & (values < 1)).all()
    assert 0.03 < (values > 0.95).mean() < 0.07


def test_low_scores_and_far_neighbours_are_strange_and_keep_their_order(known):
    novelty = Novelty.fit(*known)
    usual, unsure = np.array([[1.0, -1, -1]]), np.array([[-1.0, -1, -1]])
    near, far = np.array([1.0]), np.array([2.0])
    assert novelty.of(usual, near)[0] < 0.8
    assert novelty.of(unsure, near)[0] > 0.99
    assert novelty.of(usual, far)[0] > 0.99
    values = novelty.of(np.tile(usual, (5, 1)), np.array([2.0, 3, 4, 6, 9]))
    assert (np.diff(values) > 0).all()
    doubtful = np.array([[-0.2, -1, -1]] * 2)  # a near neighbour does not make up for low scores
    usual, closest = novelty.of(doubtful, np.array([1.0, -5.0]))
    assert closest == pytest.approx(usual, abs=0.01)


def test_an_unusual_appearance_is_strange_and_a_usual_one_counts_nothing(known, rng):
    novelty = Novelty.fit(*known, rng.normal(4, 1, 300))
    usual = np.array([[1.0, -1, -1]] * 4), np.ones(4)
    values = novelty.of(*usual, np.array([2.0, 4.0, 4.5, 30.0]))
    assert values[0] == values[1] == values[2] < 0.8
    assert values[3] > 0.99


def test_what_the_model_does_not_know_counts_nothing(known):
    novelty = Novelty.fit(known[0])
    values = novelty.of(np.array([[1.0, -1, -1], [-2.0, -2, -2]]), np.array([9.0, 0]))
    assert values[0] < 0.8 < 0.99 < values[1]
    both = Novelty.fit(*known)
    known_alone = both.of(known[0], None)
    assert np.isfinite(known_alone).all()


def test_the_state_gives_the_same_novelty_and_forged_ones_are_refused(known, rng):
    statistics, codes = rng.normal(size=(300, N_STATISTICS)), np.arange(300) % 3
    folds = np.arange(300) % 5
    looks = held_out_looks(statistics, codes, folds, True)
    learned = Appearance.fit(statistics, codes)
    assert looks.mean() > learned.distances(statistics).mean()
    novelty = Novelty.fit(*known, looks, learned)
    state = novelty.get_state()
    restored = Novelty.from_state(state)
    np.testing.assert_array_equal(restored.of(*known, looks), novelty.of(*known, looks))
    np.testing.assert_array_equal(
        restored.appearance.distances(statistics), learned.distances(statistics)
    )
    for wrong in ({"known": state["known"][::-1]}, {"examples": state["examples"][:, :4]}):
        with pytest.raises(ValueError, match=r"fit together|out of range|statistics|finite"):
            Novelty.from_state({**state, **wrong})


def test_images_held_out_with_most_of_their_class_hardly_raise_the_threshold(known, rng):
    scores, distances = known
    alike = Novelty.fit(scores, distances, trust=np.full(300, 0.64))
    np.testing.assert_allclose(alike.known, Novelty.fit(scores, distances).known, atol=1e-12)
    lost = np.arange(300) < 45  # their class was not there to learn from
    scores[lost] = rng.normal(-1, 0.3, (45, 3))
    new = drawn(rng, 4000)
    misled = Novelty.fit(scores, distances).of(*new)
    trusted = Novelty.fit(scores, distances, trust=np.where(lost, 0.01, 1.0)).of(*new)
    assert (misled > 0.95).mean() < 0.01
    assert 0.03 < (trusted > 0.95).mean() < 0.07
