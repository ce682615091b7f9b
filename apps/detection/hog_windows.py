"""HOG of windows: once for the whole image, shared by all windows that lie on its cells."""

from collections.abc import Iterator
from functools import cached_property

import cv2
import numpy as np

from visualwords.apps.detection._hog_windows import (
    add_shifted,
    copy_windows,
    look_up_everywhere,
    look_up_windows,
    quantize_blocks,
)
from visualwords.apps.detection.window import CELL, WindowShape
from visualwords.apps.detection.window_tables import RaggedTables
from visualwords.features.hog_blocks import interpolated_blocks, split_planes

__all__ = ["HogTables", "HogWindows"]

N_LEVELS = 64
STEPS = 128  # levels of a unit: block values are rarely above 1/2, the highest level
BLOCK, N_ANGLES = 2, 9  # cells of a block's side, and numbers of a cell
VALUES = BLOCK**2 * N_ANGLES  # of a block
MANY = 5  # looking up all windows costs as much as every fifth of them one by one


class HogTables:
    """Tables in the two orders that scores are made from.

    Attributes
    ----------
    by_row : (block rows, 36 × block columns, 64) float32
    """

    def __init__(self, shape: WindowShape, tables: RaggedTables):
        self.shape = shape
        rows, columns = shape.blocks
        self.by_row = tables.full(N_LEVELS).reshape(rows, columns * VALUES, N_LEVELS)

    @cached_property
    def by_value(self) -> np.ndarray:
        """By value and level first, (36, 64, rows × lanes); columns reversed, up to whole lanes."""
        rows, columns = self.shape.blocks
        placed = np.zeros((VALUES, N_LEVELS, rows, self.lanes), np.float32)
        by_place = self.by_row.reshape(rows, columns, VALUES, N_LEVELS)[:, ::-1]
        placed[..., :columns] = by_place.transpose(2, 3, 0, 1)
        return placed.reshape(VALUES, N_LEVELS, rows * self.lanes)

    @property
    def lanes(self) -> int:
        """Columns of blocks, up to a multiple of eight."""
        return -(-self.shape.blocks[1] // 8) * 8


class HogWindows:
    """HOG vectors and scores of windows, as levels 0…63 of 1/128.

    Gradients are OpenCV's, of the colour channel where they are strongest, interpolated between
    angles and cells, in blocks of 2 × 2 cells of 8 × 8 pixels. Windows on one lattice of cells
    share all blocks; a stride of 4 has four such lattices.

    Parameters
    ----------
    shape : WindowShape
    stride : int
        Pixels from one window to the next: 4, or a multiple of 8.
    """

    name = "hog"
    margin = CELL

    def __init__(self, shape: WindowShape, stride: int):
        self.shape = shape
        self.stride = stride
        self.n_columns = shape.hog_columns

    def prepare(self, image: np.ndarray) -> list[np.ndarray]:
        """Return the levels of all blocks, (ny, nx, 36) uint8, for each lattice."""
        return [self._levels(image, y, x) for y, x in self._lattices()]

    def vectors(self, prepared: list[np.ndarray], corners_yx: np.ndarray) -> np.ndarray:
        """Return the vectors of windows at multiples of the stride, (n, n_columns) uint8."""
        rows, columns = self.shape.blocks
        vectors = np.empty((len(corners_yx), self.n_columns), np.uint8)
        for levels, chosen in self._by_lattice(prepared, corners_yx):
            part = np.empty((chosen.size, self.n_columns), np.uint8)
            y, x = (corners_yx[chosen] // CELL).T
            copy_windows(levels, y, x, rows, columns * VALUES, part)
            vectors[chosen] = part
        return vectors

    def arrange(self, tables: RaggedTables) -> HogTables:
        """Return tables in the form that the methods below take."""
        return HogTables(self.shape, tables)

    def scores_at(
        self, prepared: list[np.ndarray], corners_yx: np.ndarray, tables: HogTables
    ) -> np.ndarray:
        """Return the sums of look-ups of windows at multiples of the stride."""
        scores = np.empty(len(corners_yx), np.float32)
        for levels, chosen in self._by_lattice(prepared, corners_yx):
            y, x = (corners_yx[chosen] // CELL).T
            if MANY * chosen.size > levels.shape[0] * levels.shape[1]:
                scores[chosen] = self._sums(levels, tables)[y, x]
                continue
            part = np.empty(chosen.size, np.float32)
            look_up_windows(levels, y, x, tables.by_row, part)
            scores[chosen] = part
        return scores

    def linear_scores(self, prepared: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
        """Return weights · vector of all windows, (rows, columns) float32."""
        return self._interlace([self._linear(levels, weights) for levels in prepared])

    def table_scores(self, prepared: list[np.ndarray], tables: HogTables) -> np.ndarray:
        """Return the sums of look-ups of all windows, (rows, columns) float32."""
        return self._interlace([self._sums(levels, tables) for levels in prepared])

    def _lattices(self) -> list[tuple[int, int]]:
        """First corners of the lattices of cells."""
        starts = range(0, CELL, min(self.stride, CELL))
        return [(y, x) for y in starts for x in starts]

    def _levels(self, image: np.ndarray, y: int, x: int) -> np.ndarray:
        """Levels of the blocks that begin at (y, x) + multiples of a cell.

        Rows and columns added in front bring (y, x) to the second cell; the first is dropped, so
        that gradients at y and x see the pixels before them.
        """
        if y or x:
            top, left = -y % CELL, -x % CELL
            image = cv2.copyMakeBorder(image, top, 0, left, 0, cv2.BORDER_REPLICATE)
        planes = image[None] if image.ndim == 2 else split_planes(image)
        blocks = interpolated_blocks(planes, CELL, BLOCK, N_ANGLES)[y > 0 :, x > 0 :]
        levels = np.empty((*blocks.shape[:2], VALUES), np.uint8)
        values = np.ascontiguousarray(blocks).reshape(-1)
        quantize_blocks(values, STEPS, N_LEVELS - 1, levels.reshape(-1))
        return levels

    def _by_lattice(
        self, prepared: list[np.ndarray], corners_yx: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Levels of each lattice, and the numbers of the corners on it."""
        within = corners_yx % CELL
        for levels, lattice in zip(prepared, self._lattices()):
            chosen = np.flatnonzero((within == lattice).all(axis=1))
            if chosen.size:
                yield levels, chosen

    def _interlace(self, grids: list[np.ndarray]) -> np.ndarray:
        """Scores of all windows from those of each lattice."""
        step = max(self.stride // CELL, 1)
        if len(grids) == 1:
            return grids[0][::step, ::step]
        n = CELL // self.stride
        rows = sum(grid.shape[0] for grid in grids[::n])
        columns = sum(grid.shape[1] for grid in grids[:n])
        scores = np.empty((rows, columns), np.float32)
        for k, grid in enumerate(grids):
            scores[k // n :: n, k % n :: n] = grid
        return scores

    def _linear(self, levels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        rows, columns = self.shape.blocks
        ny, nx = levels.shape[:2]
        if ny < rows or nx < columns:
            return np.empty((max(0, ny - rows + 1), max(0, nx - columns + 1)), np.float32)
        scores = np.zeros(ny * nx, np.float32)
        places = weights.reshape(rows * columns, VALUES).astype(np.float32)
        planes = places @ levels.reshape(-1, VALUES).astype(np.float32).T
        shifts = (np.arange(rows)[:, None] * nx + np.arange(columns)).ravel()
        add_shifted(planes, shifts, scores)
        return scores.reshape(ny, nx)[: ny - rows + 1, : nx - columns + 1]

    def _sums(self, levels: np.ndarray, tables: HogTables) -> np.ndarray:
        rows, columns = self.shape.blocks
        ny, nx = levels.shape[:2]
        sums = np.zeros((ny + rows - 1, nx + tables.lanes - 1), np.float32)
        look_up_everywhere(levels, tables.by_value, rows, tables.lanes, sums)
        return sums[rows - 1 : max(ny, rows - 1), columns - 1 : max(nx, columns - 1)]
