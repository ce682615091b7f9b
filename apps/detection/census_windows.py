"""CENTRIST of windows: census codes once for the image, histograms shared between windows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from visualwords.apps.detection._census_windows import (
    COLUMNS,
    LANES,
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


@dataclass(frozen=True)
class SteppedTables:
    """Differences of neighbouring cells of up to eight super-blocks; a lane is one of them.

    Attributes
    ----------
    starts, tops : (256,) int64
        First step of each code, and how many there are before the last, which is zero.
    base : (8,) float32
        Sums of the cells of count 0.
    steps : (n, 8) float32
    """

    starts: np.ndarray
    tops: np.ndarray
    base: np.ndarray
    steps: np.ndarray


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
    def stepped(self) -> list[SteppedTables]:
        """For each group of up to eight super-blocks below each other, column by column."""
        down, across = self.shape.super_blocks
        full = self.ragged.full(AREA + 2).reshape(down, across, CODES, AREA + 2)
        highest = self.tops.reshape(down, across, CODES)
        return [
            _step_tables(full[i : i + LANES, j], highest[i : i + LANES, j].max(axis=0))
            for j in range(across)
            for i in range(0, down, LANES)
        ]


def _step_tables(full: np.ndarray, tops: np.ndarray) -> SteppedTables:
    """Steps of tables (lanes, 256, counts), for each code as many as any lane has, and a zero."""
    starts = np.concatenate([[0], np.cumsum(tops + 1)])
    code = np.repeat(np.arange(CODES), tops + 1)
    count = np.arange(starts[-1]) - starts[code]
    steps = np.zeros((starts[-1], LANES), np.float32)
    steps[:, : len(full)] = (full[:, code, count + 1] - full[:, code, count]).T
    base = np.zeros(LANES, np.float32)
    base[: len(full)] = full[:, :, 0].sum(axis=1, dtype=np.float64)
    return SteppedTables(starts[:-1], tops, base, steps)


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
        by_code = weights.reshape(down, across, CODES).transpose(1, 2, 0)
        skip = self.stride // LATTICE

        def fill(j: int, i: int, top: int, left: int, boxes: np.ndarray) -> None:
            lanes = np.zeros((CODES, LANES), np.float32)
            lanes[:, : min(LANES, down - i)] = by_code[j, :, i : i + LANES]
            pairs = np.empty((2 * len(boxes) + 9, *boxes.shape[1:]), np.float32)
            sum_cells(prepared, top, left, boxes.shape[1], skip, lanes, pairs)
            sum_boxes(pairs, boxes)

        return self._everywhere(prepared, fill)

    def table_scores(self, prepared: np.ndarray, tables: CensusTables) -> np.ndarray:
        """Return the sums of look-ups of all windows, (rows, columns) float32."""
        skip = self.stride // LATTICE
        groups = -(-self.shape.super_blocks[0] // LANES)

        def fill(j: int, i: int, top: int, left: int, boxes: np.ndarray) -> None:
            t = tables.stepped[j * groups + i // LANES]
            slide_down(prepared, top, left, skip, t.starts, t.tops, t.base, t.steps, boxes)

        return self._everywhere(prepared, fill)

    def _everywhere(
        self, codes: np.ndarray, fill: Callable[[int, int, int, int, np.ndarray], None]
    ) -> np.ndarray:
        """Let ``fill`` score super-blocks, eight below each other, and add them up for windows."""
        down, across = self.shape.super_blocks
        height, width = codes.shape[0] + 2, codes.shape[1] + 2
        rows, columns = self.shape.positions(height, width, self.stride)
        scores = np.zeros((rows, columns), np.float32)
        if not scores.size:
            return scores
        left, top = self.shape.census_corner
        skip = self.stride // LATTICE
        for j in range(across):
            for i in range(0, down, LANES):
                n = min(LANES, down - i)
                n_rows = (rows - 1) * skip + (n - 1) * (STEP_Y // LATTICE) + 1
                boxes = np.empty((n_rows, columns, LANES), np.float32)
                fill(j, i, top + i * STEP_Y, left + j * STEP_X, boxes)
                add_lanes(boxes, n, skip, scores)
        return scores

    def _census_corners(self, corners_yx: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = self.shape.census_corner
        return corners_yx[:, 0] + y, corners_yx[:, 1] + x
