"""CENTRIST of windows: census codes once for the image, histograms shared between windows."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from visualwords.apps.detection._census_windows import (
    COLUMNS,
    LATTICE,
    ROWS,
    STEP_X,
    STEP_Y,
    add_lanes,
    count_windows,
    look_up_windows,
    slide_down,
    sum_boxes,
    sum_cells,
)
from visualwords.apps.detection.window import WindowShape
from visualwords.apps.detection.window_tables import RaggedTables
from visualwords.features import Centrist

__all__ = ["CensusTables", "CensusWindows"]

CODES = 256
AREA = ROWS * COLUMNS


class CensusTables:
    """Tables in the two orders that scores are made from.

    Attributes
    ----------
    starts, tops : (super-blocks, 256) int64
        First cell and highest count of each table.
    cells : (n,) float32
    """

    def __init__(self, shape: WindowShape, tables: RaggedTables):
        self.shape = shape
        self.ragged = tables
        self.starts = tables.starts[:-1].reshape(-1, CODES)
        self.tops = tables.tops.reshape(-1, CODES)
        self.cells = tables.cells

    @cached_property
    def steps(self) -> np.ndarray:
        """Differences of neighbouring cells, (across, codes × 352, lanes) float32.

        A lane is a row of super-blocks, the first index a column of them.
        """
        down, across = self.shape.super_blocks
        full = self.ragged.full(AREA + 1).reshape(down, across, CODES, AREA + 1)
        lanes = -(-down // 8) * 8
        steps = np.zeros((across, CODES, AREA, lanes), np.float32)
        steps[..., :down] = np.diff(full, axis=3).transpose(1, 2, 3, 0)
        return steps.reshape(across, -1, lanes)


class CensusWindows:
    """CENTRIST vectors and scores of windows, as counts.

    Parameters
    ----------
    shape : WindowShape
    stride : int
        Pixels from one window to the next, a multiple of 4.
    """

    name = "census"

    def __init__(self, shape: WindowShape, stride: int):
        self.shape = shape
        self.stride = stride
        self.n_columns = shape.census_columns
        self.extractor = Centrist()

    def prepare(self, image: np.ndarray) -> np.ndarray:
        """Return the census codes of an image, (h − 2, w − 2) uint8."""
        return self.extractor.census(image)

    def vectors(self, prepared: np.ndarray, corners_yx: np.ndarray) -> np.ndarray:
        """Return the counts of windows at any pixels, (n, n_columns) uint16."""
        down, across = self.shape.super_blocks
        vectors = np.empty((len(corners_yx), down * across, CODES), np.uint16)
        count_windows(prepared, *self._census_corners(corners_yx), down, across, vectors)
        return vectors.reshape(len(corners_yx), self.n_columns)

    def arrange(self, tables: RaggedTables) -> CensusTables:
        """Return tables in the form that the methods below take."""
        return CensusTables(self.shape, tables)

    def scores_at(
        self, prepared: np.ndarray, corners_yx: np.ndarray, tables: CensusTables
    ) -> np.ndarray:
        """Return the sums of look-ups of some windows."""
        scores = np.empty(len(corners_yx), np.float32)
        corners = self._census_corners(corners_yx)
        across = self.shape.super_blocks[1]
        look_up_windows(
            prepared, *corners, tables.starts, tables.tops, tables.cells, across, scores
        )
        return scores

    def linear_scores(self, prepared: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return weights · counts of all windows, (rows, columns) float32."""
        down, across = self.shape.super_blocks
        lanes = -(-down // 8) * 8
        by_column = np.zeros((across, CODES, lanes), np.float32)
        by_column[:, :, :down] = weights.reshape(down, across, CODES).transpose(1, 2, 0)
        skip = self.stride // LATTICE

        def fill(j: int, top: int, left: int, boxes: np.ndarray) -> None:
            pairs = np.empty((2 * len(boxes) + 9, *boxes.shape[1:]), np.float32)
            sum_cells(prepared, top, left, boxes.shape[1], skip, by_column[j], pairs)
            sum_boxes(pairs, boxes)

        return self._everywhere(prepared, lanes, fill)

    def table_scores(self, prepared: np.ndarray, tables: CensusTables) -> np.ndarray:
        """Return the sums of look-ups of all windows, (rows, columns) float32."""
        skip = self.stride // LATTICE
        starts = np.arange(CODES) * AREA
        steps = tables.steps

        def fill(j: int, top: int, left: int, boxes: np.ndarray) -> None:
            slide_down(prepared, top, left, skip, starts, steps[j], boxes)

        return self._everywhere(prepared, steps.shape[2], fill)

    def _everywhere(
        self, codes: np.ndarray, lanes: int, fill: Callable[[int, int, int, np.ndarray], None]
    ) -> np.ndarray:
        """Let ``fill`` score the super-blocks of each column, and add them up for all windows."""
        down, across = self.shape.super_blocks
        height, width = codes.shape[0] + 2, codes.shape[1] + 2
        rows, columns = self.shape.positions(height, width, self.stride)
        scores = np.zeros((rows, columns), np.float32)
        if not scores.size:
            return scores
        left, top = self.shape.census_corner
        skip = self.stride // LATTICE
        boxes = np.empty(
            ((rows - 1) * skip + (down - 1) * (STEP_Y // LATTICE) + 1, columns, lanes), np.float32
        )
        for j in range(across):
            fill(j, top, left + j * STEP_X, boxes)
            add_lanes(boxes, down, skip, scores)
        return scores

    def _census_corners(self, corners_yx: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = self.shape.census_corner
        return corners_yx[:, 0] + y, corners_yx[:, 1] + x
