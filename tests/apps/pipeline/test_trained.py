"""Tables as bytes: what they keep and what they don't."""

import numpy as np
import pytest

from visualwords.apps.pipeline.trained import packed_state, round_tables, unpacked
from visualwords.classifiers import ICDClassifier


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rounded_tables_survive_packing_bit_for_bit(rng, n_classes):
    y = np.arange(80) % n_classes
    X = rng.random((80, 300)) + 0.1 * rng.random((n_classes, 300))[y]
    exact = ICDClassifier().fit(X, y)
    rounded = round_tables(exact)
    packed = packed_state(rounded)
    assert packed["table_values"].dtype == np.int8
    restored = ICDClassifier().set_state(unpacked(packed))
    np.testing.assert_array_equal(restored.decision_function(X), rounded.decision_function(X))
    np.testing.assert_array_equal(round_tables(rounded).table_values_, rounded.table_values_)
    steps = np.abs(exact.tables_).max() / 63
    noise = steps * np.sqrt(300 / 12)
    assert np.abs(rounded.decision_function(X) - exact.decision_function(X)).max() < 5 * noise


def test_damaged_tables_are_refused(rng):
    X, y = rng.random((20, 5)), np.arange(20) % 2
    packed = packed_state(round_tables(ICDClassifier().fit(X, y)))
    with pytest.raises(ValueError, match="do not belong together"):
        unpacked(packed | {"table_exponents": np.zeros(3, np.int16)})
