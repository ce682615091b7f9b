"""Figures of detectors, against hand-made cases and scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve

from visualwords.apps.detection.detector_figures import (
    DetectionFigures,
    compare_detections,
    drop_ignored,
    match,
)


def square(x, y=0, side=10):
    return [x, y, x + side, y + side]


@pytest.mark.parametrize(
    ("found", "scores", "marked", "right"),
    [
        ([0, 1, 100], [0.5, 0.9, 0.7], [0], [False, True, False]),  # the best of two is right
        ([0, 0], [2, 1], [0, 2], [True, True]),  # another object, if the own one is taken
        ([3], [1], [0], [True]),  # shares 7 of 13
        ([4], [1], [0], [False]),  # and 6 of 14
    ],
)
def test_each_object_is_found_once_by_half_of_the_union(found, scores, marked, right):
    boxes, truth = (np.array([square(x) for x in xs]) for xs in (found, marked))
    assert match(boxes, np.array(scores), truth).tolist() == right


def test_detections_of_ignored_objects_count_neither_way():
    boxes = np.array([square(0), square(20), square(21), square(50)])
    scores, ignored = np.array([4.0, 3, 2, 1]), np.array([[0, 0, 40, 40.0]])
    kept, left = drop_ignored(boxes, scores, boxes[:1], ignored)
    assert left.tolist() == [4, 1]
    assert kept.tolist() == boxes[[0, 3]].tolist()
    assert drop_ignored(boxes, scores, boxes[:1], ignored[:0])[0] is boxes


def test_curves_are_those_of_scikit_learn_where_every_object_is_found(rng):
    right = rng.random(50) < 0.4
    scores = np.sort(rng.random(50))[::-1]
    figures = DetectionFigures(scores, right, int(right.sum()), 7)
    precision, recall, _ = precision_recall_curve(right, scores)
    np.testing.assert_allclose(figures.precision, precision[-2::-1])
    np.testing.assert_allclose(figures.recall, recall[-2::-1])


def test_summaries_are_those_of_their_definitions():
    figures = DetectionFigures(np.arange(4)[::-1], np.array([True, False, True, True]), 4, 1)
    # precision 1, 1/2, 2/3, 3/4; the envelope is 1 up to recall 1/4, then 3/4 up to recall 3/4
    assert figures.average_precision == pytest.approx(0.25 * 1 + 0.5 * 0.75)
    # 100 images: one false detection first (1e-2 a picture), then half of the objects
    figures = DetectionFigures(np.arange(6)[::-1], np.array([False, *[True] * 5]), 10, 100)
    assert (figures.miss_rate_at(0.009), figures.miss_rate_at(0.01)) == (1.0, 0.5)
    assert figures.log_average_miss_rate == pytest.approx(0.5)


def test_a_detector_that_finds_nothing_misses_everything():
    empty = np.empty((0, 4)), np.empty(0)
    figures = compare_detections([empty, empty], [np.array([square(0)]), np.empty((0, 4))])
    assert figures.log_average_miss_rate == pytest.approx(1.0)
    assert figures.average_precision == 0.0
    assert figures.at_threshold(0.5) == {"precision": 1.0, "recall": 0.0, "false_per_image": 0.0}


def test_images_are_counted_together():
    one = np.array([square(0)]), np.array([0.9])
    two = np.array([square(0), square(50)]), np.array([0.8, 0.95])
    figures = compare_detections([one, two], [np.array([square(0)]), np.array([square(0)])])
    assert figures.scores.tolist() == [0.95, 0.9, 0.8]
    assert figures.right.tolist() == [False, True, True]
    assert figures.false_per_image.tolist() == [0.5, 0.5, 0.5]
    assert figures.to_json()["objects"] == 2


def test_marks_are_needed():
    with pytest.raises(ValueError, match="no object is marked"):
        compare_detections([(np.empty((0, 4)), np.empty(0))], [np.empty((0, 4))])
    with pytest.raises(ValueError, match="detections of 1 images, marks of 2"):
        compare_detections([(np.empty((0, 4)), np.empty(0))], [np.ones((1, 4)), np.ones((1, 4))])
