"""Second-order pooling: how the components of an image's descriptors vary together."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from visualwords.codebook.projection import Projection
from visualwords.codebook.window_vectors import WindowVectors
from visualwords.compiled import njit
from visualwords.estimator import Labels, Seed
from visualwords.features.local_features import LocalFeatures
from visualwords.parallel import with_one_library_thread
from visualwords.progress import Progress


@dataclass(eq=False, repr=False)
class SecondOrderPooling(WindowVectors):
    """Encode local features by the logarithm of their second moments in each window [1]_.

    Descriptors are projected to principal components, each divided by its standard deviation. A
    window of n such x has

    L = log(Σ_i x_i x_iᵀ / n + ε I),

    the logarithm of a matrix, by which the curved space of covariances becomes flat [2]_. Its
    diagonal and √2 times what is above it are the window's numbers, of which ``sign(v) |v|^power``
    is brought to length 1. A window like all training images has L near 0. They are signed: use a
    linear classifier, or the GInt kernel.

    Parameters
    ----------
    n_components : int, default 64
        Principal components d.
    pyramid : SpatialPyramid, or what its ``windows`` may be; default 8
        The image, 2×2 windows and 3 horizontal strips.
    random_state : int, RandomState or None
    power : float, default 0.75, keyword only
        1 for none.
    regularization : float, default 0.1
        ε, in variances of a component.
    scope : {"window", "level", "image"}, default "window"
        What is brought to length 1.
    max_descriptors : int or None, default 200,000
        Learn from no more than these.

    Attributes
    ----------
    projection_ : Projection
        Principal components.
    center_, spread_ : (d,) float32
        What is subtracted from them, and what they are divided by.

    Notes
    -----
    Deviations from [1]_: components in place of all numbers of a descriptor, so that a window has
    d (d + 1) / 2 numbers (2,080 of 64); nothing is said about places and colours; moments are those
    of whitened components, and ε is larger, as folds of training images prefer
    (docs/lab/defaults.md). A window without descriptors is 0. Logarithms are computed without
    eigenvectors, in single precision, to some 1e-5 (`log_matrices`).

    References
    ----------
    .. [1] J. Carreira, R. Caseiro, J. Batista, C. Sminchisescu: Semantic segmentation with
       second-order pooling, ECCV 2012.
    .. [2] V. Arsigny, P. Fillard, X. Pennec, N. Ayache: Geometric means in a novel vector space
       structure on symmetric positive-definite matrices, SIAM J. Matrix Anal. Appl. 29, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.features.local_features import LocalFeatures
    >>> random = np.random.default_rng(0)
    >>> image = LocalFeatures(random.random((50, 6)), random.random((50, 2)), np.full(50, 16.0))
    >>> row = SecondOrderPooling(n_components=3, pyramid=1).fit_transform([image])
    >>> row.shape, float((row ** 2).sum().round(5))
    ((1, 6), 1.0)
    """

    n_components: int = 64
    pyramid: Any = 8
    random_state: Seed = None
    _: KW_ONLY
    power: float = 0.75
    regularization: float = 0.1
    scope: str = "window"
    max_descriptors: int | None = 200_000

    @with_one_library_thread
    def fit(self, X: Any, y: Labels = None, *, progress: Progress | None = None) -> Self:
        """Learn the principal components, and how much each varies.

        Parameters
        ----------
        X : LocalFeatureSets, iterable of LocalFeatures, or (n, d) array of descriptors
        y : sequence of one label an image, optional
            Classes, and the images of a class, have equal shares in the training descriptors. Not
            used with an array, which is taken as a sample.
        progress : ignored
        """
        self._check_parameters()
        from sklearn.utils import check_random_state

        random = check_random_state(self.random_state)
        descriptors = self._sample(X, y, random)
        n_components = min(self.n_components, descriptors.shape[1])
        self.projection_ = Projection.learn(descriptors, n_components)
        components = self.projection_.apply(descriptors)
        self.center_ = components.mean(axis=0, dtype=np.float64).astype(np.float32)
        spread = components.std(axis=0, dtype=np.float64)
        self.spread_ = np.maximum(spread, 1e-6 * max(spread.max(), 1e-30)).astype(np.float32)
        return self

    def whitened(self, descriptors: np.ndarray) -> np.ndarray:
        """The components of descriptors, each of variance 1 in the training images."""
        matrix = self.projection_.directions / self.spread_[:, None]
        whitened = descriptors.astype(np.float32, copy=False) @ matrix.T
        whitened -= ((self.projection_.offset + self.center_) / self.spread_).astype(np.float32)
        return whitened

    def moments(self, features: LocalFeatures) -> tuple[np.ndarray, np.ndarray]:
        """Σ x xᵀ / n of every window, (n_windows, d, d), and its number of patches."""
        pyramid, x = self._pyramid, self.whitened(features.descriptors)
        cells = pyramid.cells(features.positions)
        member, d = pyramid.membership.astype(np.float32), x.shape[1]
        counts = np.bincount(cells, minlength=member.shape[1])
        ends = np.cumsum(counts)
        x = x[np.argsort(cells, kind="stable")]
        sums = np.zeros((len(counts), d, d), np.float32)
        for cell in np.flatnonzero(counts):
            inside = x[ends[cell] - counts[cell] : ends[cell]]
            np.matmul(inside.T, inside, out=sums[cell])
        n = member @ counts.astype(np.float32)
        of_windows = (member @ sums.reshape(len(counts), -1)).reshape(-1, d, d)
        return of_windows / np.maximum(n, 1)[:, None, None], n

    def eigen(self, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, ε added, and eigenvectors of symmetric matrices."""
        values, vectors = np.linalg.eigh(moments)
        return np.maximum(values, 0) + np.float32(self.regularization), vectors

    def unfold(self, matrices: np.ndarray) -> np.ndarray:
        """Symmetric matrices as vectors of the same length: Σ v² = Σ m²."""
        d = matrices.shape[1]
        row, column = np.triu_indices(d)
        factors = np.where(row == column, 1.0, np.sqrt(2.0)).astype(matrices.dtype)
        return matrices[:, row, column] * factors

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        return {
            "mean": self.projection_.mean,
            "directions": self.projection_.directions,
            "center": self.center_,
            "spread": self.spread_,
        }

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Restore what :meth:`get_state` returned; the parameters must be the same."""
        self.projection_ = Projection(state["mean"], state["directions"])
        self.center_, self.spread_ = state["center"], state["spread"]
        shape = self.projection_.directions.shape[:1]
        if self.center_.shape != shape or self.spread_.shape != shape or not self.spread_.min() > 0:
            raise ValueError("the components and what they are divided by do not fit together")
        return self

    def _vectors(self, features: LocalFeatures) -> np.ndarray:
        """The logarithms of every window's moments."""
        moments, n = self.moments(features)
        found = np.empty((len(n), len(self.center_) * (len(self.center_) + 1) // 2), np.float32)
        log_matrices(moments, float(self.regularization), found)
        found[n == 0] = 0
        return found

    def _column_names(self) -> list[str]:
        """Names like ``component3_component5``."""
        row, column = np.triu_indices(len(self.center_))
        return [f"component{i}_component{j}" for i, j in zip(row, column)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self.regularization > 0:
            raise ValueError(f"regularization={self.regularization}; expected a positive number")


# Loops: Logarithms of symmetric positive definite matrices, by way of tridiagonal ones.
#
# A = Q T Qᵀ with T tridiagonal and Q a product of reflections (Householder), so that log A = Q
# log(T) Qᵀ. Of T, the logarithm is an integral of inverses, and those of a tridiagonal matrix are
# products of a few numbers: there are no eigenvectors.

_NODES = 16  # of the trapezoidal rule: at distance h, its error is about 4 exp(−2 π² / h)
_TAIL = 6.5  # they reach so far beyond the logarithms of eigenvalues: error exp(−2 tail)
_FAINT = 1e-14  # columns whose squares are below it, in those of ε, are taken for 0
_ROUNDING = 1e-6  # of sums of eigenvalues in single precision
_NOTHING = 1e-30  # numbers of an inverse below it are 0: products of such would be slow
_SUMS = {"reassoc", "nsz", "contract"}


@njit(fastmath=_SUMS)
def reflect(column, faint):
    """Make a column the v of I − β v vᵀ that takes it to (α, 0, …); return β and α.

    column : (m,) float32      faint : squares below it are taken for 0
    """
    rest = np.float32(0)
    for i in range(np.uint64(1), np.uint64(column.size)):
        rest += column[i] * column[i]
    first = column[0]
    if rest <= faint:
        return np.float32(0), first
    squares = first * first + rest
    length = np.float32(math.sqrt(squares))
    alpha = -length if first > 0 else length
    column[0] = first - alpha
    return np.float32(1) / (squares - first * alpha), alpha


@njit(fastmath=_SUMS)
def turn(matrix, v, beta, first, w):
    """matrix = H matrix H with H = I − β v vᵀ, in the rows from the first on; w is memory.

    matrix : (d, d) float32, symmetric      w : (d,) float32
    v : (d,) float32: whole rows, with zeros in v, take less time than parts of them
    """
    d = np.uint64(v.size)
    product = np.float32(0)
    w[:first] = 0
    for i in range(np.uint64(first), d):
        row, total = matrix[i], np.float32(0)
        for j in range(d):
            total += row[j] * v[j]
        w[i] = total
        product += total * v[i]
    shift = np.float32(0.5) * beta * product
    for i in range(d):
        w[i] = beta * (w[i] - shift * v[i])
    for i in range(np.uint64(first), d):
        row, of_v, of_w = matrix[i], v[i], w[i]
        for j in range(d):
            row[j] -= of_v * w[j] + of_w * v[j]


@njit(fastmath=_SUMS)
def tridiagonalize(a, faint, reflections, betas, diagonal, beside, w):
    """Leave Qᵀ A Q in diagonal and beside; row k of reflections is the v of reflection k.

    a, reflections : (d, d) float32, a is overwritten      betas, diagonal, w : (d,) float32
    beside : (d,) float32, whose last number stays 0
    """
    d = a.shape[0]
    for k in range(d - 1):
        v = reflections[k]
        v[: k + 1] = 0
        v[k + 1 :] = a[k, k + 1 :]
        diagonal[k] = a[k, k]
        betas[k], beside[k] = reflect(v[k + 1 :], faint)
        if betas[k] != 0:
            turn(a, v, betas[k], k + 1, w)
    diagonal[d - 1] = a[d - 1, d - 1]


@njit(fastmath=_SUMS)
def factorize(diagonal, beside, lowest, shifts, weights, factors, parts):
    """T + shift = L D Lᵀ of all shifts: −L beside the diagonal, and weight / D.

    diagonal, beside : (d,) float32      lowest : float32, no eigenvalue of T is smaller
    shifts, weights : (nodes,) float32      factors, parts : (d, nodes) float32
    """
    before = np.zeros(_NODES, np.float32)
    for i in range(diagonal.size):
        of_beside = beside[i - 1] if i else np.float32(0)
        for s in range(_NODES):  # no pivot is below the smallest eigenvalue, but for rounding
            pivot = diagonal[i] + shifts[s] + before[s] * of_beside
            pivot = max(pivot, lowest + shifts[s])
            before[s] = -beside[i] / pivot
            factors[i, s] = before[s]
            parts[i, s] = weights[s] / pivot


@njit()
def sum_inverses(factors, parts, rows, out):
    """out = Σ_s weight_s (T + shift_s)⁻¹: a row of an inverse is a multiple of the one below.

    factors, parts : (d, nodes) float32 of `factorize`      out : (d, d) float32
    rows : (nodes, d) float32, memory: whole rows, with zeros, take less time than parts of them
    """
    d = np.uint64(out.shape[0])
    rows[:], out[:] = 0, 0
    for i in range(out.shape[0] - 1, -1, -1):
        target = out[i]
        for s in range(_NODES):
            row, factor, on_diagonal = rows[s], factors[i, s], parts[i, s]
            if i + 1 < out.shape[0]:
                on_diagonal += factor * factor * row[i + 1]
            for j in range(d):
                value = factor * row[j]
                row[j] = value if abs(value) > _NOTHING else np.float32(0)
                target[j] += value
            row[i] = on_diagonal
            target[i] += on_diagonal
    for i in range(out.shape[0]):
        for j in range(i):
            out[i, j] = out[j, i]


@njit()
def log_tridiagonal(diagonal, beside, lowest, memory, out):
    """out = log T, by log(x / c) = ∫ t / (c + t) − t / (x + t) du over all u, t = exp(u).

    c is the largest eigenvalue or more. Beyond the first and the last node, terms fall like
    exp(−|u|): they are a multiple of these.

    diagonal, beside : (d,) float32      lowest : float64, no eigenvalue is smaller
    memory : (3, d, nodes) float32      out : (d, d) float32
    """
    d, largest = diagonal.size, lowest
    for i in range(d):
        before = abs(beside[i - 1]) if i else np.float32(0)
        largest = max(largest, diagonal[i] + before + abs(beside[i]))  # Gershgorin
    start, end = math.log(lowest) - _TAIL, math.log(largest) + _TAIL
    step = (end - start) / (_NODES - 1)
    shifts, weights = np.empty(_NODES, np.float32), np.empty(_NODES, np.float32)
    total = math.log(largest)
    for s in range(_NODES):
        shift, weight = math.exp(start + step * s), step
        if s in (0, _NODES - 1):
            weight /= 1.0 - math.exp(-step)
        shifts[s], weights[s] = shift, -weight * shift
        total += weight * shift / (largest + shift)
    factorize(diagonal, beside, np.float32(lowest), shifts, weights, memory[0], memory[1])
    sum_inverses(memory[0], memory[1], memory[2].reshape(_NODES, d), out)
    for i in range(d):
        out[i, i] += np.float32(total)


@njit(fastmath=_SUMS)
def log_matrices(matrices, epsilon, out):
    """out[k] = diagonal and √2 × what is above it of log(matrices[k] + ε I), row by row.

    matrices : (n, d, d) float32, positive semi-definite, overwritten
    epsilon : float64, raised where the rounding of a matrix would exceed it
    out : (n, d (d + 1) / 2) float32
    """
    n, d = matrices.shape[:2]
    reflections, found = np.empty((d, d), np.float32), np.empty((d, d), np.float32)
    of_t, memory = np.zeros((4, d), np.float32), np.empty((3, d, _NODES), np.float32)
    betas, diagonal, beside, w = of_t[0], of_t[1], of_t[2], of_t[3]
    root = np.float32(math.sqrt(2.0))
    for k in range(n):
        lowest = max(epsilon, _ROUNDING * np.trace(matrices[k]))
        faint = np.float32(_FAINT * lowest * lowest)
        for i in range(d):
            matrices[k, i, i] += np.float32(lowest)
        tridiagonalize(matrices[k], faint, reflections, betas, diagonal, beside, w)
        log_tridiagonal(diagonal, beside, lowest, memory, found)
        for m in range(d - 2, -1, -1):
            if betas[m] != 0:
                turn(found, reflections[m], betas[m], 0, w)
        start = 0
        for i in range(d):
            out[k, start] = found[i, i]
            for j in range(i + 1, d):
                out[k, start + j - i] = root * found[i, j]
            start += d - i
