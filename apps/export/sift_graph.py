"""Graphs of `visualwords.features.DenseSIFT`: votes of pixels, cells on a lattice, descriptors."""

import math

import numpy as np

from visualwords.apps.export.graph import BOOL, Value
from visualwords.apps.export.grid_graph import Grid, cut_patches, extended, grid_of, sums_on_lattice
from visualwords.apps.export.image_graph import color_planes
from visualwords.features import DenseSIFT

DIRECTIONS = 8
_LINE = np.exp(-((np.arange(4) - 1.5) ** 2) / 8)
_WEIGHTS = np.repeat(np.outer(_LINE, _LINE).ravel(), DIRECTIONS).astype(np.float32)


def sift_patches(extractor: DenseSIFT, planes: Value) -> list[Grid]:
    """The descriptors of patches of every size."""
    sizes = [int(b) for b in np.atleast_1d(extractor.bin_size)]
    votes = _votes(color_planes(planes, extractor.color, extractor.sobel), 4 * max(sizes))
    return [_of_size(extractor, planes, votes, b) for b in sizes]


def _votes(planes: Value, least: int) -> Value:
    """Lengths of gradients, shared between neighbouring directions: (8 × planes, 1, h, w).

    Whole numbers of 1/1024 grey level a pixel; 0 at the border, and beyond the image where that
    is smaller than ``least``.
    """
    g = planes.graph
    inner_rows, inner_columns = planes.slice(2, 1, -1), planes.slice(3, 1, -1)
    dx = inner_rows.slice(3, 2) - inner_rows.slice(3, 0, -2)
    dy = inner_columns.slice(2, 0, -2) - inner_columns.slice(2, 2)
    ax, ay = g.op("Abs", dx), g.op("Abs", dy)
    ratio = ax.at_most(ay) / ax.at_least(ay).at_least(1.0)
    angle = g.op("Atan", ratio) * (4 / math.pi)  # of 45°
    angle = g.where(ay > ax, 2.0 - angle, angle)
    angle = g.where(dx >= 0.0, angle, 4.0 - angle)
    angle = g.where(dy >= 0.0, angle, 8.0 - angle)
    length = (dx * dx + dy * dy).sqrt() * 512.0
    lower = angle.floor()
    upper_share = (length * (angle - lower) + 0.5).floor()
    lower_share = (length + 0.5).floor() - upper_share
    numbers = np.arange(DIRECTIONS, dtype=np.float32).reshape(1, -1, 1, 1)
    votes = [
        g.where(g.op("Equal", lower, which, kind=BOOL), share, 0.0)
        for which, share in ((numbers, lower_share), ((numbers - 1) % DIRECTIONS, upper_share))
    ]
    shared = votes[0] + votes[1]
    shared = extended(shared, least, before=1)
    return shared.reshape(-1, 1, shared.size(2), shared.size(3))


def _of_size(extractor: DenseSIFT, planes: Value, votes: Value, b: int) -> Grid:
    """The patches with cells of b pixels, whose votes count under triangles of half width b."""
    step, first = int(extractor.step), b // 2
    triangle = (1 - np.abs(np.arange(1 - b, b)) / b) / (32 * b)
    cells = sums_on_lattice(votes, triangle, (b - 1 - first, first), math.gcd(b, step))
    patches, n = cut_patches(cells, planes, DIRECTIONS, b, step)
    descriptors = _normalized(extractor, patches * _WEIGHTS)
    flat = descriptors.reshape(n[0] * n[1], descriptors.size(1) * len(_WEIGHTS))
    return grid_of(flat, planes, n, step, first + 1.5 * b + 0.5)


def _normalized(extractor: DenseSIFT, patches: Value) -> Value:
    """Bring descriptors (n, planes, 128) to length 1, cut at 0.2, and bring to length 1 again."""
    g = patches.graph
    square = g.op("ReduceSumSquare", patches, [2])
    least = (extractor.contrast_threshold * float(np.linalg.norm(_LINE) ** 2)) ** 2
    scale = g.where(square > least, 1.0 / square.sqrt(), 0.0)
    cut = (patches * scale).at_most(0.2)
    if extractor.root:
        found = (cut / cut.sum(2, keep=True).at_least(1e-12)).sqrt()
    else:
        found = cut / g.op("ReduceL2", cut, [2]).at_least(1e-12)
    if extractor.dtype != "uint8":
        return found
    return (found * 512.0 + 0.5).floor().at_most(255.0)
