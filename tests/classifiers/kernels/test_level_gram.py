import joblib
import numpy as np
import pytest
from numba import njit

from tests.reference import hik
from visualwords.classifiers.kernels import _intersection_uint8 as loops
from visualwords.classifiers.kernels import _unary_gram, unary_gram
from visualwords.classifiers.kernels.level_gram import gram_in_slices, level_gram
from visualwords.classifiers.tables.level_source import LevelSource


@pytest.mark.parametrize("n", [1, 2, 3, 5, 70])
@pytest.mark.parametrize("d", [1, 31, 32, 33, 100, 257])
def test_gram_matches_the_definition(rng, n, d):
    x = rng.integers(0, 256, (n, d)).astype(np.uint8)
    y = rng.integers(0, 256, (9, d)).astype(np.uint8)
    np.testing.assert_array_equal(level_gram(x, y), hik.intersection_gram(x, y))
    np.testing.assert_array_equal(level_gram(y, x), hik.intersection_gram(y, x))
    np.testing.assert_array_equal(level_gram(x), hik.intersection_gram(x, x))


def test_counts_above_a_byte_are_exact(rng):
    x = rng.integers(0, 1000, (12, 40)).astype(np.uint16)
    x[:, :20] //= 10
    np.testing.assert_array_equal(level_gram(x), hik.intersection_gram(x, x))
    np.testing.assert_array_equal(level_gram(x, x[:5]), hik.intersection_gram(x, x[:5]))


def test_gram_does_not_depend_on_threads_or_memory_order(rng):
    x = rng.integers(0, 101, (200, 64)).astype(np.uint8)
    gram = level_gram(x)
    np.testing.assert_array_equal(level_gram(x, n_jobs=2), gram)
    np.testing.assert_array_equal(level_gram(np.asfortranarray(x)), gram)
    x.flags.writeable = False
    np.testing.assert_array_equal(level_gram(x), gram)


def test_gram_is_symmetric_and_positive_semidefinite(rng):
    gram = level_gram(rng.poisson(2, (40, 5)).astype(np.uint8)).astype(float)
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -1e-9


def test_the_plain_loop_gives_the_same(rng):
    x = rng.integers(0, 256, (6, 50)).astype(np.uint8)
    out = np.empty((6, 6), np.float32)
    loops.gram_rows_plain(x, x, 0, 6, out)
    np.testing.assert_array_equal(level_gram(x), out)


def test_rows_are_written_in_this_process_whatever_the_backend(rng):
    x = rng.integers(0, 101, (150, 40)).astype(np.uint8)
    with joblib.parallel_config("loky", n_jobs=2):
        np.testing.assert_array_equal(level_gram(x), hik.intersection_gram(x, x))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("d", [1, 63, 64, 65, 300])
def test_counted_bits_give_the_same(rng, kind, d):
    steps = np.array([0, 1, 2, 3, 5, 8, 30, 255 if kind == np.uint8 else 4000])  # unequal rises
    frequent = rng.random(d) ** 2
    x = steps[rng.binomial(7, frequent, (70, d))].astype(kind)
    y = steps[rng.binomial(7, 0.2, (9, d))].astype(kind)
    plan = unary_gram.plan_bits(x, steps)
    lower = np.tril(unary_gram.unary_gram(x, None, plan, None))
    np.testing.assert_array_equal(lower, np.tril(hik.intersection_gram(x, x)))
    other = unary_gram.unary_gram(x, y, plan, 2)
    np.testing.assert_array_equal(other, hik.intersection_gram(x, y))


def test_levels_without_bits_are_counted_value_by_value(rng):
    x = (rng.random((300, 100)) < 0.01).astype(np.uint8) * 7  # rare in every column
    x[:, 0] = rng.integers(0, 200, 300)  # more levels than there may be planes
    plan = unary_gram.plan_bits(x, unary_gram.present_levels(x, None))
    rows = unary_gram.unary_rows(unary_gram.rows_of(x), len(x), plan, None)
    assert rows.values.size > 0
    np.testing.assert_array_equal(level_gram(x), hik.intersection_gram(x, x))
    lower = np.tril(unary_gram.unary_gram(x, None, plan, None))
    np.testing.assert_array_equal(lower, np.tril(hik.intersection_gram(x, x)))


@pytest.mark.parametrize("top", [3, 255])  # counted bits where the processor can, and bytes
def test_some_rows_in_some_order(rng, top):
    x = rng.integers(0, top + 1, (400, 50)).astype(np.uint8)
    order = rng.permutation(400)[:300]
    expected = hik.intersection_gram(x[order], x[order])
    np.testing.assert_array_equal(level_gram(x, order=order), expected)


@pytest.mark.parametrize("top", [3, 255])  # counted bits where the processor can, and bytes
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_slices_of_a_source_that_lets_its_levels_go_give_the_same(rng, top, n_jobs):
    x = rng.integers(0, top + 1, (400, 900)).astype(np.uint8)
    x[:, 5] = rng.random(400) < 0.01  # rare
    order = rng.permutation(400)[:301]
    source = LevelSource(x, lambda *part: x[part])
    gram = gram_in_slices(source, order, np.arange(top + 1), n_jobs)
    np.testing.assert_array_equal(gram, hik.intersection_gram(x[order], x[order]))
    np.testing.assert_array_equal(source.whole(), x)


def test_bits_are_gathered_alike_with_and_without_the_instruction(rng):
    for word, mask in rng.integers(0, 2**63, (20, 2), dtype=np.uint64):
        chosen = [bit for k, bit in enumerate(f"{word:064b}"[::-1]) if int(mask) >> k & 1]
        assert gather_bits(word, mask) == int("".join(chosen[::-1]), 2)
        assert _unary_gram._plain_gather_bits(word, mask) == int("".join(chosen[::-1]), 2)


@njit()
def gather_bits(word, mask):
    return _unary_gram.gather_bits(word, mask)
