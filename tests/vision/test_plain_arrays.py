"""Which arrays need no check."""

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import validate_data

from visualwords.compiled import is_plain

GOOD = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def scaler():
    return MinMaxScaler().fit(GOOD)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "float64"])
def test_what_is_plain_comes_back_from_scikit_learn_as_it_is(scaler, dtype):
    X = GOOD.astype(dtype)
    assert is_plain(scaler, X)
    assert validate_data(scaler, X, dtype="numeric", order="C", reset=False) is X


@pytest.mark.parametrize(
    "X",
    [
        GOOD.tolist(),
        GOOD[0],
        GOOD[:0],
        GOOD[:, :1],
        np.asfortranarray(GOOD),
        GOOD.astype(object),
        GOOD.astype(str),
        GOOD.astype(complex),
        GOOD.astype(np.longdouble),
        np.ma.array(GOOD),
    ],
    ids=lambda X: type(X).__name__,
)
def test_everything_else_is_checked(scaler, X):
    assert not is_plain(scaler, X)


def test_an_estimator_that_knows_names_of_columns_checks_them(scaler):
    scaler.feature_names_in_ = np.array(["a", "b"], object)
    assert not is_plain(scaler, GOOD)


def test_kinds_of_numbers_can_be_limited(scaler):
    assert is_plain(scaler, GOOD.astype(np.uint8), "u")
    assert not is_plain(scaler, GOOD, "u")
