import numpy as np
import pytest

from visualwords.classifiers import one_vs_rest


def test_two_classes_are_one_problem():
    assert one_vs_rest.signs(np.array([0, 1, 1]), 2).tolist() == [[-1, 1, 1]]
    assert one_vs_rest.signs(np.array([0, 1, 2]), 3).shape == (3, 3)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class only"):
        one_vs_rest.encode_labels(["a", "a"])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, bool, float, str])
def test_labels_are_numbered_as_unique_does(rng, dtype):
    for y in (rng.integers(0, 2, 50), 100 * rng.integers(-1, 2, 60), [5, 2**40, 5]):
        y = np.asarray(y)
        if dtype in (np.int8, np.uint8) and np.abs(y).max() > 127:
            continue
        y = (np.abs(y) if dtype in (np.uint8, np.uint64) else y).astype(dtype)
        if np.unique(y).size < 2:
            continue
        classes, codes = one_vs_rest.encode_labels(y)
        expected, expected_codes = np.unique(y, return_inverse=True)
        np.testing.assert_array_equal(classes, expected)
        assert classes.dtype == expected.dtype
        np.testing.assert_array_equal(codes, expected_codes)


def test_costs_multiply_the_weights():
    codes, classes = np.array([0, 0, 1]), np.array(["x", "y"])
    weight = np.array([1.0, 3.0, 2.0])
    cost = one_vs_rest.sample_costs(0.5, codes, classes, {"x": 2.0}, weight)
    assert cost.tolist() == [1.0, 3.0, 1.0]


def test_balanced_costs_count_weights_like_repeated_rows():
    codes, classes = np.array([0, 0, 1, 1]), np.array([0, 1])
    weight = np.array([1.0, 3.0, 2.0, 0.0])
    weighted = one_vs_rest.sample_costs(1.0, codes, classes, "balanced", weight)
    repeated = one_vs_rest.sample_costs(1.0, codes.repeat([1, 3, 2, 0]), classes, "balanced")
    assert weighted.sum() == pytest.approx(repeated.sum())
    assert weighted[0] == pytest.approx(repeated[0])


def test_scores_name_labels():
    classes = np.array(["a", "b", "c"])
    assert one_vs_rest.labels_of(np.array([[0, 2, 1], [3, 0, 0]]), classes).tolist() == ["b", "a"]
    assert one_vs_rest.labels_of(np.array([-1.0, 0.0, 1.0]), classes[:2]).tolist() == [*"aab"]
