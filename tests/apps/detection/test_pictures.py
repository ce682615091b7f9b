"""Pictures of a search: that they show what happened."""

import numpy as np

from visualwords.apps.detection.drawn_boxes import (
    draw_detections,
    draw_evidence,
    draw_score_maps,
    draw_survivors,
)


def test_boxes_are_drawn_where_they_are(street):
    image, boxes = street
    picture = draw_detections(image, boxes, np.array([0.9, 0.3]))
    changed = (picture != image).any(axis=2)
    assert changed[100, 40]
    assert changed[100, 150]
    assert not changed[195:].any()


def test_maps_and_survivors_have_a_panel_for_each_scale_and_stage(detector, street):
    image, _ = street
    trace = []
    detector.detect(image, trace=trace)
    maps = draw_score_maps(image, trace, detector.search, most=4)
    assert maps.shape == (2 * 222 + 8, 2 * 260 + 8, 3)
    survivors = draw_survivors(image, trace, detector.search)
    assert survivors.shape == (2 * 222 + 8, 2 * 260 + 8, 3)  # three stages
    assert draw_evidence(detector.explain(image, [40, 60, 64, 132])).shape[2] == 3


def test_an_image_without_windows_has_pictures_too(detector):
    tiny = np.zeros((9, 9), np.uint8)
    trace = []
    detector.detect(tiny, trace=trace)
    assert draw_score_maps(tiny, trace, detector.search).shape == (9, 9, 3)
    assert draw_survivors(tiny, trace, detector.search).shape == (9, 9, 3)
