"""Gram matrices of pairs of classes, computed several at a time."""

import numpy as np
import pytest

from visualwords.classifiers.kernel_training import PairGrams, Samples


@pytest.mark.parametrize(("room", "n_calls"), [(0, 7), (1100, 5)])
def test_pairs_are_blocks_of_the_gram_matrix_however_many_are_computed_at_once(rng, room, n_calls):
    X = rng.random((30, 4))
    classes = np.split(rng.permutation(30), [6, 14])
    pairs = [(classes[a], classes[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    calls = []

    def kernel(x, y):
        calls.append(len(x))
        return x @ (x if y is None else y).T

    largest = 4 * 24**2  # bytes of a matrix; what is left keeps blocks of single classes first
    grams = PairGrams(Samples(kernel, X, 30, largest + room), pairs)
    for number, (first, second) in enumerate(pairs):
        found = grams.of(number)
        for block, rows, columns in zip(found, (first, first, second), (first, second, second)):
            np.testing.assert_allclose(block, X[rows] @ X[columns].T, rtol=1e-6)
            assert block.dtype == np.float32
            assert block.flags.c_contiguous
    assert len(calls) == n_calls


def test_a_pair_beyond_the_memory_has_no_matrix():
    X, pair = np.zeros((30, 1)), (np.arange(15), np.arange(15, 30))
    assert PairGrams(Samples(np.dot, X, 30, 4 * 30**2 - 1), [pair]).of(0) is None
