"""Graphs of `visualwords.features.ColorHistogram` and `ColorStatistics`."""

import math

import numpy as np

from visualwords.apps.export.graph import DOUBLE, FLOAT, INT64, Value
from visualwords.apps.export.grid_graph import (
    CELLS,
    Grid,
    count_in_patches,
    count_in_windows,
    cut_patches,
    extended,
    grid_of,
    sums_on_lattice,
)
from visualwords.apps.export.image_graph import in_space
from visualwords.features import ColorHistogram, ColorStatistics
from visualwords.features.local_features import as_windows

MIDDLE = 128.0  # levels are less this, so that sums of their squares are small


def color_counts(extractor: ColorHistogram, rgb: Value) -> Value:
    """The vector of an image, (bins × windows,) float32."""
    codes, n_codes = _codes(extractor, rgb)
    return count_in_windows(codes, as_windows(extractor.windows), n_codes).reshape(-1)


def color_patches(extractor: ColorHistogram, rgb: Value) -> list[Grid]:
    """The histograms of patches of a grid."""
    codes, n_codes = _codes(extractor, rgb)
    size, step = extractor.patch_size, extractor.step
    counts, ny, nx = count_in_patches(codes, size, step, n_codes)
    return [grid_of(counts, rgb, (ny, nx), step, size / 2)]


def statistics_patches(extractor: ColorStatistics, rgb: Value) -> list[Grid]:
    """Means and standard deviations in the cells of patches of every size."""
    planes = in_space(rgb, extractor.space) - MIDDLE
    both = rgb.graph.concat([planes, planes * planes], 0)
    sizes = [int(b) for b in np.atleast_1d(extractor.bin_size)]
    both = extended(both, CELLS * max(sizes))
    return [_statistics(both, rgb, b, int(extractor.step)) for b in sizes]


def _statistics(both: Value, rgb: Value, b: int, step: int) -> Grid:
    """The patches with cells of b pixels; sums are exact up to 32 pixels."""
    area = float(b * b)
    sums = sums_on_lattice(both, np.ones(b), (0, 0), math.gcd(b, step))
    totals, squares = sums.slice(0, 0, 3), sums.slice(0, 3)
    means = (totals / area + (MIDDLE + 0.5)).floor()
    exact = totals.cast(DOUBLE)
    spread = (squares.cast(DOUBLE) * area - exact * exact).sqrt() * 2.0 / area
    cells = rgb.graph.concat([means, (spread + 0.5).floor().cast(FLOAT)], 0)
    patches, n = cut_patches(cells, rgb, 6, b, step)
    return grid_of(rgb.graph.op("Squeeze", patches, [1]), rgb, n, step, CELLS * b / 2)


def _codes(extractor: ColorHistogram, rgb: Value) -> tuple[Value, int]:
    """The joint bin of every pixel, (h, w) int64, and the number of bins."""
    g, given = rgb.graph, extractor.bins
    bins = [given] * 3 if isinstance(given, int) else list(given)
    planes, code = in_space(rgb, extractor.space), None
    for k, n in enumerate(bins):
        level = (planes.slice(0, k, k + 1) * (n / 256)).floor()
        code = level if code is None else code * float(n) + level
    return g.op("Squeeze", code, [0, 1]).cast(INT64), math.prod(bins)
