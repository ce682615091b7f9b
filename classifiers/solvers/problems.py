"""What solvers get: HIK SVMs that share samples, and the dual problem of any SVM without bias."""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from visualwords.classifiers.tables.level_tables import Levels, TableLayout

Solved: TypeAlias = tuple[np.ndarray, int, float]  # what was learned, n_iter and violation
FINEST_SINGLE = 1e-3  # tolerances below this need scores of double precision


@dataclass(frozen=True)
class LevelProblem:
    """One-vs-rest HIK SVMs without bias, of quantised samples.

    A solver is a function of this that returns ``(tables, n_iter, violation)``: the tables T
    (cells, n_problems), float32, in the layout given; the passes of the slowest problem; and its
    largest violation in the last of them, which training wanted to be at most ``tol``.

    Attributes
    ----------
    levels : (n, d) unsigned array or CSR matrix
    rows : (m,) int64
        The samples that take part, in the order in which they count.
    layout : TableLayout
        Of the tables.
    codes : (m,) int64
        Class of every row.
    positive : (n_problems,) int64
        The class that is against the rest; two classes are one problem, of the second.
    cost : (m,) float64
        C of every row, > 0.
    loss : {"squared_hinge", "hinge"}
    tol : float
    max_iter : int
        Passes over the rows.
    seed : int or None
        Of the order of visits; None is the cyclic order.
    n_jobs : int or None
        Threads; the result does not depend on it.
    """

    levels: Levels
    rows: np.ndarray
    layout: TableLayout
    codes: np.ndarray
    positive: np.ndarray
    cost: np.ndarray
    loss: str
    tol: float
    max_iter: int
    seed: int | None
    n_jobs: int | None

    @property
    def signs(self) -> np.ndarray:
        """Targets ±1 of all problems, (n_problems, m) float64."""
        return np.where(self.codes == self.positive[:, None], 1.0, -1.0)

    @property
    def schedule(self) -> dict[str, Any]:
        """When to stop, and the order of visits: arguments of all solvers."""
        return {"tol": self.tol, "max_iter": self.max_iter, "seed": self.seed}


class DualProblem(NamedTuple):
    """min ½ αᵀ(Q + D)α − eᵀα, L ≤ α ≤ U, each sample with its own cost ([Wu10], Eq. 11).

    Attributes
    ----------
    diagonal : (n,) float64
        D_ii: 1/(2C_i) for the squared hinge and the squared error, 0 for the hinge.
    lower, upper : (n,) float64
        L_i: 0, or −∞ for the squared error; U_i: C_i for the hinge, else ∞.
    curvature : (n,) float64
        Q_ii + D_ii.
    """

    diagonal: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    curvature: np.ndarray


def dual_problem(cost: np.ndarray, norms: np.ndarray, loss: str) -> DualProblem:
    """The dual problem.

    Parameters
    ----------
    cost : (n,)
        C_i > 0.
    norms : (n,)
        Q_ii, the kernel's value of every sample with itself.
    loss : {"squared_hinge", "hinge", "squared_error"}
        The squared error (1 − y f)² is the squared hinge without a bound: α may be negative.
    """
    n = norms.size
    diagonal = np.zeros(n) if loss == "hinge" else 0.5 / cost
    lower = np.full(n, -np.inf if loss == "squared_error" else 0.0)
    upper = cost.astype(np.float64) if loss == "hinge" else np.full(n, np.inf)
    curvature = norms + diagonal
    curvature[curvature == 0] = 1e-12  # an all-zero row under the hinge: any step reaches U
    return DualProblem(diagonal, lower, upper, curvature)
