"""Products of rows that recipes share."""

import numpy as np
import pytest

from visualwords.apps.pipeline import channel_products
from visualwords.apps.pipeline.channel_products import ChannelProducts, are_shared
from visualwords.classifiers.linear import ByteLinearClassifier


@pytest.fixture
def rows(rng):
    return rng.integers(-128, 128, (60, 50), dtype=np.int8)


def reference(rows):
    return rows.astype(np.int64) @ rows.astype(np.int64).T


def test_products_are_those_of_all_columns(rows):
    assert np.array_equal(
        ChannelProducts(None).of("a", lambda: [rows[:, :30], rows[:, 30:]]), reference(rows)
    )


def test_a_channel_is_multiplied_once(rows):
    products, made = ChannelProducts(None), []
    for _ in range(2):
        found = products.of("a", lambda: made.append("a") or [rows])
        assert np.array_equal(found, reference(rows))
    assert made == ["a"]


def test_the_channels_that_were_used_last_are_kept(rows, monkeypatch):
    monkeypatch.setattr(channel_products, "MOST_KEPT", 2 * 8 * len(rows) ** 2)
    products = ChannelProducts(None)
    for name in ("a", "b", "a", "c"):
        products.of(name, lambda: [rows])
    assert list(products._kept) == ["a", "c"]


def test_a_classifier_learns_the_same_from_products_at_hand(rows):
    y, folds = np.arange(60) % 3, np.arange(60) // 3 % 5
    alone, given = ByteLinearClassifier(), ByteLinearClassifier()
    expected = alone.fit_and_hold_out(rows, y, folds)
    products = ChannelProducts(2).of("a", lambda: [rows])
    found, coefficients = given.fit_on_products(products, y, folds)
    assert np.array_equal(found, expected)
    given.weigh(rows, coefficients)
    assert np.array_equal(given.decision_function(rows), alone.decision_function(rows))


def test_products_of_many_rows_are_not_kept():
    assert are_shared(60, 3, 6)
    assert not are_shared(channel_products.MOST_ROWS + 1, 1000, 6)
