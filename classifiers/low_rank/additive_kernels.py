"""Additive kernels of two numbers: power mean, Jensen–Shannon, or the user's own function."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from visualwords.classifiers.kernels import jensen_shannon, power_mean


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
        """Return κ(width x_i, width y_j), (n, m)."""
        return self.gram(self.width * x, self.width * y)

    def same(self, x: np.ndarray) -> np.ndarray:
        """Return κ(width x_i, width x_i), (n,)."""
        return self.diagonal(self.width * x)

    def of_multiples(self, width: float) -> "AdditiveKernel":
        """Return the kernel κ(width x, width y)."""
        return replace(self, width=self.width * width)


def additive_kernel(kernel: Any, p: float = -1) -> AdditiveKernel:
    """Return the kernel that a name or a function of two numbers means.

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


def _all_pairs(function: Callable[[Any, Any], Any], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.frompyfunc(function, 2, 1)(x[:, None], y), float)


def _with_itself(function: Callable[[Any, Any], Any], x: np.ndarray) -> np.ndarray:
    return np.asarray(np.frompyfunc(function, 2, 1)(x, x), float)


def _from_function(function: Callable[[Any, Any], Any]) -> AdditiveKernel:
    kernel = AdditiveKernel(partial(_all_pairs, function), partial(_with_itself, function))
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
