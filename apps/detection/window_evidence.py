"""Explain the score of a window: its score shared among the window's pixels."""

from dataclasses import dataclass

import numpy as np

from visualwords.apps.detection._census_windows import COLUMNS, ROWS, STEP_X, STEP_Y
from visualwords.apps.detection.channels import Channel
from visualwords.apps.detection.levels import Level, Search, clip_boxes
from visualwords.apps.detection.scanning import WindowScanner
from visualwords.apps.detection.window import ACF_CELL, CELL, WindowShape
from visualwords.apps.detection.window_tables import RaggedTables
from visualwords.classifiers.boosted_trees import BoostedTrees
from visualwords.errors import ImageError

__all__ = ["WindowEvidence", "find_window", "window_evidence"]


@dataclass(frozen=True)
class WindowEvidence:
    """Contributions of the parts of a window to its score.

    Attributes
    ----------
    box_xyxy : (4,)
        The object's box of the window, in pixels of the image.
    window : (h, w, 3) or (h, w) uint8
        Pixels of the window.
    maps : dict of channel → (h, w) float32
        Each sums to the channel's score. A HOG value counts evenly for the pixels of its cell, a
        census count evenly for the pixels that have the code, all of the block where none has; a
        tree's leaf evenly for the cells that it compared.
    scores : dict of channel → float
    """

    box_xyxy: np.ndarray
    window: np.ndarray
    maps: dict[str, np.ndarray]
    scores: dict[str, float]

    def __repr__(self) -> str:
        x0, y0, x1, y1 = (round(float(edge)) for edge in self.box_xyxy)
        return f"<WindowEvidence: score {self.score:+.2f} of the box ({x0}, {y0}, {x1}, {y1})>"

    @property
    def score(self) -> float:
        """The window's score."""
        return sum(self.scores.values())


def find_window(
    search: Search, image: np.ndarray, box_xyxy: np.ndarray
) -> tuple[Level, np.ndarray]:
    """Return the level and corner of the searched window whose object box is nearest to a box."""
    wanted = clip_boxes(box_xyxy, image)
    best: tuple[float, Level, np.ndarray] | None = None
    for level in search.levels(image):
        height, width = level.image.shape[:2]
        rows, columns = search.shape.positions(height, width, search.stride)
        corners = np.indices((rows, columns)).reshape(2, -1).T * search.stride
        distances = np.abs(clip_boxes(search.boxes(level, corners), image) - wanted).sum(axis=1)
        nearest = int(distances.argmin())
        if best is None or distances[nearest] < best[0]:
            best = float(distances[nearest]), level, corners[nearest]
    if best is None:
        raise ImageError(
            f"image is {image.shape[1]}x{image.shape[0]}; it has no window of "
            f"{search.shape.width}x{search.shape.height} to explain"
        )
    return best[1], best[2]


def window_evidence(
    scanner: WindowScanner, search: Search, level: Level, corner_yx: np.ndarray
) -> WindowEvidence:
    """Share the score of one window of a level among its pixels."""
    shape = search.shape
    y, x = corner_yx
    maps = {}
    for channel in scanner.channels:
        prepared = channel.prepare(level.image)
        tables = scanner.model.channels[channel.name].tables
        if isinstance(tables, BoostedTrees):
            vector = channel.vectors(prepared, corner_yx[None])[0]
            maps[channel.name] = _tree_map(tables, vector, shape)
            continue
        values = _values(channel, prepared, corner_yx, tables)
        if channel.name == "hog":
            maps[channel.name] = _hog_map(values, shape)
        else:
            maps[channel.name] = _census_map(values, prepared, corner_yx, shape)
    return WindowEvidence(
        search.boxes(level, corner_yx[None])[0],
        level.image[y : y + shape.height, x : x + shape.width],
        maps,
        {name: float(values.sum(dtype=np.float64)) for name, values in maps.items()},
    )


def _values(
    channel: Channel, prepared: object, corner_yx: np.ndarray, tables: RaggedTables
) -> np.ndarray:
    """The looked-up value of each column, and its level behind it."""
    levels = channel.vectors(prepared, corner_yx[None])[0]
    values = tables.cells[tables.starts[:-1] + np.minimum(levels, tables.tops)]
    return np.stack([values, levels.astype(np.float32)])


def _tree_map(trees: BoostedTrees, vector: np.ndarray, shape: WindowShape) -> np.ndarray:
    """Every tree's leaf, shared equally by the cells that it compared."""
    turn = (vector[trees.features] > trees.values).astype(np.int64)
    number, node, compared = np.arange(len(turn)), np.zeros(len(turn), np.int64), []
    while node.max() < turn.shape[1]:  # all trees are equally deep
        compared.append(trees.features[number, node])
        node = 2 * node + 1 + turn[number, node]
    leaves = trees.leaves[number, node - turn.shape[1]]
    cells = np.zeros(shape.acf_cells[0] * shape.acf_cells[1])
    n_channels = len(vector) // len(cells)
    np.add.at(cells, np.stack(compared) // n_channels, leaves / len(compared))
    pixels = np.ones((ACF_CELL, ACF_CELL)) / ACF_CELL**2
    return np.kron(cells.reshape(shape.acf_cells), pixels).astype(np.float32)


def _hog_map(values: np.ndarray, shape: WindowShape) -> np.ndarray:
    """Every block's cells, added up where blocks overlap."""
    rows, columns = shape.blocks
    parts = values[0].reshape(rows, columns, 2, 2, 9).sum(axis=4)
    cells = np.zeros((rows + 1, columns + 1), np.float32)
    for a, b in np.ndindex(2, 2):
        cells[a : a + rows, b : b + columns] += parts[:, :, a, b]
    return np.kron(cells / CELL**2, np.ones((CELL, CELL), np.float32))


def _census_map(
    values: np.ndarray, codes: np.ndarray, corner_yx: np.ndarray, shape: WindowShape
) -> np.ndarray:
    """Every super-block's codes, their values divided by their counts; absent ones by all."""
    down, across = shape.super_blocks
    left, top = shape.census_corner
    value, count = values.reshape(2, down, across, 256)
    share = np.divide(value, count, out=np.zeros_like(value), where=count > 0)
    absent = np.where(count > 0, 0, value).sum(axis=2) / (ROWS * COLUMNS)
    evidence = np.zeros((shape.height, shape.width), np.float32)
    for i, j in np.ndindex(down, across):
        y, x = top + i * STEP_Y, left + j * STEP_X
        box = codes[corner_yx[0] + y :, corner_yx[1] + x :][:ROWS, :COLUMNS]
        evidence[y + 1 : y + 1 + ROWS, x + 1 : x + 1 + COLUMNS] += share[i, j][box] + absent[i, j]
    return evidence
