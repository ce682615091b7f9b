"""Graphs of `visualwords.codebook.BagOfWords`: words of patches, counted in windows."""

import numpy as np

from visualwords.apps.export.graph import FLOAT, INT64, Value
from visualwords.apps.export.patch_graph import Grid
from visualwords.codebook import BagOfWords, HIKCodebook, KMeansCodebook, SpatialPyramid
from visualwords.codebook.spatial_pyramid import as_pyramid


def word_counts(words: BagOfWords, grids: list[Grid], of_bytes: bool) -> Value:
    """The histograms of all windows, (n_windows, n_words)."""
    pyramid, codebook = as_pyramid(words.pyramid), words.codebook_
    g = grids[0].descriptors.graph
    find = _word_in_tables if isinstance(codebook, HIKCodebook) else _nearest_word
    word = find(codebook, g.concat([grid.descriptors for grid in grids], 0), of_bytes)
    n_cells, n_words = pyramid.membership.shape[1], codebook.n_words
    counts = g.count(cells_of(pyramid, grids) * n_words + word, n_cells * n_words)
    counts = g.constant(pyramid.membership) @ counts.reshape(n_cells, n_words)
    return normalized(counts, pyramid, words.norm, words.scope, words.power)


def cells_of(pyramid: SpatialPyramid, grids: list[Grid]) -> Value:
    """The cell of every patch, (n,) int64: rows of cells, cut at the edges of all windows."""
    x_edges, y_edges = (
        np.unique(pyramid.boxes[:, [axis, axis + 2]].astype(np.float32)) for axis in (0, 1)
    )
    x_edges, y_edges = (edges[(edges > 0) & (edges < 1)] for edges in (x_edges, y_edges))

    def place(centers: Value, edges: np.ndarray) -> Value:
        return (centers.reshape(-1, 1) >= edges).cast(INT64).sum(1)

    columns = len(x_edges) + 1
    cells = [
        (place(grid.y, y_edges).reshape(-1, 1) * columns + place(grid.x, x_edges)).reshape(-1)
        for grid in grids
    ]
    return cells[0].graph.concat(cells, 0)


def normalized(
    values: Value, pyramid: SpatialPyramid, norm: str | None, scope: str, power: float
) -> Value:
    """Numbers of windows (n_windows, m) as `visualwords.codebook.spatial_pyramid.normalize`."""
    g = values.graph
    if norm == "l1":
        values = values / _sizes(g.op("ReduceL1", values, [1], keepdims=0), pyramid, scope)
    if power != 1:
        size = g.op("Abs", values)
        size = size.sqrt() if power == 0.5 else g.op("Pow", size, float(power))
        values = g.op("Sign", values) * size
    if norm == "l2":
        squares = g.op("ReduceSumSquare", values, [1], keepdims=0)
        values = values / _sizes(squares, pyramid, scope).sqrt()
    if pyramid.weights is not None:
        values = values * pyramid.window_weights[:, None]
    return values


def _sizes(of_windows: Value, pyramid: SpatialPyramid, scope: str) -> Value:
    """What each window is divided by, (n_windows, 1); 1 where there is nothing."""
    if scope == "window":
        sizes = of_windows
    elif scope == "image":
        sizes = of_windows.sum(0, keep=True)
    else:
        level = pyramid.level_of_window
        sizes = of_windows @ (level[:, None] == level).astype(np.float32)
    sizes = sizes.graph.where(sizes > 0.0, sizes, 1.0)
    return sizes.reshape(-1, 1)


def _nearest_word(codebook: KMeansCodebook, descriptors: Value, of_bytes: bool) -> Value:
    """The word with the smallest distance, of equal ones the first."""
    if codebook.root:
        descriptors = (descriptors * 255.0).sqrt().round() if of_bytes else descriptors.sqrt()
    words = codebook.words_.astype(np.float64)
    bias = (-0.5 * (words**2).sum(axis=1)).astype(np.float32)
    scores = descriptors @ np.ascontiguousarray(codebook.words_.T) + bias
    return scores.graph.op("ArgMax", scores, kind=INT64, axis=1, keepdims=0)


def _word_in_tables(codebook: HIKCodebook, descriptors: Value, of_bytes: bool) -> Value:
    """The word with the largest sum of look-ups, of equal ones the first."""
    g, state = descriptors.graph, codebook.get_state()
    if not (of_bytes and codebook.levels_per_unit_ == 1 and codebook.n_levels == 256):
        descriptors = (descriptors * float(np.float32(codebook.levels_per_unit_))).round()
    levels = descriptors.at_most(float(codebook.n_levels - 1)).cast(INT64).transpose(1, 0)
    sums = g.constant(state["bias"].astype(np.float32))
    for j, table in enumerate(state["tables"]):
        sums = sums + g.constant(table).gather(levels.gather(np.array(j))).cast(FLOAT)
    return g.op("ArgMax", sums, kind=INT64, axis=1, keepdims=0)
