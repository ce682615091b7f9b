"""Graphs of extractors give the numbers of the extractors, whatever the size of the image."""

import cv2
import numpy as np
import pytest

from tests.apps.export.graphs import images, runner
from visualwords.apps.export import image_graph
from visualwords.apps.export.model_graph import PATCHES, VECTORS
from visualwords.apps.pipeline.view import View
from visualwords.decoding import shrink
from visualwords.features.pixels import as_grey, color_planes, resize_image, sobel_image
from visualwords.features.registry import find_extractor

# What a graph makes of planes, what it must be, and how many levels a pixel may differ by.
PIXELS = {
    "grey": (image_graph.as_grey, as_grey, 0),
    "smaller": (lambda p: image_graph.resize_view(p, 40, None), lambda i: shrink(i, 40), 1),
    "half": (lambda p: image_graph.resize_view(p, 32, None), lambda i: shrink(i, 32), 1),
    "larger": (lambda p: image_graph.resize_view(p, None, 96), View(None, 96).of, 1),
    "stretched": (
        lambda p: image_graph.resize_image(p, 150, 210),
        lambda i: resize_image(i, 150, 210),
        0,
    ),
    "fixed": (lambda p: image_graph.resize_image(p, 50, 64), lambda i: resize_image(i, 50, 64), 1),
    "hsv": (
        lambda p: image_graph.in_space(p, "hsv"),
        lambda i: cv2.cvtColor(i, cv2.COLOR_RGB2HSV_FULL),
        0,
    ),
    "lab": (
        lambda p: image_graph.in_space(p, "lab"),
        lambda i: cv2.cvtColor(i, cv2.COLOR_RGB2Lab),
        0,
    ),
    "opponent": (
        lambda p: image_graph.color_planes(p, "opponent"),
        lambda i: np.dstack(color_planes(i, "opponent")),
        0,
    ),
    "c": (
        lambda p: image_graph.color_planes(p, "c"),
        lambda i: np.dstack(color_planes(i, "c")),
        0,
    ),
    "sobel": (
        lambda p: image_graph.sobel_image(image_graph.as_grey(p)),
        lambda i: sobel_image(as_grey(i)),
        0,
    ),
}


@pytest.mark.parametrize("name", PIXELS)
def test_pixels_are_those_of_opencv(name):
    compute, expected, tolerance = PIXELS[name]
    run = runner(lambda planes: [compute(planes)], [4])
    for image in images():
        wanted = np.atleast_3d(expected(image)).transpose(2, 0, 1)[:, None].astype(int)
        found = run(image)[0]
        assert found.shape == wanted.shape
        assert np.abs(found - wanted).max() <= tolerance


EXTRACTORS = [
    ("ColorHistogram", {"bins": 4}, 0),
    ("ColorHistogram", {"bins": (6, 5, 1), "space": "hsv", "windows": 3}, 0),
    ("ColorHistogram", {"bins": 3, "space": "lab", "layout": "dense", "patch_size": 20}, 0),
    ("Centrist", {}, 0),
    ("Centrist", {"layout": "pyramid", "sobel": True}, 0),
    ("Centrist", {"layout": "dense", "patch_size": 24}, 0),
    ("Centrist", {"layout": "dense", "patch_size": 7, "step": 9}, 0),
    ("ColorStatistics", {"bin_size": [4, 6], "step": 5}, 0),
    ("ColorStatistics", {"bin_size": 12, "space": "rgb"}, 0),
    ("DenseFilters", {"bin_size": 4}, 1),
    ("DenseFilters", {"bin_size": [6, 12], "step": 6, "order": 4, "signs": False}, 6),
    ("DenseFilters", {"bin_size": 4, "color": "opponent", "order": 1}, 1),
    ("HOG", {"resize_wh": (64, 64)}, 2e-3),
    ("HOG", {"resize_wh": (90, 135), "cell_size": 5, "n_orientations": 12, "color": "grey"}, 2e-3),
    ("DenseSIFT", {"bin_size": [4, 6], "step": 8}, 1),
    ("DenseSIFT", {"bin_size": 5, "step": 3, "contrast_threshold": 9.0, "sobel": True}, 1),
    ("DenseSIFT", {"bin_size": 3, "root": True, "color": "opponent"}, 1),
]


@pytest.mark.parametrize(("name", "params", "tolerance"), EXTRACTORS)
def test_numbers_are_those_of_the_extractor(name, params, tolerance):
    extractor = find_extractor(name)(**params)

    def compute(planes):
        if not extractor.is_local:
            return [VECTORS[name](extractor, planes)]
        join = planes.graph.concat
        grids = PATCHES[name](extractor, planes)
        return [join([grid[k] for grid in grids], 0) for k in range(3)]

    ranks = [2, 1, 1] if extractor.is_local else [1]
    run = runner(compute, ranks, extractor.color_mode == "grey")
    for image in images():
        found = run(image)
        if not extractor.is_local:
            wanted = extractor.describe(image)
            assert np.abs(found[0] - wanted).max() <= tolerance
            continue
        wanted = extractor.extract(image)
        assert found[0].shape == wanted.descriptors.shape
        assert np.abs(found[0] - wanted.descriptors).max(initial=0) <= tolerance
        assert set(wanted.positions[:, 0]) <= set(found[1])
        assert set(wanted.positions[:, 1]) <= set(found[2])
