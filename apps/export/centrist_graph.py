"""Graphs of `visualwords.features.Centrist`: the census transform and its histograms."""

import numpy as np

from visualwords.apps.export.graph import FLOAT, INT64, UINT8, Value
from visualwords.apps.export.grid_graph import Grid, count_in_patches, count_in_windows, grid_of
from visualwords.apps.export.image_graph import resize_image, sobel_image
from visualwords.features import Centrist
from visualwords.features.local_features import as_windows, pyramid_windows

N_CODES = 256
_NEIGHBOURS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]
_WINDOW, _BLOCKS = (108, 36), (9, 4)  # rows and columns: pixels of a pedestrian, and blocks


def census_counts(extractor: Centrist, grey: Value) -> Value:
    """The vector of an image, (256 × windows,) float32."""
    if extractor.layout == "pedestrian":
        grey, boxes = resize_image(grey, *_WINDOW[::-1]), _super_blocks()
    else:
        pyramid = extractor.layout == "pyramid"
        boxes = np.vstack(pyramid_windows(31)) if pyramid else as_windows(None)
    codes = _census(extractor, grey)
    return count_in_windows(codes, boxes, N_CODES, border=2).reshape(-1)


def census_patches(extractor: Centrist, grey: Value) -> list[Grid]:
    """The histograms of patches of a grid."""
    size, step = extractor.patch_size, extractor.step
    counts, ny, nx = count_in_patches(_census(extractor, grey), size - 2, step, N_CODES)
    return [grid_of(counts, grey, (ny, nx), step, size / 2)]


def _census(extractor: Centrist, grey: Value) -> Value:
    """The codes of the inner pixels, (h − 2, w − 2) int64."""
    g = grey.graph
    if extractor.sobel:
        grey = sobel_image(grey)
    levels = g.op("Squeeze", grey, [0, 1]).cast(UINT8)
    # One pixel more on each side where the image has no inner pixels: there are no codes then.
    middle = levels.slice(0, 1, -1).slice(1, 1, -1)
    bits = []
    for k, (dy, dx) in enumerate(_NEIGHBOURS):
        neighbour = levels.slice(0, 1 + dy, _end(dy)).slice(1, 1 + dx, _end(dx))
        bits.append(g.where(middle >= neighbour, float(128 >> k), 0.0))
    return g.op("Sum", *bits, kind=FLOAT).cast(INT64)


def _end(shift: int) -> int:
    return np.iinfo(np.int64).max if shift == 1 else shift - 1


def _super_blocks() -> np.ndarray:
    """Boxes of 2 × 2 blocks in the unit square of a pedestrian's window, row after row."""
    corners = np.array(list(np.ndindex(_BLOCKS[0] - 1, _BLOCKS[1] - 1)))[:, ::-1]
    return np.hstack([corners, corners + 2]) / np.array(_BLOCKS[::-1] * 2)
