"""How much of each Gaussian is in an image: responsibilities and the sums they weight."""

import numpy as np

from visualwords.codebook._fisher import BLOCK, LANES, add_moments
from visualwords.codebook.byte_products import as_bytes, pack_columns
from visualwords.codebook.projection import AffineMap
from visualwords.simd import aligned_zeros

__all__ = ["LEAST", "SoftMoments"]

LEAST = 1e-4  # smaller shares of the largest responsibility count as 0
_LIMIT = 5.0  # largest coordinate that a byte represents
_MARGIN = 3.0  # standard errors by which bounds from bytes are apart from the estimate
_WIDEST = 8.0  # standard error up to which bounds from bytes are of use
_NARROWEST = 1e-6  # least variance
_FARTHEST = 1e12  # coordinate whose square, divided by the least variance, float32 holds
_NO_BYTES: tuple[np.ndarray, tuple[np.ndarray, ...]] = (
    np.zeros((0, 1), np.int32),
    (np.zeros((1, 1, 1, 1), np.int32), np.zeros(0, np.float32), np.zeros(0, np.float32)),
)


class SoftMoments:
    """Σ q, Σ q x and Σ q x² for a mixture of Gaussians with diagonal covariances.

    q are the responsibilities q_k = p(x, k) / p(x); those below 10⁻⁴ of a point's largest count
    as 0. Which Gaussians can be above it is found from coordinates and factors rounded to bytes:
    only those whose upper bound reaches the others' lower bounds are computed in float32.

    Parameters
    ----------
    weights : (k,) array
    means, variances : (k, d) arrays
        In coordinates whose mean is about 0 and whose variance is about 1; others give the same
        but need more time.

    Attributes
    ----------
    width : int
        Columns that points have: d, and zeros up to a multiple of 32.

    Examples
    --------
    >>> import numpy as np
    >>> sums = SoftMoments(np.ones(1), np.zeros((1, 1)), np.ones((1, 1)))
    >>> x = np.zeros((2, sums.width), np.float32)
    >>> x[:, 0] = 1, 2
    >>> zeroth, first, second = sums.of(x, np.array([0, 0], np.int32), 1)[:3]
    >>> zeroth.tolist(), first[0, 0, 0].tolist(), second[0, 0, 0].tolist()
    ([[2.0]], 3.0, 5.0)
    """

    def __init__(self, weights: np.ndarray, means: np.ndarray, variances: np.ndarray):
        k, self._d = means.shape
        self.width = self.padded(self._d)
        precisions = 1 / np.maximum(variances, _NARROWEST)
        constants = np.log(weights) - 0.5 * (
            np.log(2 * np.pi / precisions) + means**2 * precisions
        ).sum(axis=1)
        factors = np.zeros((k, 2, self.width))
        factors[:, 0, : self._d], factors[:, 1, : self._d] = means * precisions, -0.5 * precisions
        self._factors = aligned_zeros((k, 2 * self.width))
        self._factors[...] = factors.reshape(k, -1)
        self._constants = constants.astype(np.float32)
        self._tables, self._bounds = _screening(factors, constants, means, variances)

    @staticmethod
    def padded(d: int) -> int:
        """Return the columns that points of d coordinates have here."""
        return -(-d // 32) * 32

    def of(
        self, x: np.ndarray, cells: np.ndarray, n_cells: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the sums over the points of each cell, and the sum of log p(x).

        Parameters
        ----------
        x : (n, width) float32, C order
        cells : (n,) int32
        n_cells : int

        Returns
        -------
        (n_cells, k), (n_cells, k, d), (n_cells, k, d) float32, and float
        """
        zeroth, sums = self.empty(n_cells)
        likelihood = self.add(x, cells, zeroth, sums)
        parts = sums.reshape(n_cells, -1, 2, self.width)[..., : self._d]
        return zeroth, parts[:, :, 0], parts[:, :, 1], likelihood

    def empty(self, n_cells: int) -> tuple[np.ndarray, np.ndarray]:
        """Return zeros for :meth:`add`: (n_cells, k) and (n_cells k, 2 width) float32."""
        k = len(self._constants)
        return np.zeros((n_cells, k), np.float32), aligned_zeros((n_cells * k, 2 * self.width))

    def add(
        self,
        x: np.ndarray,
        cells: np.ndarray,
        zeroth: np.ndarray,
        sums: np.ndarray,
        affine: AffineMap | None = None,
    ) -> float:
        """Add the points to sums that :meth:`empty` made; return the sum of log p(x).

        With an affine map of the same width, x are what it makes the points of.
        """
        quads, projection = _NO_BYTES
        if affine is not None:
            prepared = affine.prepare(x)
            if prepared is None:
                with np.errstate(over="ignore", invalid="ignore"):
                    x = affine.apply(x)
                _check_nearness(x)
            else:
                quads, projection, x = *prepared, np.empty((0, self.width), np.float32)
        if not LANES:
            return self._add_by_products(x, cells, zeroth, sums)
        work = aligned_zeros((BLOCK, 2 * self.width))
        return add_moments(
            *(quads, projection, x, cells, self._tables, self._bounds, np.float32(_LIMIT)),
            *(self._factors, self._constants, np.float32(LEAST), work, zeroth, sums),
        )

    def _add_by_products(self, x, cells, zeroth, sums) -> float:
        """The same, for processors without products of bytes."""
        both = np.concatenate([x, x * x], axis=1)
        logits = both @ self._factors.T + self._constants
        top = logits.max(axis=1, keepdims=True, initial=-np.finfo(np.float32).max)
        shares = np.exp(logits - top)
        shares[shares < LEAST] = 0
        total = shares.sum(axis=1, keepdims=True)
        shares /= total
        by_cell = sums.reshape(*zeroth.shape, -1)
        for cell in np.unique(cells):
            inside = cells == cell
            zeroth[cell] += shares[inside].sum(axis=0)
            by_cell[cell] += shares[inside].T @ both[inside]
        return float((top + np.log(total)).sum(dtype=np.float64))


def _check_nearness(x: np.ndarray) -> None:
    if not np.abs(x).max(initial=0.0) <= _FARTHEST:
        raise ValueError(
            f"descriptors of this image are more than {_FARTHEST:.0e} times as far from the mean "
            "as those that the mixture was learned from; leave them out, or learn from such ones"
        )


def _screening(
    factors: np.ndarray, constants: np.ndarray, means: np.ndarray, variances: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Tables, scale, lower bound and distance to the upper one, for scores of bytes in 64ths.

    With codes c of the coordinates, x ≈ (c − 127.5) r / 127.5 and x² ≈ c r² / 255, r the
    limit. What is the same for all Gaussians is left out of the factors: their medians. Codes and
    factors are rounded, which for points of the Gaussian itself makes the standard error that
    bounds are multiples of.
    """
    k, d = means.shape
    step = np.array([_LIMIT / 127.5, _LIMIT**2 / 255])[:, None]
    relative = (factors - np.median(factors, axis=0)) * step
    codes, scales = as_bytes(relative.reshape(k, -1))
    rounded = (codes * scales[:, None]).reshape(relative.shape)
    rest = (relative - rounded)[:, :, :d]
    expected = np.stack([means, means**2 + variances], axis=1) / step
    spread = np.sqrt(np.stack([variances, 2 * variances**2 + 4 * means**2 * variances], 1)) / step
    offset = np.array([-127.5, 0.0])[:, None]
    middle = constants + (rounded * offset).sum(axis=(1, 2)) + (rest * expected).sum(axis=(1, 2))
    error = np.sqrt((relative**2).sum(axis=(1, 2)) / 12 + ((rest * spread) ** 2).sum(axis=(1, 2)))
    unknown = error > _WIDEST  # narrow Gaussians: always computed, and a bound for no other
    scale, lower = np.where(unknown, 0, 64 * scales), 64 * (middle - _MARGIN * error)
    lower[unknown], width = -(2.0**28), np.ceil(128 * _MARGIN * error + 2)
    width[unknown] = 2**29
    bounds = scale.astype(np.float32), lower.astype(np.float32), width.astype(np.int32)
    return pack_columns(codes), bounds
