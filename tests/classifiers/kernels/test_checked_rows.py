"""Rows that need no check are taken as they are; all others are checked as scikit-learn does."""

import numpy as np
import pytest

from visualwords.classifiers.kernels.checked_rows import check_rows


def test_rows_of_the_right_form_come_back_themselves(rng):
    for dtype in (np.float64, np.float32):
        x, y = rng.random((5, 3)).astype(dtype), np.full((2, 3), 3e38, dtype)  # overflows a sum
        found = check_rows(x, y, kernel="any")
        assert found[0] is x
        np.testing.assert_array_equal(found[1], y)
        assert found[1].dtype == dtype


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused(rng, wrong):
    x = rng.random((4, 3))
    x[2, 1] = wrong
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        check_rows(x, kernel="any")


def test_other_forms_are_converted_or_refused(rng):
    x = rng.random((4, 3))
    for other in (x.tolist(), np.asfortranarray(x), x[:, ::-1][:, ::-1], np.ma.array(x)):
        found, _ = check_rows(other, kernel="any")
        np.testing.assert_array_equal(found, x)
        assert type(found) is np.ndarray
        assert found.flags.c_contiguous
    assert check_rows(x.astype(np.float32), kernel="any", dtype=np.float64)[0].dtype == np.float64
    for bad in (x[0], x[:, :0], x.astype(complex)):
        with pytest.raises(ValueError):
            check_rows(bad, kernel="any")
