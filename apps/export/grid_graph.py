"""Graphs of places in an image: patches on grids, sums on lattices, counts in windows."""

import math
from typing import NamedTuple

import numpy as np

from visualwords.apps.export.graph import BOOL, DOUBLE, FLOAT, INT64, Value

CELLS = 4  # of a patch, in each direction


class Grid(NamedTuple):
    """The patches of one size.

    Attributes
    ----------
    descriptors : (ny × nx, d) float32, row by row
    x, y : (nx,) and (ny,) float32
        Their centres in the unit square of the image.
    """

    descriptors: Value
    x: Value
    y: Value


def grid_of(
    descriptors: Value, planes: Value, n: tuple[Value, Value], step: int, middle: float
) -> Grid:
    """Patches whose centres are at ``middle``, ``middle + step``, … pixels of planes."""
    y, x = (
        ((planes.graph.range(many).cast(DOUBLE) * step + middle) / size.cast(DOUBLE)).cast(FLOAT)
        for many, size in zip(n, (planes.size(2), planes.size(3)))
    )
    return Grid(descriptors, x, y)


def patch_counts(
    planes: Value, side: int, step: int, axes: tuple[int, int] = (2, 3)
) -> tuple[Value, Value]:
    """How many rows and columns of patches of a side fit, the first in the top left corner."""
    height, width = (planes.size(axis) for axis in axes)
    ny, nx = (planes.graph.where(s >= side, (s - side) / step + 1, 0) for s in (height, width))
    return ny, nx


def extended(planes: Value, least: int, before: int = 0) -> Value:
    """Planes with zeros on all sides: ``before`` of them, and more at the ends up to a side."""
    g = planes.graph
    after = [(least - before - planes.size(axis)).at_least(before) for axis in (2, 3)]
    return g.op("Pad", planes, g.shape(0, 0, before, before, 0, 0, *after))


def sums_on_lattice(planes: Value, kernel: np.ndarray, pads: tuple[int, int], apart: int) -> Value:
    """Sums under a kernel in both directions, at points ``apart`` pixels apart.

    The first point's kernel begins ``pads[0]`` pixels before the image (n, 1, h, w), the last
    one's ends at most ``pads[1]`` pixels behind it; there are zeros.
    """
    before, after = pads
    row, column = kernel.reshape(1, 1, 1, -1), kernel.reshape(1, 1, -1, 1)
    sums = planes.graph.conv(planes, row, strides=[1, apart], pads=[0, before, 0, after])
    return planes.graph.conv(sums, column, strides=[apart, 1], pads=[before, 0, after, 0])


def cut_patches(
    lattice: Value, planes: Value, n_maps: int, cell: int, step: int
) -> tuple[Value, tuple[Value, Value]]:
    """Cut patches of 4 × 4 cells out of a lattice whose points are gcd(cell, step) pixels apart.

    Parameters
    ----------
    lattice : (images × n_maps, 1, rows, columns)
    planes : what the lattice is of
    cell, step : int
        Pixels between cells of a patch, and between patches.

    Returns
    -------
    (ny × nx, images, 16 × n_maps), and ny, nx
    """
    apart, n = math.gcd(cell, step), patch_counts(planes, CELLS * cell, step)
    rows, columns = (
        (planes.graph.range(many) * (step // apart)).reshape(-1, 1)
        + np.arange(CELLS) * (cell // apart)
        for many in n
    )
    found = lattice.reshape(-1, n_maps, lattice.size(2), lattice.size(3)).transpose(0, 2, 3, 1)
    found = found.gather(rows, axis=1).gather(columns, axis=3)
    found = found.transpose(1, 3, 0, 2, 4, 5)  # ny, nx, images, 4, 4, maps
    return found.reshape(n[0] * n[1], found.size(2), CELLS**2 * n_maps), n


def count_in_windows(codes: Value, boxes: np.ndarray, n_codes: int, border: int = 0) -> Value:
    """Count the codes of pixels in windows.

    Parameters
    ----------
    codes : (h, w) int64
    boxes : (n, 4) float64
        Edges x0, y0, x1, y1 in the unit square of the image, to the nearest pixel.
    n_codes : int
    border : int
        Rows and columns that codes lack of the image's; windows lack as many.

    Returns
    -------
    (n, n_codes) float32
    """
    g = codes.graph
    if boxes.tolist() == [[0, 0, 1, 1]]:
        return g.count(codes.reshape(-1), n_codes).reshape(1, n_codes)
    (columns, of_x), (rows, of_y) = (
        np.unique(boxes[:, [axis, axis + 2]], axis=0, return_inverse=True) for axis in (0, 1)
    )
    row, rows_inside = _segments(codes.size(0), rows, border)
    column, columns_inside = _segments(codes.size(1), columns, border)
    n_rows, n_columns = 2 * len(rows) + 1, 2 * len(columns) + 1
    cells = row.reshape(-1, 1) * n_columns + column
    counts = g.count((cells * n_codes + codes).reshape(-1), n_rows * n_columns * n_codes)
    counts = rows_inside @ counts.reshape(n_rows, n_columns * n_codes)
    counts = columns_inside @ counts.reshape(len(rows), n_columns, n_codes)
    window = of_y.ravel() * len(columns) + of_x.ravel()
    return counts.reshape(-1, n_codes).gather(window)


def _segments(n: Value, intervals: np.ndarray, border: int) -> tuple[Value, Value]:
    """Cut an axis at the ends of intervals; say which segments each interval is made of.

    Returns
    -------
    (n,) int64, the segment of every pixel, and (n_intervals, n_segments) float32, zeros and ones
    """
    g = n.graph
    ends = ((n + border).cast(DOUBLE) * intervals.T + 0.5).floor().cast(INT64)
    low = ends.slice(0, 0, 1).reshape(-1)
    high = (ends.slice(0, 1, 2).reshape(-1) - border).at_least(low)
    cuts, _ = g.sorted(g.concat([low, high], 0))
    segment = (g.range(n).reshape(-1, 1) >= cuts).cast(INT64).sum(1)
    starts = g.concat([g.constant(np.array([-1])), cuts], 0)
    inside = (starts >= low.reshape(-1, 1)) & g.op("Less", starts, high.reshape(-1, 1), kind=BOOL)
    return segment, inside.cast(FLOAT)


def count_in_patches(
    codes: Value, size: int, step: int, n_codes: int
) -> tuple[Value, Value, Value]:
    """Count codes in squares of a grid that begins in the top left corner.

    Rows and columns are cut where squares begin and end; a square is a few of these cells.

    Parameters
    ----------
    codes : (h, w) int64
    size, step : int
        Side and distance of the squares.
    n_codes : int

    Returns
    -------
    (ny × nx, n_codes) float32, row by row, and ny, nx
    """
    whole, rest = divmod(size, step)
    n = patch_counts(codes, size, step, axes=(0, 1))
    n_cells = [codes.size(axis) / step * 2 + 2 + 2 * whole for axis in (0, 1)]
    row, column = (_cell_of(codes.size(axis), step, rest) for axis in (0, 1))
    cells = row.reshape(-1, 1) * n_cells[1] + column
    total = n_cells[0] * n_cells[1] * n_codes
    counts = codes.graph.count((cells * n_codes + codes).reshape(-1), total)
    counts = counts.reshape(*n_cells, n_codes)
    for axis in (0, 1):
        parts = [counts.slice(axis, k, n[axis] * 2 + k, 2) for k in range(2 * whole + bool(rest))]
        counts = parts[0] if len(parts) == 1 else codes.graph.op("Sum", *parts)
    return counts.reshape(-1, n_codes), n[0], n[1]


def _cell_of(n: Value, step: int, rest: int) -> Value:
    """The cell of every row: two for each step, of which the first has ``rest`` rows."""
    place = n.graph.range(n)
    within = n.graph.op("Mod", place, step)
    return place / step * 2 + (within >= (rest or step)).cast(INT64)
