"""What knows strange images."""

import numpy as np
import pytest

from visualwords.apps.pipeline._similarity import nearest_squares, project
from visualwords.apps.pipeline.novelty import Novelty, held_out_distances
from visualwords.apps.pipeline.similarity import Signer, sketch_rows


@pytest.fixture
def known(rng):
    """Scores and distances of 300 images of three classes."""
    scores = rng.normal(-1, 0.3, (300, 3))
    scores[np.arange(300), np.arange(300) % 3] += 2
    return scores, _distances(rng.normal(1, 0.1, 300))


def _distances(nearest):
    """Give distances to nearest images, with usual ones to the classes and directions."""
    nearest = np.asarray(nearest)
    turns = np.arange(len(nearest))[:, None] // [1, 2] % 2
    return np.column_stack([nearest, 2.0 * turns - 1])


def test_the_share_of_known_images_above_a_novelty_is_as_promised(known, rng):
    novelty = Novelty.fit(*known)
    scores = rng.normal(-1, 0.3, (4000, 3))
    scores[np.arange(4000), np.arange(4000) % 3] += 2
    values = novelty.of(scores, _distances(rng.normal(1, 0.1, 4000)))
    assert ((values > 0) & (values < 1)).all()
    assert 0.03 < (values > 0.95).mean() < 0.07


def test_low_scores_and_far_neighbours_are_strange(known):
    novelty = Novelty.fit(*known)
    usual, unsure = np.array([[1.0, -1, -1]]), np.array([[-1.0, -1, -1]])
    near, far, nowhere, aside = np.array([[[1.0, 0, 0]], [[2, 0, 0]], [[1, 20, 0]], [[1, 0, 20]]])
    assert novelty.of(usual, near)[0] < 0.8
    assert novelty.of(unsure, near)[0] > 0.99
    assert novelty.of(usual, far)[0] > 0.99
    assert novelty.of(usual, nowhere)[0] > 0.99
    assert novelty.of(usual, aside)[0] > 0.99


def test_a_near_neighbour_does_not_make_up_for_low_scores(known):
    novelty = Novelty.fit(*known)
    unsure = np.array([[-0.2, -1, -1]] * 2)
    usual, closest = novelty.of(unsure, np.array([[1.0, 0, 0], [-5.0, 0, 0]]))
    assert closest == pytest.approx(usual, abs=0.01)


def test_strange_images_keep_their_order(known):
    novelty = Novelty.fit(*known)
    values = novelty.of(np.tile([[1.0, -1, -1]], (5, 1)), _distances([2.0, 3, 4, 6, 9]))
    assert (np.diff(values) > 0).all()


def test_without_distances_scores_decide(known):
    novelty = Novelty.fit(known[0], None)
    values = novelty.of(np.array([[1.0, -1, -1], [-2.0, -2, -2]]), _distances([9.0, 0]))
    assert values[0] < 0.8 < 0.99 < values[1]


def test_the_state_gives_the_same_novelty(known):
    novelty = Novelty.fit(*known)
    restored = Novelty.from_state(novelty.get_state())
    np.testing.assert_array_equal(restored.of(*known), novelty.of(*known))
    with pytest.raises(ValueError, match="does not fit"):
        Novelty.from_state({**novelty.get_state(), "known": np.zeros(0)})


def test_distances_are_those_to_the_nearest_row_of_another_fold(rng):
    rows = rng.normal(size=(40, 30)).astype(np.float32)
    folds, codes = np.arange(40) % 4, np.arange(40) % 3
    found = held_out_distances(sketch_rows(rows), codes, folds)[:, 0]
    for i in (0, 7, 23):
        others = rows[folds != folds[i]]
        assert found[i] == pytest.approx(np.linalg.norm(others - rows[i], axis=1).min(), rel=0.05)


def test_the_nearest_signature_is_found_by_its_definition(rng):
    rows = rng.normal(size=(7, 33)).astype(np.float32)
    signatures = rng.integers(-127, 128, (50, 33), dtype=np.int8)
    scales, found = rng.uniform(0.01, 0.03, 50).astype(np.float32), np.empty(7)
    nearest_squares(rows, signatures, scales, found)
    apart = rows[:, None] - (signatures * scales[:, None])[None]
    np.testing.assert_allclose(found, (apart**2).sum(axis=2).min(axis=1), rtol=1e-5)


def test_projections_are_products(rng):
    rows = rng.poisson(0.5, (5, 40)).astype(np.float32)
    matrix, found = rng.normal(size=(40, 9)).astype(np.float32), np.ones((5, 9), np.float32)
    project(rows, matrix, found)
    np.testing.assert_allclose(found, 1 + rows @ matrix, rtol=1e-4, atol=1e-4)


def test_a_signed_row_is_near_itself(rng):
    sketch = sketch_rows(rng.normal(size=(20, 50)).astype(np.float32))
    signer = Signer().fit(sketch)
    signatures, lengths = signer.sign(sketch)
    assert (
        signer.distances(sketch, signer.components(sketch), signatures, lengths).max()
        < 0.05 * lengths.mean()
    )


def test_an_unusual_appearance_is_strange_and_a_usual_one_counts_nothing(known, rng):
    looks = rng.normal(4, 1, 300)
    novelty = Novelty.fit(*known, looks)
    usual = np.array([[1.0, -1, -1]] * 4), np.tile([1.0, 0.0, 0.0], (4, 1))
    values = novelty.of(*usual, np.array([2.0, 4.0, 4.5, 30.0]))
    assert values[0] == values[1] == values[2] < 0.8
    assert values[3] > 0.99


def test_doubt_is_strange(known, rng):
    novelty = Novelty.fit(*known, doubts=rng.beta(1, 9, 300))
    usual = np.array([[1.0, -1, -1]] * 2), np.tile([1.0, 0.0, 0.0], (2, 1))
    sure, unsure = novelty.of(*usual, doubts=np.array([0.05, 0.7]))
    assert sure < 0.8 < 0.95 < unsure


def test_older_files_know_no_appearance_and_have_other_weights(known):
    state = Novelty.fit(*known).get_state()
    older = Novelty.from_state(
        {"medians": state["medians"][:2], "spreads": state["spreads"][:2], "known": state["known"]}
    )
    assert older.appearance is None
    doubled = Novelty.from_state(
        {**state, "weights": np.array([2.0, 1.0, 0, 0, 0, 0]), "usual": np.full(6, -np.inf)}
    )
    np.testing.assert_array_equal(older.of(*known), doubled.of(*known))
    with pytest.raises(ValueError, match="do not fit"):
        Novelty.from_state({**state, "weights": np.ones(2)})


def test_files_of_five_signs_know_no_directions(known):
    state = Novelty.fit(*known).get_state()
    names = ("medians", "spreads", "weights", "usual")
    older = Novelty.from_state({**state, **{name: state[name][:5] for name in names}})
    scores, distances = known
    turned = distances + np.array([0.0, 0.0, 9.0])
    np.testing.assert_array_equal(older.of(scores, turned), older.of(scores, distances))


def test_images_held_out_with_most_of_their_class_hardly_raise_the_threshold(known, rng):
    scores, distances = known
    lost = np.arange(300) < 45  # their class was not there to learn from
    scores[lost] = rng.normal(-1, 0.3, (45, 3))
    trust = np.where(lost, 0.01, 1.0)
    new = rng.normal(-1, 0.3, (4000, 3))
    new[np.arange(4000), np.arange(4000) % 3] += 2
    apart = _distances(rng.normal(1, 0.1, 4000))
    misled = Novelty.fit(scores, distances).of(new, apart)
    told = Novelty.fit(scores, distances, trust=trust).of(new, apart)
    assert (misled > 0.95).mean() < 0.01
    assert 0.03 < (told > 0.95).mean() < 0.07


def test_images_that_count_the_same_are_described_by_their_own_values(known):
    plain, alike = Novelty.fit(*known), Novelty.fit(*known, trust=np.full(300, 0.64))
    own = np.sort(plain.strangeness(*known))
    np.testing.assert_allclose(plain.known, own, atol=1e-12)
    np.testing.assert_allclose(alike.known, own, atol=1e-12)
