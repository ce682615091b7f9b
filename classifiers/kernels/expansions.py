"""Additive kernels of two numbers as products of short vectors, κ(x, y) ≈ s(x)ᵀ u(y), in [0, 1].

The kernel is a power mean, Jensen–Shannon's, or the user's own function. A classifier then keeps
one short vector w_j a feature: the score of a sample is Σ_j w_jᵀ s(x_j), and a step of the dual
solver adds a multiple of u(x_j).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from visualwords.classifiers.kernels.additive import jensen_shannon, power_mean
from visualwords.compiled import njit

AD_HOC_NODES = (0.01, 0.06, 0.75)  # [Yang12], Sec. 3
OFFSET = 0.05  # of the logarithm: [Yang12], Eq. 8
UNIFORM_SHARE = 0.2  # of the weight that the values of [0, 1] get whether or not training has them
ENOUGH = 5e-4  # mean error on a uniform grid, relative to κ(1, 1), at which rank 4 will do
ENOUGH_OF_OWN = 0.1  # likewise, of κ(x, x) of the values that occur, relative to itself
_NODES, _NODES_OF_A_RANK = 24, 6  # at most; more hardly change the error
_COARSE = np.linspace(0, 1, 51)  # grid on which the rank is decided
_LANES = 4  # vectors are padded with zeros to a multiple of this


@dataclass(frozen=True)
class AdditiveKernel:
    """κ(x, y) of two numbers, for all pairs of two lists or of each number with itself.

    Parameters
    ----------
    gram : function of two arrays (n,) and (m,)
        Returns κ of all pairs, (n, m).
    diagonal : function of an array (n,)
        Returns κ(x, x).
    width : float, default=1
        The numbers given are multiplied by this first.
    """

    gram: Callable[[np.ndarray, np.ndarray], np.ndarray]
    diagonal: Callable[[np.ndarray], np.ndarray]
    width: float = 1.0

    def pairs(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Κ(width x_i, width y_j), (n, m)."""
        return self.gram(self.width * x, self.width * y)

    def same(self, x: np.ndarray) -> np.ndarray:
        """Κ(width x_i, width x_i), (n,)."""
        return self.diagonal(self.width * x)


def additive_kernel(kernel: Any, p: float = -1) -> AdditiveKernel:
    """The kernel that a name or a function of two numbers means.

    Parameters
    ----------
    kernel : {"power_mean", "jensen_shannon"} or callable
        A callable takes two numbers ≥ 0, may be compiled by numba, and must be symmetric,
        continuous and zero where one of the numbers is.
    p : float ≤ 0
        Of "power_mean".

    Raises
    ------
    ValueError
        If the name is unknown, p is positive, or the function is not of that kind.

    Examples
    --------
    >>> additive_kernel(lambda x, y: x * y).pairs(np.array([0.5, 1.0]), np.array([0.5]))
    array([[0.25],
           [0.5 ]])
    >>> additive_kernel("power_mean", -1).pairs(np.array([1.0]), np.array([3.0]))
    array([[1.5]])
    """
    if callable(kernel):
        return _from_function(kernel)
    if kernel == "jensen_shannon":
        return AdditiveKernel(_entropies, _itself)
    if kernel != "power_mean":
        raise ValueError(
            f"kernel={kernel!r}: choose 'power_mean', 'jensen_shannon' or a function of two numbers"
        )
    if not p <= 0:
        raise ValueError(f"p={p}: the power mean kernel needs p ≤ 0 (−1: χ², −inf: intersection)")
    return AdditiveKernel(partial(_power_means, float(p)), _itself)


def _power_means(p: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """M_p of all pairs of two lists of numbers ≥ 0 ([Yang12], Eq. 4)."""
    return power_mean(x[:, None], y[:, None], p=p)


def _entropies(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Jensen–Shannon's term of all pairs of two lists of numbers ≥ 0."""
    return jensen_shannon(x[:, None], y[:, None])


def _itself(x: np.ndarray) -> np.ndarray:
    """κ(x, x) = x of a mean."""
    return x


def _each(
    function: Callable[[Any, Any], Any], pairs: bool, x: np.ndarray, y: np.ndarray | None = None
) -> np.ndarray:
    """The function of all pairs of two lists, or of each number with itself."""
    left, right = (x[:, None], y) if pairs else (x, x)
    return np.asarray(np.frompyfunc(function, 2, 1)(left, right), float)


def _from_function(function: Callable[[Any, Any], Any]) -> AdditiveKernel:
    kernel = AdditiveKernel(partial(_each, function, True), partial(_each, function, False))
    grid = np.linspace(0, 1, 11)
    values = kernel.pairs(grid, grid)
    if not np.isfinite(values).all() or not np.allclose(values, values.T):
        raise ValueError("kernel: the function must be finite and symmetric on [0, 1]")
    if np.abs(values[0]).max() > 1e-9 * np.abs(values).max():
        raise ValueError(
            "kernel: the function must be 0 where one of its arguments is 0 (absent features add "
            "nothing); subtract what it is there"
        )
    return kernel


@dataclass(frozen=True)
class EigenExpansion:
    """κ(x, y) ≈ ψ(x)ᵀψ(y), with the leading eigenfunctions of κ under a weight on [0, 1].

    Symmetric and positive semi-definite, like the kernel, and the best possible of its rank in the
    mean square under that weight. ψ(x) = κ(x, nodes) · projection, which is Nyström's formula.
    """

    kernel: AdditiveKernel
    nodes: np.ndarray
    projection: np.ndarray

    def score(self, x: np.ndarray) -> np.ndarray:
        """Ψ(x) of shape (n, rank), float32; zero for x = 0."""
        return _in_parts(lambda part: self.kernel.pairs(part, self.nodes) @ self.projection, x)

    update = score


@dataclass(frozen=True)
class PolynomialExpansion:
    """κ(x, y) ≈ Σ_k ℓ_k(ln(x + 0.05)) κ(c_k, y): the interpolation of [Yang12], Sec. 3 and 4.

    ℓ_k are Lagrange's polynomials of the nodes. The paper writes the same polynomial as
    Σ_k a_k ln(x + 0.05)ᵏ with a = X⁻¹ κ(c, y) (Eq. 8), whose powers lose all digits of float32 at
    higher degrees.
    """

    kernel: AdditiveKernel
    nodes: np.ndarray

    def score(self, x: np.ndarray) -> np.ndarray:
        """ℓ(ln(x + 0.05)) of shape (n, padded degree + 1), float32."""
        return _in_parts(self._lagrange, x)

    def update(self, x: np.ndarray) -> np.ndarray:
        """Κ(c, x) of the same shape."""
        return _in_parts(lambda part: _padded(self.kernel.pairs(part, self.nodes)), x)

    def diagonal(self, x: np.ndarray) -> np.ndarray:
        """Κ(x, x): the paper's Q_ii = ‖x_i‖₁ (Algorithm 2, line 2) for the power mean."""
        return np.asarray(self.kernel.same(x), np.float64)

    def _lagrange(self, x: np.ndarray) -> np.ndarray:
        t, c = np.log(x + OFFSET), np.log(self.nodes + OFFSET)
        basis = np.ones((x.size, c.size))
        for k in range(c.size):
            for other in np.delete(c, k):
                basis[:, k] *= (t - other) / (c[k] - other)
        return _padded(basis)


def eigen_expansion(
    kernel: AdditiveKernel,
    values: np.ndarray,
    weights: np.ndarray | None = None,
    rank: int | str = "auto",
) -> EigenExpansion:
    """The eigenfunction expansion of a kernel for data that are distributed as given.

    Parameters
    ----------
    kernel : AdditiveKernel
    values : (m,) increasing, in [0, 1]
        Values that occur, or a uniform grid.
    weights : (m,), optional
        How often each occurs; default: equally often. A fifth of the weight is spread evenly over
        [0, 1] in any case, so that values that training lacks are approximated too.
    rank : int or "auto"
        "auto": 4 if the mean error over a uniform grid is then at most 5e-4 of κ(1, 1) and κ(x, x)
        of the values that occur is right to a tenth on average, else 8. The latter fails where
        values differ by orders of magnitude, and the largest decide the leading eigenfunctions.

    Examples
    --------
    >>> expansion = eigen_expansion(additive_kernel("power_mean"), np.linspace(0, 1, 1001))
    >>> bool(kernel_error(expansion, np.linspace(0, 1, 101)).mean() < 1e-4)
    True
    """
    weights = np.zeros(values.size) if weights is None else np.asarray(weights, float)
    if rank == "auto":
        small = eigen_expansion(kernel, values, weights, 4)
        close = _is_close(small, values, weights)
        return small if close else eigen_expansion(kernel, values, weights, 8)
    sums, mass = np.zeros((2, max(_NODES, _NODES_OF_A_RANK * int(rank))))
    quadrature(values, weights, UNIFORM_SHARE, sums, mass)
    nodes, root = sums[mass > 0] / mass[mass > 0], np.sqrt(mass[mass > 0])
    eigenvalues, vectors = np.linalg.eigh(root[:, None] * kernel.pairs(nodes, nodes) * root)
    order = np.argsort(eigenvalues)[::-1]
    usable = order[eigenvalues[order] > 1e-13 * np.abs(eigenvalues).max()]
    if usable.size == 0:
        raise ValueError("kernel: no positive eigenvalue; the function must be positive definite")

    kept = usable[: int(rank)]
    projection = root[:, None] * vectors[:, kept] / np.sqrt(eigenvalues[kept])
    return EigenExpansion(kernel, nodes, _padded(projection))


def _is_close(expansion: EigenExpansion, values: np.ndarray, weights: np.ndarray) -> bool:
    """Whether an expansion is right on a uniform grid, and for the values that occur."""
    same = expansion.kernel.same
    if kernel_error(expansion, _COARSE).mean() > ENOUGH * same(np.ones(1))[0]:
        return False
    occurring = np.flatnonzero(weights)
    own = np.asarray(same(values[occurring]), np.float64)
    if not own.any():
        return True
    found = np.einsum("lr,lr->l", *2 * [expansion.score(values[occurring])], dtype=np.float64)
    errors = np.abs(found - own) / np.maximum(own, np.finfo(np.float64).tiny)
    return bool(np.average(errors, weights=weights[occurring]) <= ENOUGH_OF_OWN)


def polynomial_expansion(
    kernel: AdditiveKernel, degree: int = 2, nodes: str | np.ndarray = "chebyshev"
) -> PolynomialExpansion:
    """The polynomial expansion of a kernel with the paper's nodes.

    Parameters
    ----------
    kernel : AdditiveKernel
    degree : int ≥ 1
        Not used by "adhoc", whose degree is 2.
    nodes : {"chebyshev", "adhoc"}
        "chebyshev": Eq. 16 on the interval of the polynomial's variable, [ln 0.05, ln 1.05].

    Examples
    --------
    >>> polynomial_expansion(additive_kernel("power_mean"), degree=2).nodes.round(3).tolist()
    [0.806, 0.179, 0.011]
    """
    if nodes == "adhoc":
        return PolynomialExpansion(kernel, np.array(AD_HOC_NODES))
    if nodes != "chebyshev":
        raise ValueError(f"nodes={nodes!r}: choose 'chebyshev' or 'adhoc'")
    angles = (2 * np.arange(1, degree + 2) - 1) / (2 * (degree + 1)) * np.pi
    low, high = np.log(OFFSET), np.log(1 + OFFSET)
    return PolynomialExpansion(
        kernel, np.exp((low + high) / 2 + (high - low) / 2 * np.cos(angles)) - OFFSET
    )


def kernel_error(expansion: EigenExpansion | PolynomialExpansion, x: np.ndarray) -> np.ndarray:
    """|s(x)ᵀu(y) − κ(x, y)| for all pairs of x."""
    score = expansion.score(x).astype(float)
    update = score if isinstance(expansion, EigenExpansion) else expansion.update(x).astype(float)
    return np.abs(score @ update.T - expansion.kernel.pairs(x, x))


@njit()
def quadrature(values, weights, uniform, sums, mass):
    """Divide [0, 1] into bins of about the same weight; sums / mass are the nodes.

    values : (m,) increasing      weights : (m,), of which a share ``uniform`` is spread evenly
    sums, mass : (n_bins,) zeros; weighted sum of the values in every bin, and its weight
    """
    total, width, reached = weights.sum(), values[-1] - values[0], 0.0
    for k in range(values.size):
        neighbours = values[min(k + 1, values.size - 1)] - values[max(k - 1, 0)]
        share = neighbours / (2 * width)
        if total > 0:
            share = uniform * share + (1 - uniform) * weights[k] / total
        place = min(int((reached + share / 2) * mass.size), mass.size - 1)
        mass[place] += share
        sums[place] += share * values[k]
        reached += share


def _padded(vectors: np.ndarray) -> np.ndarray:
    """Zero columns up to a multiple of the vector length."""
    missing = -vectors.shape[1] % _LANES
    return np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors


def _in_parts(function: Any, x: np.ndarray) -> np.ndarray:
    """function(x) as float32, computed for some thousand numbers at a time."""
    parts = [function(x[start : start + 4096]) for start in range(0, x.size, 4096)]
    return np.ascontiguousarray(np.concatenate(parts), np.float32)
