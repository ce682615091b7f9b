"""Graphs of `visualwords.features.HOG`, counted: gradients, cells, normalised blocks."""

import math

import numpy as np

from visualwords.apps.export.graph import BOOL, FLOAT, INT64, Value
from visualwords.apps.export.grid_graph import Grid, extended, grid_of
from visualwords.apps.export.image_graph import resize_image
from visualwords.features import HOG


def hog_vector(extractor: HOG, planes: Value) -> Value:
    """All blocks of an image in one vector."""
    return _blocks(extractor, planes)[0].reshape(-1)


def hog_patches(extractor: HOG, planes: Value) -> list[Grid]:
    """The blocks as patches."""
    blocks, resized = _blocks(extractor, planes)
    n = blocks.size(0), blocks.size(1)
    flat = blocks.reshape(n[0] * n[1], extractor.block_size**2 * extractor.n_orientations)
    side = extractor.cell_size * extractor.block_size
    return [grid_of(flat, resized, n, extractor.cell_size, side / 2)]


def _blocks(extractor: HOG, planes: Value) -> tuple[Value, Value]:
    """Normalised blocks (rows, columns, numbers), and the image that they are of."""
    if extractor.resize_wh is not None:
        planes = resize_image(planes, *extractor.resize_wh)
    g, size = planes.graph, extractor.block_size
    cells = _cells(extractor, planes)
    rows, columns = ((cells.size(axis) - (size - 1)).at_least(0) for axis in (0, 1))
    parts = [
        cells.slice(0, i, rows + i).slice(1, j, columns + j)
        for i in range(size)
        for j in range(size)
    ]
    blocks = g.concat(parts, 2) * float(extractor.cell_size**-2)
    blocks = blocks / (g.op("ReduceSumSquare", blocks, [2]) + 1e-10).sqrt()
    blocks = blocks.at_most(0.2)
    return blocks / (g.op("ReduceSumSquare", blocks, [2]) + 1e-10).sqrt(), planes


def _cells(extractor: HOG, planes: Value) -> Value:
    """Sums of the lengths of gradients in cells, (rows, columns, n_orientations)."""
    g, side, n = planes.graph, extractor.cell_size, extractor.n_orientations
    rows, columns = (planes.size(axis) / side for axis in (2, 3))
    planes = extended(planes, max(3, side * extractor.block_size))  # smaller ones have no blocks
    dx = planes.slice(3, 2) - planes.slice(3, 0, -2)
    dy = planes.slice(2, 2) - planes.slice(2, 0, -2)
    dx = g.op("Pad", dx, [0, 0, 0, 1, 0, 0, 0, 1])
    dy = g.op("Pad", dy, [0, 0, 1, 0, 0, 0, 1, 0])
    length = (dx * dx + dy * dy).sqrt()
    strongest = g.op("ArgMax", length, kind=INT64, axis=0)
    dx, dy, length = (g.op("GatherElements", v, strongest, axis=0) for v in (dx, dy, length))
    is_lower = g.op("Less", dy * 4096.0 + dx, 0.0, kind=BOOL)  # dy decides, and dx where it is 0
    sign = g.where(is_lower, -1.0, 1.0)
    angles = np.arange(1, n) * (math.pi / n)  # rounded: gradients may lie on a border
    cosines, sines = (
        function(angles).round(15).astype(np.float32).reshape(1, -1, 1, 1)
        for function in (np.cos, np.sin)
    )
    reached = (dy * sign) * cosines >= (dx * sign) * sines
    angle = reached.cast(FLOAT).sum(1, keep=True)
    numbers = np.arange(n, dtype=np.float32).reshape(1, -1, 1, 1)
    votes = g.where(g.op("Equal", angle, numbers, kind=BOOL), length, 0.0)
    votes = votes.slice(2, 0, rows * side).slice(3, 0, columns * side)
    sums = votes.reshape(n, rows, side, columns, side).sum(2, 4)
    return sums.transpose(1, 2, 0)
