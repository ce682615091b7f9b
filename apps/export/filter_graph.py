"""Graphs of `visualwords.features.DenseFilters`: responses to cosines, cells, descriptors."""

import math

import numpy as np

from visualwords.apps.export.graph import DOUBLE, INT64, Value
from visualwords.apps.export.grid_graph import Grid, cut_patches, extended, grid_of, sums_on_lattice
from visualwords.apps.export.image_graph import color_planes, height_width, shrink_to_area
from visualwords.features import DenseFilters

CELL, TAPS, UNIT = 4, 5, 64.0  # pixels of a cell and of a filter; one-dimensional cosines are × 64
SIDE = 4 * CELL  # of a patch
FAINT = 5.0 * UNIT * 256  # 5 grey levels, in the sums under triangles of 16 × 16
TRIANGLE = np.array([1, 2, 3, 4, 3, 2, 1])


def filter_patches(extractor: DenseFilters, planes: Value) -> list[Grid]:
    """The descriptors of patches of every size."""
    planes = color_planes(planes, extractor.color)
    sizes = [int(b) for b in np.atleast_1d(extractor.bin_size)]
    return [_of_size(extractor, planes, b) for b in sizes]


def _of_size(extractor: DenseFilters, planes: Value, b: int) -> Grid:
    """The patches with cells of b pixels, in an image in which they have 4."""
    if b != CELL:
        sides = [
            (side.cast(DOUBLE) * CELL / b).round().cast(INT64).at_least(1)
            for side in height_width(planes)
        ]
        planes = shrink_to_area(planes, *sides)
    step = max(1, round(extractor.step * CELL / b))
    maps = _responses(extractor, extended(planes, SIDE))
    n_maps = (
        (3 if extractor.color != "grey" else 1) * (1 + extractor.signs) * len(_pairs(extractor))
    )
    cells = sums_on_lattice(maps, TRIANGLE, (1, 2), math.gcd(CELL, step))
    patches, n = cut_patches(cells, planes, n_maps, CELL, step)
    patches = planes.graph.op("Squeeze", patches, [1])
    length = patches.graph.op("ReduceL2", patches, [1])
    descriptors = patches.sqrt() * (255.0 / (length + FAINT).sqrt())
    return grid_of((descriptors + 0.5).floor(), planes, n, step, SIDE / 2 + 0.5)


def _responses(extractor: DenseFilters, planes: Value) -> Value:
    """What is above 0 of all filters, then what is below, or magnitudes: (maps, 1, h, w)."""
    g = planes.graph
    x, u = np.arange(TAPS) + 0.5, np.arange(TAPS)[:, None]
    lengths = np.where(u == 0, 1, math.sqrt(2)) / math.sqrt(TAPS)
    cosines = np.rint(UNIT * lengths * np.cos(math.pi * u * x / TAPS))
    filters = np.stack([np.outer(cosines[v], cosines[u]) for u, v in _pairs(extractor)])
    padded = g.op("Pad", planes, [0, 0, 2, 2, 0, 0, 2, 2], mode="reflect")
    found = ((g.conv(padded, filters[:, None]) + UNIT / 2) / UNIT).floor()
    if extractor.signs:
        found = g.concat([found.at_least(0.0), g.op("Neg", found).at_least(0.0)], 1)
    else:
        found = g.op("Abs", found)
    return found.reshape(-1, 1, found.size(2), found.size(3))


def _pairs(extractor: DenseFilters) -> list[tuple[int, int]]:
    """The frequencies of the filters along x and y."""
    sums = range(1, extractor.order + 1)
    return [(u, total - u) for total in sums for u in range(total + 1)]
