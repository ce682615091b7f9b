"""Interpolated blocks of gradients, for extractors and the detector; needs no scikit-learn."""

from functools import lru_cache

import cv2
import numpy as np

from visualwords.features._hog import interpolate_blocks, normalize_blocks


def split_planes(rgb: np.ndarray) -> np.ndarray:
    """Return the channels of an image (h, w, 3) one after the other, (3, h, w)."""
    return np.stack(cv2.split(rgb))


def interpolated_blocks(planes: np.ndarray, cell: int, size: int, n: int) -> np.ndarray:
    """Return the normalised blocks of an image.

    Parameters
    ----------
    planes : (channels, h, w) uint8
        Gradients are those of the channel where they are strongest.
    cell, size, n : int
        Pixels of a cell's side, cells of a block's side, and angles.

    Returns
    -------
    (ny, nx, size² × n) float32
        Without rows or columns where the image is smaller than a block.

    Examples
    --------
    >>> interpolated_blocks(np.zeros((1, 24, 16), np.uint8), 8, 2, 9).shape
    (2, 1, 36)
    """
    ny, nx = (max(0, length // cell - size + 1) for length in planes.shape[1:])
    blocks = np.empty((ny, nx, size * size * n), np.float32)
    if blocks.size:
        lengthen = np.array([0.0, 0.1 * blocks.shape[2], 1e-3], np.float32)  # as in OpenCV 4
        cells = _interpolate(planes, cell, size, n)
        normalize_blocks(cells, size, size, np.float32(1), lengthen, blocks)
    return blocks


def _interpolate(planes: np.ndarray, cell: int, size: int, n: int) -> np.ndarray:
    """Return the cells of all blocks, those of a block beside each other, (rows, columns, n)."""
    weights = _share_cell(cell, size)
    # one slot for every cell of every block that a pixel may count for, also outside
    rows, columns = ((length - 1) // cell * size + weights.shape[1] for length in planes.shape[1:])
    blocks = np.zeros((rows, n, columns), np.float32)
    interpolate_blocks(planes, n, size, weights, blocks)
    before = (size - 1) * size
    return blocks[before:, :, before:].transpose(0, 2, 1)


@lru_cache(maxsize=8)
def _share_cell(cell: int, size: int) -> np.ndarray:
    """Weights of a cell's pixels along one axis for all slots that they count for, (cell, lanes).

    Blocks that begin ``size`` - 1 cells before, …, and at this cell have ``size`` slots each, one
    for each of their cells. The weight is linear in the distance to the cell's centre times a
    Gaussian around the block's centre, σ = a quarter of the block, both as in OpenCV. Slots are
    filled up to a multiple of four.
    """
    side = cell * size
    inside = np.arange(side)
    gauss = np.exp(-((inside - side / 2) ** 2) / (2 * (side / 4) ** 2))
    apart = np.abs((inside[:, None] + 0.5) / cell - 0.5 - np.arange(size))
    by_pixel = gauss[:, None] * np.maximum(0, 1 - apart)
    by_block = by_pixel.reshape(size, cell, size)[::-1]  # the block that begins first comes first
    weights = np.zeros((cell, -(-(size**2) // 4) * 4), np.float32)
    weights[:, : size**2] = by_block.transpose(1, 0, 2).reshape(cell, size**2)
    weights.flags.writeable = False
    return weights
