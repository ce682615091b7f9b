"""NearestWords: the exact nearest word for any type, number and layout of descriptors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.words import nearest_words
from visualwords.codebook.kmeans import NearestWords


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(0, 40), st.integers(1, 40), st.integers(1, 12)),
)
def test_labels_match_the_definition(dtype, seed, shape):
    n, k, d = shape
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, (n, d)).astype(dtype)
    words = rng.integers(0, 9, (k, d)).astype(np.float32)  # ties are common
    labels = NearestWords(words).find(x)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, nearest_words(x, words))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("n_words", [1, 16, 17, 200, 1025, 2100])
def test_many_words_and_descriptors_of_more_than_one_block(rng, dtype, n_words):
    x = rng.integers(0, 256, (1200, 33)).astype(dtype)
    words = rng.uniform(0, 255, (n_words, 33)).astype(np.float32)
    np.testing.assert_array_equal(NearestWords(words).find(x), nearest_words(x, words))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_words_that_differ_less_than_float32_can_tell_are_told_apart(rng, dtype):
    x = rng.integers(0, 256, (300, 128)).astype(dtype)
    middle = rng.uniform(100, 150, 128)
    words = (middle + rng.normal(0, 1e-4, (20, 128))).astype(np.float32)
    np.testing.assert_array_equal(NearestWords(words).find(x), nearest_words(x, words))


@pytest.mark.parametrize(
    "words",
    [np.zeros((3, 4)), np.full((3, 4), 1e-12), np.full((2, 4), 1e9), -np.ones((2, 4))],
    ids=["zero", "tiny", "huge", "negative"],
)
def test_odd_words_do_no_harm(words):
    x = np.arange(40, dtype=np.uint8).reshape(10, 4)
    np.testing.assert_array_equal(NearestWords(words).find(x), nearest_words(x, words))


def test_labels_do_not_depend_on_the_company(rng):
    x = rng.integers(0, 256, (2500, 128)).astype(np.uint8)
    words = NearestWords(rng.uniform(0, 255, (50, 128)))
    labels = words.find(x)
    np.testing.assert_array_equal(np.concatenate([words.find(x[:7]), words.find(x[7:])]), labels)
    np.testing.assert_array_equal(words.find(x[::-1].copy())[::-1], labels)
