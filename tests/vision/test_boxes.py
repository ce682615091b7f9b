"""Boxes: overlaps against counted pixels, suppression against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visualwords.boxes import (
    area,
    intersection_over_smaller,
    intersection_over_union,
    suppress,
    with_aspect,
)

coordinate = st.integers(0, 12)
box = st.tuples(coordinate, coordinate, coordinate, coordinate)


def pixels(b):
    mask = np.zeros((12, 12), bool)
    mask[b[1] : max(b[1], b[3]), b[0] : max(b[0], b[2])] = True
    return mask


@given(box, box)
def test_overlaps_are_those_of_counted_pixels(a, b):
    pa, pb = pixels(a), pixels(b)
    shared, both, least = (pa & pb).sum(), (pa | pb).sum(), min(pa.sum(), pb.sum())
    union = intersection_over_union(np.array([a]), np.array([b]))[0, 0]
    smaller = intersection_over_smaller(np.array([a]), np.array([b]))[0, 0]
    assert area(np.array([a]))[0] == pa.sum()
    assert union == pytest.approx(shared / both if both else 0)
    assert smaller == pytest.approx(shared / least if least else 0)


def suppress_slowly(boxes, scores, overlap):
    kept = []
    for i in sorted(range(len(boxes)), key=lambda i: (-scores[i], i)):
        pairs = (intersection_over_smaller(boxes[[i]], boxes[[j]])[0, 0] for j in kept)
        if all(shared <= overlap for shared in pairs):
            kept.append(i)
    return kept


@pytest.mark.parametrize("overlap", [0.0, 0.3, 0.65, 1.0])
def test_suppression_keeps_what_no_better_kept_box_covers(rng, overlap):
    corner, size = rng.integers(0, 60, (80, 2)), rng.integers(1, 40, (80, 2))
    boxes, scores = np.hstack([corner, corner + size]), rng.integers(0, 9, 80)
    assert suppress(boxes, scores, overlap).tolist() == suppress_slowly(boxes, scores, overlap)


def test_a_small_box_inside_a_large_one_survives_only_by_union():
    boxes, scores = np.array([[0, 0, 100, 100], [10, 10, 30, 30]]), np.array([2, 1])
    assert suppress(boxes, scores, 0.5, "smaller").tolist() == [0]
    assert suppress(boxes, scores, 0.5, "union").tolist() == [0, 1]


def test_no_boxes_are_no_boxes():
    assert suppress(np.empty((0, 4)), np.empty(0)).tolist() == []
    assert intersection_over_union(np.empty((0, 4)), np.ones((3, 4))).shape == (0, 3)


def test_boxes_of_one_aspect_keep_their_middles_and_heights(rng):
    corner, size = rng.uniform(0, 60, (9, 2)), rng.uniform(1, 40, (9, 2))
    boxes = np.hstack([corner, corner + size])
    changed = with_aspect(boxes, 0.41)
    np.testing.assert_allclose(changed[:, :2] + changed[:, 2:], boxes[:, :2] + boxes[:, 2:])
    np.testing.assert_allclose(changed[:, 3] - changed[:, 1], size[:, 1])
    np.testing.assert_allclose(changed[:, 2] - changed[:, 0], 0.41 * size[:, 1])
    assert with_aspect(np.empty((0, 4)), 0.41).shape == (0, 4)


def test_an_unknown_measure_is_named():
    with pytest.raises(ValueError, match="'iou'; choose one of smaller, union"):
        suppress(np.ones((1, 4)), np.ones(1), 0.5, "iou")
