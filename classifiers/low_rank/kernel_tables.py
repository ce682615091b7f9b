"""The tables of a kernel expansion for given data: T1 and T2 of [Yang12], for any expansion."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.low_rank.additive_kernels import AdditiveKernel, additive_kernel
from visualwords.classifiers.low_rank.kernel_expansions import (
    EigenExpansion,
    eigen_expansion,
    polynomial_expansion,
)
from visualwords.classifiers.low_rank.level_rows import (
    LevelRows,
    LevelScale,
    arrange_by_length,
    level_rows,
    level_scale,
    level_weights,
    rows_by_length,
)
from visualwords.classifiers.low_rank.level_survey import Survey

_LEVELS = 1000  # that describe the distribution of the values where no table is used


@dataclass(frozen=True)
class KernelTables:
    """Turns data into rows of levels, and gives the vectors that the levels stand for.

    Parameters
    ----------
    scale : LevelScale
    score : (levels, rank) float32
        s of every level (T1, with all its powers).
    expansion : EigenExpansion or PolynomialExpansion, optional
        Not needed for prediction by table.
    exact : bool
        Every distinct value of the data read is a level of its own; ``score`` is not used.
    """

    scale: LevelScale
    score: np.ndarray
    expansion: Any = None
    exact: bool = False

    def read(
        self, X: Any, place: np.ndarray, by_length: bool = False
    ) -> tuple[LevelRows, np.ndarray, np.ndarray]:
        """Return the pairs of X, the vectors s of their levels, and the levels' values.

        Parameters
        ----------
        X : array or canonical CSR matrix
        place : (n_columns + 1,) uint32
            New column of every old one; empty: they keep theirs.
        by_length : bool
            Short rows first.
        """
        if not self.exact:
            make = rows_by_length if by_length else level_rows
            return make(X, self.scale, place), self.score, self.scale.values()
        rows, values = _distinct_rows(X, self.scale, place, by_length)
        return rows, self.expansion.score(values), values

    def update(self, score: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the vectors u (T2) of some levels and what each adds to Q_ii."""
        if isinstance(self.expansion, EigenExpansion):
            return score, np.einsum("lr,lr->l", score, score, dtype=np.float64)
        return self.expansion.update(values), self.expansion.diagonal(values)


def make_tables(found: Survey, how: Mapping[str, Any]) -> KernelTables:
    """Return the tables for surveyed data.

    Parameters
    ----------
    found : Survey
    how : mapping
        Parameters of ``PmSVMClassifier``.
    """
    spacing = how["spacing"] if how["approximation"] == "eigen" else "uniform"
    exact = how["table_size"] is None
    top = _LEVELS if exact else int(how["table_size"])
    scale = level_scale(found, how["scaling"], top, spacing)
    kernel, values = _kernel(how, scale), scale.values()
    expansion: Any
    if how["approximation"] == "eigen":
        expansion = eigen_expansion(kernel, values, level_weights(found, scale), how["rank"])
    else:
        expansion = polynomial_expansion(kernel, how["degree"], how["nodes"])
    return KernelTables(scale, expansion.score(values), expansion, exact)


def tables_state(tables: KernelTables) -> dict[str, np.ndarray]:
    """Return what prediction needs of the tables, as arrays."""
    state = {
        "score_table": tables.score,
        "shift": tables.scale.shift,
        "factor": tables.scale.factor,
        "root": np.array(tables.scale.root),
    }
    if tables.exact and isinstance(tables.expansion, EigenExpansion):
        state |= {"nodes": tables.expansion.nodes, "projection": tables.expansion.projection}
    return state


def tables_from_state(state: dict[str, np.ndarray], how: dict[str, Any]) -> KernelTables:
    """Return the tables whose state this is; ``how`` as in :func:`make_tables`."""
    table = np.asarray(state["score_table"], np.float32)
    shift, factor = (np.asarray(state[name], np.float32) for name in ("shift", "factor"))
    scale = LevelScale(shift, factor, table.shape[0] - 1, bool(state["root"]))
    exact = how["table_size"] is None
    expansion: Any = None
    if "nodes" in state:
        expansion = EigenExpansion(_kernel(how, scale), state["nodes"], state["projection"])
    elif exact:
        expansion = polynomial_expansion(_kernel(how, scale), how["degree"], how["nodes"])
    return KernelTables(scale, table, expansion, exact)


def _kernel(how: Mapping[str, Any], scale: LevelScale) -> AdditiveKernel:
    """The kernel of two numbers in [0, 1]; a global scaling is undone."""
    kernel = additive_kernel(how["kernel"], how["p"])
    if how["scaling"] != "global" or scale.factor[0] == 0:
        return kernel
    return kernel.of_multiples(1 / float(scale.factor[0]))


def _distinct_rows(
    X: Any, scale: LevelScale, place: np.ndarray, by_length: bool
) -> tuple[LevelRows, np.ndarray]:
    """Pairs whose level is the position of the value among the distinct ones, and these."""
    if not sparse.issparse(X):
        X = sparse.csr_matrix(np.asarray(X, np.float32) - scale.shift)
        scale = LevelScale(np.zeros(1, np.float32), scale.factor, scale.top)
    order = None
    if by_length:
        order, *_ = arrange_by_length(np.diff(X.indptr))
        X = X[order]
    shares = scale.shares(X.indices, X.data.astype(np.float64))
    distinct, levels = np.unique(shares, return_inverse=True)
    columns = place[X.indices] if place.size else X.indices.astype(np.uint32)
    bounds = X.indptr.astype(np.int64)
    return LevelRows(columns, levels.astype(np.uint32), bounds, order), distinct
