"""Kernel values of few rows against the same many, which are prepared once.

The kernel functions prepare both sides at each call, which takes longer than to compare one row.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernels import _support_columns as loops
from visualwords.classifiers.kernels._compact import fill_dense
from visualwords.classifiers.kernels._min_sums import ratio_rows
from visualwords.classifiers.kernels.checked_rows import power_remap
from visualwords.classifiers.kernels.compact import phi_table

FULL = 1 / 20  # share of non-zeros from which columns are compared as a whole
MINIMA = frozenset({"intersection", "gint", "gmm", "ngmm"})
BALLS = {"gcs": (0, 1.0), "cs": (0, 1.0), "triangular": (1, 1.0)}  # n (0: columns) and the factor
BALLS |= {"circular": (2, 2.0), "spherical": (3, 1.5)}
DISTANCES = frozenset({"laplace", *BALLS})
ADDITIVE = {
    "chi2": loops.add_harmonic,
    "power_mean": loops.add_harmonic,
    "jensen_shannon": loops.add_entropy,
}
NAMES = MINIMA | DISTANCES | {"polynomial", *ADDITIVE}


class SupportColumns:
    """Rows by columns, with what a kernel needs of them.

    Parameters
    ----------
    kernel : str
        One of `NAMES`; `suits` says for which it can be made.
    rows : ndarray or CSR array of shape (n, d)
    parameters : dict
        Keyword arguments of the kernel; widths are numbers.

    Examples
    --------
    >>> rows = np.array([[1.0, 3.0], [3.0, 0.0]])
    >>> SupportColumns("chi2", rows, {}).gram(np.array([[1.0, 3.0]]))
    array([[4. , 1.5]])
    """

    def __init__(self, kernel: str, rows: Any, parameters: dict[str, Any]):
        self.kernel, self.parameters = kernel, parameters
        columns = self._prepared(rows)
        self.columns = np.ascontiguousarray(columns.T)
        if kernel in DISTANCES:
            self.squares = np.einsum("ij,ij->i", columns, columns, dtype=np.float64)
        elif kernel in MINIMA:
            self.sums = np.abs(columns).sum(axis=1, dtype=np.float64)

    @staticmethod
    def suits(kernel: str, rows: Any, parameters: dict[str, Any]) -> bool:
        """Return whether columns are faster than the kernel function for few rows."""
        if kernel not in NAMES or parameters.get("p", -1) != -1:
            return False  # other power means need logarithms of both sides
        full = rows.nnz if sparse.issparse(rows) else rows.size
        return bool(full) and full >= FULL * rows.shape[0] * rows.shape[1]

    def gram(self, X: Any) -> np.ndarray:
        """Return kernel values, (len(X), n) float64."""
        rows = self._prepared(X)
        values = np.zeros((len(rows), self.columns.shape[1]))
        for row, out in zip(rows.astype(np.float64), values):
            self._loop()(row, self.columns, out)
            if self.kernel in DISTANCES:
                loops.to_distances(out, row, self.columns, float(row @ row), self.squares)
        self._finish(values, rows)
        return values

    def _prepared(self, rows: Any) -> np.ndarray:
        """Return dense rows with remapped values, or of unit sum."""
        rows = rows.toarray() if sparse.issparse(rows) else rows
        wide = rows.dtype.itemsize > 4 or self.parameters.get("a", 1.0) != 1
        rows = rows.astype(np.float64 if wide else np.float32, copy=False)
        if self.kernel in ("gint", "ngmm"):
            sums = np.abs(rows).sum(axis=1, dtype=np.float64)
            return (rows / np.where(sums > 0, sums, 1.0)[:, None]).astype(rows.dtype)
        return rows if self.kernel in MINIMA else power_remap(rows, self.parameters.get("a", 1.0))

    def _loop(self) -> Callable[..., None]:
        if self.kernel in MINIMA:
            return loops.add_minima
        return ADDITIVE.get(self.kernel, loops.add_products)

    def _finish(self, values: np.ndarray, rows: np.ndarray) -> None:
        """Turn sums of minima, distances or products into kernel values, in place."""
        given = self.parameters
        if self.kernel in ("gmm", "ngmm"):
            own = np.abs(rows).sum(axis=1, dtype=np.float64)
            ratio_rows(values, own, self.sums, 0, len(values))
        elif self.kernel == "laplace":
            np.exp(values / -given["sigma"], out=values)
        elif self.kernel in BALLS:
            n, factor = BALLS[self.kernel]
            table, end = phi_table(n or rows.shape[1])
            fill_dense(values, given["radius"], table * factor, end, given.get("sigma", 0.0))
        elif self.kernel == "polynomial":
            values *= given.get("gamma", 1.0)
            values += 1.0
            values **= int(given.get("degree", 2))
