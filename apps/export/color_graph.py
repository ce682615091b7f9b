"""Graphs of `visualwords.features.ColorHistogram` and `ColorStatistics`."""

import math

from visualwords.apps.export.graph import INT64, Value
from visualwords.apps.export.image_graph import in_space
from visualwords.apps.export.patch_graph import Grid, grid_of
from visualwords.apps.export.window_graph import count_in_patches, count_in_windows
from visualwords.features import ColorHistogram
from visualwords.features.local_features import as_windows


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


def _codes(extractor: ColorHistogram, rgb: Value) -> tuple[Value, int]:
    """The joint bin of every pixel, (h, w) int64, and the number of bins."""
    g, bins = rgb.graph, extractor.bins
    bins = [bins] * 3 if isinstance(bins, int) else list(bins)
    planes, code = in_space(rgb, extractor.space), None
    for k, n in enumerate(bins):
        level = (planes.slice(0, k, k + 1) * (n / 256)).floor()
        code = level if code is None else code * float(n) + level
    return g.op("Squeeze", code, [0, 1]).cast(INT64), math.prod(bins)
