"""A coarse correction on a few nodes of every feature's levels, for correlated features.

Newton's method on tables is preconditioned by treating every feature alone. That is slow where
features carry the same information: then only the sum of their tables matters to the loss, and how
it is distributed is decided by the regulariser. Such differences are smooth in the level, so a few
nodes a feature, and the exact Hessian between these, are enough to get them right.
"""

from dataclasses import dataclass

import numpy as np

from visualwords.classifiers.solvers import _primal_table as loops

_SOME_ROWS = 1024  # that stand for all in the Hessian of the nodes …
_ROWS_A_NODE = 4  # … or more if there are many nodes; with fewer the estimate is too noisy
_RENEWED = 0.25  # change of the number of active rows that makes it out of date


@dataclass
class LevelNodes:
    """Tables that are linear between nodes, and the inverted Hessian of these.

    Attributes
    ----------
    nodes : (n_cells, 2) int64
        The two nodes between which a cell lies.
    shares : (n_cells, 2) float64
        How much the cell's value takes from each; 0 at level 0, which is not a node.
    inverse : (m, m) float64
        Empty while there is none.
    n_active : int
        Rows for which it was made.
    """

    nodes: np.ndarray
    shares: np.ndarray
    n_nodes: int
    inverse: np.ndarray
    n_active: int = 0

    def renew(
        self, cells: np.ndarray, rows: np.ndarray, weights: np.ndarray, stiffness: np.ndarray
    ) -> None:
        """Make the inverse for the active rows, unless it was made for about as many."""
        if abs(rows.size - self.n_active) <= _RENEWED * self.n_active:
            return
        wanted = max(_SOME_ROWS, _ROWS_A_NODE * self.n_nodes)
        some = rows[:: max(1, rows.size // wanted)]
        if some.size < _ROWS_A_NODE * self.n_nodes or not self.n_nodes:
            return
        parts = np.zeros((some.size, self.n_nodes))
        loops.rows_of_nodes(cells, some, self.nodes, self.shares, parts)
        parts *= np.sqrt(weights[some] * (weights[rows].sum() / weights[some].sum()))[:, None]
        hessian = parts.T @ parts
        loops.smoothness_of_nodes(stiffness, self.nodes, self.shares, hessian)
        self.inverse, self.n_active = np.linalg.inv(hessian), rows.size


def level_nodes(starts: np.ndarray) -> LevelNodes:
    """Spread nodes evenly over the cells of every feature: eight, or four of many features.

    Parameters
    ----------
    starts : (d + 1,) int64
        First cell of every feature, which is level 0.
    """
    d = starts.size - 1
    most = 8 if d <= 64 else 4
    above = np.diff(starts) - 1  # cells that are not level 0
    counts = np.minimum(above, most) if d <= 256 else np.zeros(d, np.int64)
    first = np.cumsum(counts) - counts
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], above + 1)
    spacing = np.repeat(above / np.maximum(counts, 1), above + 1)
    place = np.divide(within, spacing, out=np.zeros(within.size), where=spacing > 0)
    upper = np.ceil(place - 1e-9)
    share = place - (upper - 1)
    nodes = np.repeat(first, above + 1)[:, None] + (upper[:, None] - [1, 2])
    shares = np.stack([np.where(upper >= 1, share, 0), np.where(upper >= 2, 1 - share, 0)], axis=1)
    shares[np.repeat(counts == 0, above + 1)] = 0
    nodes = np.where(shares != 0, nodes, 0).astype(np.int64)
    return LevelNodes(nodes, shares, int(counts.sum()), np.empty((0, 0)))
