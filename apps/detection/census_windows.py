"""CENTRIST of windows: census codes once for the image, histograms shared between windows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from visualwords.apps.detection._census_scores import (
    BOX_STEP,
    LANES,
    LATTICE,
    LEVEL,
    add_lanes,
    add_linear,
    slide_down,
    want_boxes,
)
from visualwords.apps.detection._census_windows import (
    COLUMNS,
    ROWS,
    STEP_X,
    STEP_Y,
    count_windows,
)
from visualwords.apps.detection.window import CELL, WindowShape
from visualwords.apps.detection.window_tables import RaggedTables
from visualwords.features._centrist import census_transform
from visualwords.features.pixels import as_grey

__all__ = ["CensusTables", "CensusWindows"]

CODES = 256
AREA = ROWS * COLUMNS


@dataclass(frozen=True)
class SteppedTables:
    """Differences of neighbouring cells of up to eight super-blocks; a lane is one of them.

    Attributes
    ----------
    base : (8,) float32
        Sums of the cells of count 0.
    steps : (352 × LEVEL,) float32
        From each count to the next, of each code, in each lane.
    """

    base: np.ndarray
    steps: np.ndarray


class CensusTables:
    """Tables in the order that scores are made from."""

    def __init__(self, shape: WindowShape, tables: RaggedTables):
        self.shape = shape
        self.ragged = tables

    @cached_property
    def stepped(self) -> list[SteppedTables]:
        """For each group of up to eight super-blocks below each other, column by column."""
        down, across = self.shape.super_blocks
        full = self.ragged.full(AREA + 1).reshape(down, across, CODES, AREA + 1)
        return [
            _step_tables(full[i : i + LANES, j])
            for j in range(across)
            for i in range(0, down, LANES)
        ]


def _step_tables(full: np.ndarray) -> SteppedTables:
    """Steps of tables (lanes, 256, counts)."""
    steps = np.zeros((AREA, LEVEL), np.float32)
    by_code = steps[:, : CODES * LANES].reshape(AREA, CODES, LANES)
    by_code[:, :, : len(full)] = np.diff(full).transpose(2, 1, 0)
    base = np.zeros(LANES, np.float32)
    base[: len(full)] = full[:, :, 0].sum(axis=1, dtype=np.float64)
    return SteppedTables(base, steps.reshape(-1))


class CensusWindows:
    """CENTRIST vectors and scores of windows, as counts.

    Parameters
    ----------
    shape : WindowShape
    stride : int
        Pixels from one window to the next, a multiple of 4.
    """

    name = "census"
    margin = CELL

    def __init__(self, shape: WindowShape, stride: int):
        self.shape = shape
        self.stride = stride
        self.n_columns = shape.census_columns

    def prepare(self, image: np.ndarray) -> np.ndarray:
        """Return the census codes of an image, (h − 2, w − 2) uint8."""
        return census_transform(as_grey(image))

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
        """Return the sums of look-ups of windows at multiples of the stride."""
        scores = np.zeros(len(corners_yx), np.float32)
        if not scores.size:
            return scores
        rows, columns = np.ascontiguousarray(corners_yx.T // self.stride)
        skip = self.stride // LATTICE
        last_row, last_column = rows.max() * skip, columns.max()
        for (n_down, top, left), stepped in zip(self._groups(), tables.stepped):
            size = last_row + (n_down - 1) * BOX_STEP + 1, last_column + 1
            wanted, boxes = np.zeros(size, np.uint8), np.empty((*size, LANES), np.float32)
            want_boxes(rows, columns, n_down, skip, wanted)
            slide_down(prepared, top, left, skip, wanted, stepped.base, stepped.steps, boxes)
            add_lanes(boxes, rows, columns, n_down, skip, scores)
        return scores

    def linear_scores(self, prepared: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return weights · counts of all windows, (rows, columns) float32."""
        down, across = self.shape.super_blocks
        by_code = weights.reshape(down, across, CODES).transpose(1, 2, 0)
        scores = np.zeros(self._grid(prepared), np.float32)
        if scores.size:
            skip = self.stride // LATTICE
            places = [(j, i) for j in range(across) for i in range(0, down, LANES)]
            for (n_down, top, left), (j, i) in zip(self._groups(), places):
                lanes = np.zeros((CODES, LANES), np.float32)
                lanes[:, :n_down] = by_code[j, :, i : i + n_down]
                add_linear(prepared, top, left, skip, n_down, lanes.reshape(-1), scores)
        return scores

    def table_scores(self, prepared: np.ndarray, tables: CensusTables) -> np.ndarray:
        """Return the sums of look-ups of all windows, (rows, columns) float32."""
        grid = self._grid(prepared)
        corners = np.indices(grid).reshape(2, -1).T * self.stride
        return self.scores_at(prepared, corners, tables).reshape(grid)

    def _grid(self, codes: np.ndarray) -> tuple[int, int]:
        """Rows and columns of windows."""
        return self.shape.positions(codes.shape[0] + 2, codes.shape[1] + 2, self.stride)

    def _groups(self) -> Iterator[tuple[int, int, int]]:
        """Super-blocks below each other, up to eight: how many, and their first row and column."""
        down, across = self.shape.super_blocks
        left, top = self.shape.census_corner
        for j in range(across):
            for i in range(0, down, LANES):
                yield min(LANES, down - i), top + i * STEP_Y, left + j * STEP_X

    def _census_corners(self, corners_yx: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = self.shape.census_corner
        return corners_yx[:, 0] + y, corners_yx[:, 1] + x
