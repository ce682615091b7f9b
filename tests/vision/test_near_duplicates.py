"""Copies that were scaled, recompressed or brightened are found; other pictures are not."""

import cv2
import numpy as np
import pytest
from skimage import data

from visualwords.apps.classify_images.demo_images import texture_tiles
from visualwords.near_duplicates import find_near_duplicates, portrait


def recompressed(image):
    return cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 40])[1], 1)


@pytest.mark.parametrize(
    "change",
    [
        recompressed,
        lambda image: cv2.resize(image, None, fx=0.37, fy=0.37, interpolation=cv2.INTER_AREA),
        lambda image: cv2.resize(image, None, fx=1.3, fy=1.3, interpolation=cv2.INTER_CUBIC),
        lambda image: np.clip(image.astype(int) + 5, 0, 255).astype(np.uint8),
        lambda image: image[2:-2, 3:-1],
    ],
)
def test_a_changed_copy_is_found_among_others(change):
    images = [data.astronaut(), data.coffee(), data.cat(), data.rocket()]
    portraits = [portrait(image) for image in [*images, change(images[1])]]
    assert find_near_duplicates(portraits) == [[1, 4]]


def test_tiles_of_the_same_texture_are_different_pictures():
    tiles, _ = texture_tiles("train")
    portraits = [portrait(np.ascontiguousarray(tile)) for tile in tiles]
    assert sum(len(group) for group in find_near_duplicates(portraits)) <= 2


def test_uniform_images_and_other_colours_do_not_count():
    flat = np.full((40, 40, 3), 90, np.uint8)
    picture = data.astronaut()
    assert find_near_duplicates([portrait(flat), portrait(flat)]) == []
    assert find_near_duplicates([portrait(picture), portrait(255 - picture)]) == []
    assert find_near_duplicates([portrait(picture), portrait(picture // 2)]) == []
    assert find_near_duplicates([]) == []


def test_blocks_find_what_one_comparison_of_all_finds(monkeypatch, rng):
    images = rng.integers(0, 256, (30, 32, 32, 3), dtype=np.uint8)
    portraits = [portrait(image) for image in [*images, *images[:10], images[3]]]
    whole = find_near_duplicates(portraits)
    assert [0, 30] in whole
    assert [3, 33, 40] in whole
    monkeypatch.setattr("visualwords.near_duplicates.BLOCK", 7)
    assert find_near_duplicates(portraits) == whole


def test_images_of_one_pixel_have_a_portrait():
    assert portrait(np.zeros((1, 1, 3), np.uint8)).size_wh == (1, 1)
    assert portrait(np.zeros((1, 5000, 3), np.uint8)).size_wh == (5000, 1)
