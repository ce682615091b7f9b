"""Boxes: overlaps against counted pixels, suppression against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visualwords.boxes import (
    ScalePyramid,
    area,
    fuse,
    intersection_over_smaller,
    intersection_over_union,
    join,
    pyramid_scales,
    scaled,
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


def test_fused_boxes_are_means_of_those_that_overlap_by_half(rng):
    corner, size = rng.uniform(0, 30, (60, 2)), rng.uniform(20, 40, (60, 2))
    boxes, scores = np.hstack([corner, corner + size]), rng.normal(0, 2, 60)
    kept = suppress(boxes, scores, 0.7)
    fused, joint = fuse(boxes, scores, kept, softness=0.5)
    for i, k in enumerate(kept):
        near = [j for j in range(60) if intersection_over_union(boxes[[k]], boxes[[j]]) >= 0.5]
        weights = np.exp(scores[near] / 0.5)
        np.testing.assert_allclose(fused[i], np.average(boxes[near], axis=0, weights=weights))
        assert joint[i] == pytest.approx(0.5 * np.log(weights.sum()))


def test_joined_boxes_overlap_no_more_than_they_may_and_fall_in_score(rng):
    corner = rng.uniform(0, 60, (200, 2))
    boxes, scores = np.hstack([corner, corner + 30]), rng.normal(0, 1, 200)
    joined, score = join(boxes, scores, overlap=0.6, softness=0.5)
    shared = intersection_over_smaller(joined, joined) - np.eye(len(joined))
    assert shared.max() <= 0.6
    assert (np.diff(score) <= 0).all()


def test_scaled_boxes_and_those_of_one_aspect_keep_their_middles(rng):
    corner, size = rng.uniform(0, 60, (9, 2)), rng.uniform(1, 40, (9, 2))
    boxes = np.hstack([corner, corner + size])
    twice, narrow = scaled(boxes, 2), with_aspect(boxes, 0.41)
    for changed, width, height in [
        (twice, 2 * size[:, 0], 2 * size[:, 1]),
        (narrow, 0.41 * size[:, 1], size[:, 1]),
    ]:
        np.testing.assert_allclose(changed[:, :2] + changed[:, 2:], boxes[:, :2] + boxes[:, 2:])
        np.testing.assert_allclose(changed[:, 2] - changed[:, 0], width)
        np.testing.assert_allclose(changed[:, 3] - changed[:, 1], height)
    assert with_aspect(np.empty((0, 4)), 0.41).shape == (0, 4)


def test_corner_cases_of_boxes():
    box = np.array([[3.0, 4, 3, 9]])  # without area, fused with itself alone
    fused, scores = fuse(box, np.array([1000.0]), np.array([0]), softness=0.01)
    assert (fused.tolist(), scores.tolist()) == (box.tolist(), [1000.0])
    assert join(np.empty((0, 4)), np.empty(0), softness=1)[0].shape == (0, 4)
    assert suppress(np.empty((0, 4)), np.empty(0)).tolist() == []
    inside, scores = np.array([[0, 0, 100, 100], [10, 10, 30, 30]]), np.array([2, 1])
    assert suppress(inside, scores, 0.5).tolist() == [0]
    assert intersection_over_union(np.empty((0, 4)), np.ones((3, 4))).shape == (0, 3)


def test_scales_end_where_the_window_no_longer_fits():
    scales = pyramid_scales((640, 480), (64, 128), factor=1.2)
    sizes = [(round(640 * s), round(480 * s)) for s in scales]
    assert sizes[0] == (640, 480)
    assert sizes[-1][1] >= 128 > round(480 * scales[-1] / 1.2)
    np.testing.assert_allclose(np.array(scales[:-1]) / scales[1:], 1.2)
    assert pyramid_scales((64, 100), (64, 128), 1.2) == []
    assert len(pyramid_scales((64, 100), (64, 128), 1.2, padding=14)) == 1
    assert pyramid_scales((1, 1), (64, 128), 1.1, largest=2.0, padding=16) == []
    with pytest.raises(ValueError, match="must be above 1"):  # it would never end
        pyramid_scales((640, 480), (64, 128), factor=1.0)


@pytest.mark.parametrize("scale", [1.7, 1.0, 0.6, 0.5, 0.21])
def test_a_ramp_stays_a_ramp_at_its_place(scale):
    ramp = np.repeat(np.linspace(0, 250, 400)[None], 300, axis=0).astype(np.uint8)
    level = ScalePyramid(ramp).level(scale)
    assert level.shape == (round(300 * scale), round(400 * scale))
    centers = (np.arange(level.shape[1]) + 0.5) / level.shape[1] * 400 - 0.5
    expected = centers * 250 / 399
    assert np.abs(level[level.shape[0] // 2] - expected)[2:-2].max() < 1.5


def test_fine_patterns_are_averaged_not_sampled(rng):
    noise = rng.integers(0, 256, (400, 400), dtype=np.uint8)
    assert ScalePyramid(noise).level(0.125).std() < noise.std() / 6
