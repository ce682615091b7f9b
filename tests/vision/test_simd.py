import numpy as np
import pytest

from visualwords import simd
from visualwords.compiled import njit


@njit(inlined=(simd,))
def nonzero_places(values, first):
    """Positions of the values that are not 0, of 64 from ``first`` on."""
    places = np.zeros(64, np.int64)
    count, word = 0, simd.nonzero(values, first)
    while word != np.uint64(0):
        places[count] = simd.lowest_bit(word)
        word &= word - np.uint64(1)
        count += 1
    return places[:count]


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_marks_of_64_values_name_those_that_are_not_zero(rng, kind):
    values = rng.integers(0, 3, 100).astype(kind)
    for first in (0, 1, 36):
        expected = np.flatnonzero(values[first : first + 64])
        np.testing.assert_array_equal(nonzero_places(values, first), expected)


def test_nothing_but_zeros_has_no_marks():
    assert nonzero_places(np.zeros(64, np.uint8), 0).size == 0
