"""Graphs of what patches become: words in windows, Fisher vectors, second moments."""

import numpy as np
from numpy.polynomial import chebyshev

from visualwords.apps.export.graph import FLOAT, INT64, Value
from visualwords.apps.export.grid_graph import Grid
from visualwords.codebook import (
    BagOfWords,
    FisherVectors,
    HIKCodebook,
    KMeansCodebook,
    SecondOrderPooling,
    SpatialPyramid,
)
from visualwords.codebook.fisher import LEAST
from visualwords.codebook.projection import Projection
from visualwords.codebook.spatial_pyramid import as_pyramid

NARROWEST = 1e-6  # least variance of standardised coordinates
ROUNDING = 1e-6  # of sums of eigenvalues in single precision
CONDITION = 32768.0  # largest ratio of eigenvalues; smaller ones are raised
BLOCK, BLOCKS = 24, 24  # of the polynomial: its degree is below their product


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


def fisher_vector(fisher: FisherVectors, grids: list[Grid]) -> Value:
    """The gradients of all windows, (n_windows, 2 K d)."""
    g, pyramid, mixture = grids[0].descriptors.graph, as_pyramid(fisher.pyramid), fisher.mixture_
    center, spread = mixture.center, mixture.spread
    standard = mixture.moved(1 / spread, -center / spread)
    standard.variances = np.maximum(standard.variances, NARROWEST)
    x = _projected(grids, fisher.projection_, center, spread)
    both = g.concat([x, x * x], 1)
    factors, constants = standard.log_factors()
    logits = both @ factors.T.astype(np.float32) + constants.astype(np.float32)
    shares = g.op("Exp", logits - g.op("ReduceMax", logits, [1]))
    shares = g.where(shares >= LEAST, shares, 0.0)
    shares = shares / shares.sum(1, keep=True)
    ones = g.op("Expand", np.ones((1, 1), np.float32), g.shape(both.size(0), 1))
    sums, n = _sums_in_windows(shares, g.concat([both, ones], 1), pyramid, grids)
    k, d = standard.means.shape
    sums = sums.reshape(pyramid.n_windows, k, 2 * d + 1) / n.at_least(1.0).reshape(-1, 1, 1)
    first, second, mass = (sums.slice(2, *part) for part in ((0, d), (d, 2 * d), (2 * d,)))
    means, variances = (a.astype(np.float32) for a in (standard.means, standard.variances))
    root = np.sqrt(standard.weights)[:, None]
    of_means = (first - mass * means) * _single(1 / (root * np.sqrt(standard.variances)))
    squares = second - (first * 2.0 - mass * means) * means - mass * variances
    of_spreads = squares * _single(1 / (np.sqrt(2) * root * standard.variances))
    gradients = g.concat([part.reshape(-1, k * d) for part in (of_means, of_spreads)], 1)
    return normalized(gradients, pyramid, "l2", fisher.scope, fisher.power)


def second_moments(pooling: SecondOrderPooling, grids: list[Grid]) -> Value:
    """The logarithms of the second moments of all windows, (n_windows, d (d + 1) / 2)."""
    g, pyramid = grids[0].descriptors.graph, as_pyramid(pooling.pyramid)
    x = _projected(grids, pooling.projection_, pooling.center_, pooling.spread_)
    sums, n = _sums_in_windows(x, x, pyramid, grids)
    d = len(pooling.center_)
    moments = sums.reshape(-1, d, d) / n.at_least(1.0).reshape(-1, 1, 1)
    found = _logarithm(moments, pyramid.n_windows, d, float(pooling.regularization))
    row, column = np.triu_indices(d)
    upper = found.reshape(-1, d * d).gather(row * d + column, axis=1)
    upper = upper * np.where(row == column, 1.0, np.sqrt(2.0)).astype(np.float32)
    upper = g.where(n.reshape(-1, 1) > 0.0, upper, 0.0)
    return normalized(upper, pyramid, "l2", pooling.scope, pooling.power)


def _projected(
    grids: list[Grid], projection: Projection, center: np.ndarray, spread: np.ndarray
) -> Value:
    """The components of descriptors, less their centers, divided by their spreads."""
    x = grids[0].descriptors.graph.concat([grid.descriptors for grid in grids], 0)
    matrix = (projection.directions / spread[:, None]).T
    return x @ _single(matrix) - _single((projection.offset + center) / spread)


def _single(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, np.float32)


def _sums_in_windows(
    left: Value, right: Value, pyramid: SpatialPyramid, grids: list[Grid]
) -> tuple[Value, Value]:
    """Σ left rightᵀ over the patches of every window, and their number.

    Patches are sorted by cells; windows are sums of cells.

    Returns
    -------
    (n_windows, columns of left × columns of right) and (n_windows,) float32
    """
    g, n_cells = left.graph, pyramid.membership.shape[1]
    cells = cells_of(pyramid, grids)
    counts = g.count(cells, n_cells)
    if n_cells > 1:
        _, places = g.sorted(cells)
        left, right = left.gather(places), right.gather(places)
    left = left.transpose(1, 0)
    ends = g.op("CumSum", counts, np.array(0)).cast(INT64)

    def sum_in_cell(start: Value, end: Value) -> list[Value]:
        bounds = start.reshape(1), end.reshape(1)
        return [left.slice(1, *bounds) @ right.slice(0, *bounds)]

    (sums,) = g.scan([], [ends - counts.cast(INT64), ends], sum_in_cell)
    membership = g.constant(pyramid.membership)
    return membership @ sums.reshape(n_cells, -1), membership @ counts


def _logarithm(matrices: Value, n: int, d: int, epsilon: float) -> Value:
    """log(A + ε I) of symmetric positive semi-definite matrices (n, d, d).

    A polynomial of A divided by a bound of its eigenvalues: matrices that are multiples of one
    another commute, and operators for matrices have products only. Chebyshev's polynomials are
    added up in blocks, so that a degree of 575 needs 46 products.
    """
    g = matrices.graph
    eye = np.eye(d, dtype=np.float32)
    trace = (matrices * eye).reshape(n, -1).sum(1, keep=True)
    length = g.op("ReduceL2", matrices.reshape(n, d * d), [1])
    lowest = g.op("Max", trace * ROUNDING, length * (1 / CONDITION), epsilon)
    bound = (length + lowest).reshape(-1, 1, 1)
    low = 1 / CONDITION
    unit = (matrices + lowest.reshape(-1, 1, 1) * eye) / bound
    x = unit * (2 / (1 - low)) - eye * np.float32((1 + low) / (1 - low))
    coefficients = _blocks_of(
        chebyshev.chebinterpolate(
            lambda y: np.log((1 - low) / 2 * y + (1 + low) / 2), BLOCK * BLOCKS - 1
        )
    )
    one, zero = x * 0.0 + eye, x * 0.0
    last, _, powers = g.scan(
        [one, x], [g.zeros(BLOCK)], lambda t, after, _: [after, x @ after * 2.0 - t, t]
    )
    powers = powers.reshape(BLOCK, -1)

    def part(row: Value) -> Value:
        return (row.reshape(1, BLOCK) @ powers).reshape(n, d, d)

    above, found = g.scan(
        [zero, zero],
        [g.constant(_single(coefficients[:0:-1]))],
        lambda above, found, row: [found, last @ found * 2.0 + (part(row) - above)],
    )
    found = last @ found + (part(g.constant(_single(coefficients[:1]))) - above)
    return found + g.op("Log", bound) * eye


def _blocks_of(coefficients: np.ndarray) -> np.ndarray:
    """Coefficients of T_i(x) T_j(T_m(x)) from those of T_k(x), (BLOCKS, BLOCK): k = j m + i.

    T_{j m + i} = 2 T_i T_{j m} − T_{j m − i}.
    """
    found = np.zeros((BLOCKS, BLOCK))
    rest = coefficients.copy()
    for k in range(len(rest) - 1, -1, -1):
        j, i = divmod(k, BLOCK)
        if i and j:
            found[j, i] = 2 * rest[k]
            rest[j * BLOCK - i] -= rest[k]
        else:
            found[j, i] = rest[k]
    return found
