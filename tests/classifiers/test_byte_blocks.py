"""Scores and weights of bytes in blocks: only what is wanted, each as if it were alone."""

import numpy as np
import pytest

from visualwords.classifiers import byte_blocks, byte_training
from visualwords.classifiers.byte_blocks import ByteBlocks
from visualwords.classifiers.byte_linear import ByteLinearClassifier
from visualwords.classifiers.solvers import machine_groups


@pytest.fixture
def blocks(rng):
    """Ten rows of more columns than are multiplied at a time, with a mean square of 2."""
    X = rng.integers(-127, 128, (10, 1300)).astype(np.int8)
    return ByteBlocks(X, None, np.zeros((10, 10), np.float32), 2.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_wanted_scores_and_updates_match_the_definition(blocks, rng, dtype, share):
    wanted = (rng.random((10, 16)) < share).astype(dtype)
    weights = rng.normal(size=(16, 1300)).astype(dtype)
    rows = blocks.load(0, 10, dtype)
    scores = blocks.scores(rows, weights, wanted)
    expected = rows.astype(np.float64) @ weights.T / 2 * wanted
    assert scores.dtype == dtype
    np.testing.assert_allclose(scores, expected, atol=1e-2 if dtype == np.float32 else 1e-9)
    coefficients = wanted * rng.normal(size=wanted.shape).astype(dtype)
    updated = weights.copy()
    blocks.update(rows, coefficients, updated)
    expected = weights + coefficients.T @ rows.astype(np.float64)
    np.testing.assert_allclose(updated, expected, atol=1e-3 if dtype == np.float32 else 1e-9)


def test_a_score_has_the_same_bits_whatever_else_is_wanted(blocks, rng):
    weights = rng.normal(size=(16, 1300)).astype(np.float32)
    rows = blocks.load(0, 10, np.float32)
    every = blocks.scores(rows, weights, np.ones((10, 16)))
    for _ in range(5):
        wanted = rng.random((10, 16)) < 0.4
        np.testing.assert_array_equal(blocks.scores(rows, weights, wanted), every * wanted)


def test_an_update_has_the_same_bits_whatever_the_other_machines_do(blocks, rng):
    rows = blocks.load(0, 10, np.float32)
    coefficients = rng.normal(size=(10, 16)).astype(np.float32)
    together, alone = (blocks.new_weights(16, np.float32) for _ in range(2))
    blocks.update(rows, coefficients, together)
    coefficients[:, 1:] = 0
    blocks.update(rows, coefficients, alone)
    np.testing.assert_array_equal(alone[0], together[0])


def test_shrunk_samples_satisfy_the_optimality_conditions_in_the_end(rng, monkeypatch):
    monkeypatch.setattr(byte_training, "gram_is_faster", lambda *shape: False)
    monkeypatch.setattr(byte_blocks, "ROWS_OF_A_BLOCK", (16, 16))
    visits = []
    scores = ByteBlocks.scores

    def counted(self, rows, weights, wanted):
        visits.append(np.count_nonzero(wanted))
        return scores(self, rows, weights, wanted)

    monkeypatch.setattr(ByteBlocks, "scores", counted)
    groups = []
    end_pass = machine_groups.Group.end_pass
    monkeypatch.setattr(
        machine_groups.Group, "end_pass", lambda self: (groups.append(self), end_pass(self))
    )
    y = np.repeat(np.arange(4), 100)
    X = np.clip(np.rint(rng.normal(rng.normal(0, 6, (4, 300))[y], 20)), -127, 127).astype(np.int8)
    model = ByteLinearClassifier(tol=1e-3).fit(X, y)
    assert sum(visits) < 0.8 * model.n_iter_ * 400 * 4  # of every row by every machine
    group, samples = groups[-1], groups[-1].samples
    order = np.random.default_rng(0).permutation(400)
    signs = np.where(samples.codes[:, None] == np.arange(4), 1, -1)
    exact = X[order].astype(np.float64) @ group.weights[:4].T / group.rows.mean_square
    alpha = group.alpha[:, :4]
    gradient = signs * exact - 1 + samples.problem.diagonal[:, None] * alpha
    projected = np.where(alpha > 0, gradient, np.minimum(gradient, 0))
    assert np.abs(projected).max() < 2e-3
