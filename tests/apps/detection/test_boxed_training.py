"""Training from photographs with boxes: what is cut out, and how it does on held-out ones."""

from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from tests.apps.detection.figures import SHARE, WINDOW, scene
from visualwords import PedestrianDetector
from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.detection.boxed_training import (
    Region,
    empty_parts,
    fitting_parameters,
    training_regions,
)
from visualwords.apps.detection.detector_figures import match
from visualwords.errors import FolderError


def photograph(tmp_path, number, **parameters):
    """A scene with two figures, as a file with boxes."""
    rng = np.random.default_rng(number)
    x, tall = int(rng.integers(10, 60)), int(rng.integers(75, 100))
    boxes = [[x, 20, x + tall // 3, 20 + tall], [170, 60, 170 + tall // 3, 60 + tall]]
    path = str(tmp_path / f"{number:02}.png")
    Image.fromarray(scene(rng, boxes)).save(path)
    return BoxedImage(path, np.array(boxes), ("figure",) * 2, (260, 200), **parameters)


def test_a_region_reaches_beyond_the_image_by_repeating_its_border(tmp_path):
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    part = Region(str(tmp_path / "a.png"), (-1, 2, 3, 6))()
    assert part.shape == (4, 4, 3)
    np.testing.assert_array_equal(part[:2, 1:], pixels[2:, :3])
    np.testing.assert_array_equal(part[0, 0], pixels[2, 0])
    np.testing.assert_array_equal(part[3, 1:], pixels[3, :3])
    assert Region(str(tmp_path / "a.png"), (0, 0, 4, 4), (8, 2))().shape == (2, 8, 3)


def test_objects_are_cut_out_in_the_middle_at_their_share_of_the_window(tmp_path):
    detector = PedestrianDetector(window=WINDOW, object_share=SHARE)
    image = photograph(tmp_path, 1)
    regions = training_regions([image], detector, "figure")
    for region, box in zip(regions.crops, image.boxes_xyxy, strict=True):
        assert region().shape == (WINDOW[1] + 16, WINDOW[0] + 16, 3)
        x0, y0, x1, y1 = region.box_xyxy
        np.testing.assert_allclose([(x0 + x1) / 2, (y0 + y1) / 2], (box[:2] + box[2:]) / 2)
        scale = (WINDOW[1] + 16) / (y1 - y0)
        np.testing.assert_allclose((box[3] - box[1]) * scale, SHARE[1] * WINDOW[1])
    boxes = np.array([[0, 0, 20, 20], [0, 0, 40, 90], [60, 0, 100, 90], [120, 0, 160, 90]])
    labels, ignored = ("figure", "figure", "figure", "dog"), np.array([0, 0, 1, 0], bool)
    image = BoxedImage("a.png", boxes, labels, (200, 100), ignored=ignored)
    regions = training_regions([image], detector, "figure")
    assert len(regions.crops) == 1  # neither the small nor the ignored one, nor the dog
    assert regions.skipped == [("a.png", "an object 20 pixels high; at least 36 are needed")]
    (background,) = regions.backgrounds  # right of the ignored figure, the dog included
    assert background.box_xyxy == (100, 0, 200, 100)
    assert [len(found) for found in image.boxes_of("figure")] == [2, 1]


def largest_empty_area(free, xs, ys, least_wh):
    """The largest rectangle between edges of boxes, all of them tried."""
    areas = [0]
    for x0, x1 in combinations(sorted(xs), 2):
        for y0, y1 in combinations(sorted(ys), 2):
            if x1 - x0 >= least_wh[0] and y1 - y0 >= least_wh[1] and free[y0:y1, x0:x1].all():
                areas.append((x1 - x0) * (y1 - y0))
    return max(areas)


def test_empty_parts_meet_no_box_and_begin_with_the_largest(rng):
    for _ in range(20):
        corners = rng.integers(0, 80, (rng.integers(0, 6), 2))
        boxes = np.hstack([corners, corners + rng.integers(1, 40, corners.shape)])
        free = np.ones((90, 100), bool)
        for x0, y0, x1, y1 in boxes:
            free[y0:y1, x0:x1] = False
        parts = empty_parts((100, 90), boxes.astype(float), (10, 12)).astype(int)
        assert all(free[y0:y1, x0:x1].all() for x0, y0, x1, y1 in parts)
        assert all(x1 - x0 >= 10 and y1 - y0 >= 12 for x0, y0, x1, y1 in parts)
        xs = {0, 100, *boxes[:, [0, 2]].clip(0, 100).ravel().tolist()}
        ys = {0, 90, *boxes[:, [1, 3]].clip(0, 90).ravel().tolist()}
        areas = [(x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in parts.tolist()]
        assert max(areas, default=0) == largest_empty_area(free, xs, ys, (10, 12))
        assert areas == sorted(areas, reverse=True)
    assert empty_parts((100, 90), np.array([[0, 0, 100, 90.0]]), (5, 5)).shape == (0, 4)


@pytest.mark.parametrize(("width", "height"), [(40, 100), (100, 100), (300, 60), (20, 400)])
def test_windows_fit_the_shape_of_the_objects(width, height):
    image = BoxedImage("a.png", np.array([[0, 0, width, height]]), ("cup",))
    fitting = fitting_parameters([image], "cup")
    detector = PedestrianDetector(**fitting)
    detector.check_parameters()
    object_wh = np.array(detector.window) * detector.object_share
    assert object_wh[0] / object_wh[1] == pytest.approx(width / height, rel=0.01)
    assert max(detector.object_share) <= 0.95
    with pytest.raises(FolderError, match="no box is labelled 'mug'"):
        fitting_parameters([image], "mug")


def test_a_detector_learns_from_photographs_and_finds_their_objects(tmp_path):
    photographs = [photograph(tmp_path, number) for number in range(9)]
    settings = fitting_parameters(photographs, "figure") | {"n_rounds": 1, "n_trees": 64}
    detector = PedestrianDetector(**settings, label="figure")
    regions = training_regions(photographs[:8], detector, "figure")
    learned = detector.fit(regions.crops, regions.backgrounds)
    held_out = learned.training_["held_out"]
    assert held_out["crops"] == 16
    assert held_out["found"] >= 14
    boxes, scores = learned.detect(photographs[8].name)
    assert match(boxes, scores, photographs[8].boxes_xyxy).sum() == 2
