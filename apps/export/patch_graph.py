"""Graphs of patches on grids: where they lie, and how the cells that they share are cut out."""

from typing import NamedTuple

from visualwords.apps.export.graph import DOUBLE, FLOAT, Value


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
    centers = [
        ((planes.graph.range(many).cast(DOUBLE) * step + middle) / size.cast(DOUBLE)).cast(FLOAT)
        for many, size in zip(n, (planes.size(2), planes.size(3)))
    ]
    return Grid(descriptors, centers[1], centers[0])
