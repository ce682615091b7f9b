"""Products of rows that recipes share."""

import numpy as np
import pytest

from visualwords.apps.pipeline import channel_products
from visualwords.apps.pipeline.channel_products import ChannelProducts, are_shared
from visualwords.classifiers import byte_training
from visualwords.classifiers.byte_linear import ByteLinearClassifier


@pytest.fixture
def rows(rng):
    return rng.integers(-128, 128, (60, 50), dtype=np.int8)


def reference(rows):
    return rows.astype(np.int64) @ rows.astype(np.int64).T


def test_products_are_those_of_all_columns(rows):
    found = ChannelProducts(None).of(rows, ["a", "b"], [30, 20])
    assert np.array_equal(found, reference(rows))


def test_a_channel_is_multiplied_once(rows, monkeypatch):
    seen = []
    products_of = byte_training.products_of
    monkeypatch.setattr(
        byte_training,
        "products_of",
        lambda X, n_jobs: seen.append(X.shape[1]) or products_of(X, n_jobs),
    )
    products = ChannelProducts(None)
    products.of(rows[:, :30], ["a"], [30])
    assert np.array_equal(products.of(rows, ["a", "b"], [30, 20]), reference(rows))
    assert seen == [30, 20]


def test_the_channels_that_were_used_last_are_kept(rows, monkeypatch):
    monkeypatch.setattr(channel_products, "MOST_KEPT", 2)
    products = ChannelProducts(None)
    for name in ("a", "b", "a", "c"):
        products.of(rows, [name], [50])
    assert list(products._kept) == ["a", "c"]


def test_a_classifier_learns_the_same_from_products_at_hand(rows, rng):
    y, folds = np.arange(60) % 3, np.arange(60) // 3 % 5
    alone, given = ByteLinearClassifier(), ByteLinearClassifier()
    expected = alone.fit_and_hold_out(rows, y, folds)
    found = given.fit_and_hold_out(rows, y, folds, ChannelProducts(2).of(rows, ["a"], [50]))
    assert np.array_equal(found, expected)
    assert np.array_equal(given.weights_, alone.weights_)


def test_products_of_many_rows_or_of_other_numbers_are_not_kept(rows):
    assert are_shared(rows, 3, 6)
    assert not are_shared(rows.astype(np.float32), 3, 6)
    assert not are_shared(np.zeros((channel_products.MOST_ROWS + 1, 2), np.int8), 1000, 6)
