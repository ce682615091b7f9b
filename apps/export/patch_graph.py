"""Graphs of patches on grids: sums under a kernel on a lattice, and patches of 4 × 4 of them."""

from typing import NamedTuple

import numpy as np

from visualwords.apps.export.graph import DOUBLE, FLOAT, Value

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
) -> list[Value]:
    """How many rows and columns of patches of a side fit, the first in the top left corner."""
    sizes = [planes.size(axis) for axis in axes]
    return [planes.graph.where(s >= side, (s - side) / step + 1, 0) for s in sizes]


def extended(planes: Value, least: int, before: int = 0) -> Value:
    """Planes with zeros on all sides: ``before`` of them, and more at the ends up to a side."""
    g = planes.graph
    after = [(least - before - planes.size(axis)).at_least(before) for axis in (2, 3)]
    return g.op("Pad", planes, g.shape(0, 0, before, before, 0, 0, *after))


def sums_on_lattice(
    planes: Value, kernel: np.ndarray, before: int, after: int, spacing: int
) -> Value:
    """Sums under a kernel in both directions, at points ``spacing`` apart.

    The first point's kernel begins ``before`` pixels before the image (n, 1, h, w), the last one's
    ends at most ``after`` pixels behind it; there are zeros.
    """
    row = kernel.reshape(1, 1, 1, -1)
    sums = planes.graph.conv(planes, row, strides=[1, spacing], pads=[0, before, 0, after])
    column = kernel.reshape(1, 1, -1, 1)
    return planes.graph.conv(sums, column, strides=[spacing, 1], pads=[before, 0, after, 0])


def cut_patches(cells: Value, n_maps: int, n: list[Value], step: int, stride: int) -> Value:
    """Cut patches of 4 × 4 cells out of a lattice.

    Parameters
    ----------
    cells : (planes × n_maps, 1, rows, columns)
    n : rows and columns of patches
    step, stride : int
        Points of the lattice between patches, and between the cells of one.

    Returns
    -------
    (ny × nx, planes, 16, n_maps)
    """
    g = cells.graph
    rows, columns = (
        (g.range(many) * step).reshape(-1, 1) + np.arange(CELLS) * stride for many in n
    )
    found = cells.reshape(-1, n_maps, cells.size(2), cells.size(3)).transpose(0, 2, 3, 1)
    found = found.gather(rows, axis=1).gather(columns, axis=3)
    found = found.transpose(1, 3, 0, 2, 4, 5)  # ny, nx, planes, 4, 4, maps
    return found.reshape(n[0] * n[1], found.size(2), CELLS**2, n_maps)
