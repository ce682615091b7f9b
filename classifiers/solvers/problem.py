"""The dual problem that the coordinate descent solvers share ([Wu10], Eq. 11)."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DualProblem:
    """min ½ αᵀ(Q + D)α − eᵀα, 0 ≤ α ≤ U, over some of the samples, each with its own cost.

    Attributes
    ----------
    rows : (m,) int64
        The samples used in training. Other arrays have an element for every sample; those of
        unused samples are never read.
    diagonal : (n,) float64
        D_ii: 1/(2C_i) for the squared hinge, 0 for the hinge.
    upper : (n,) float64
        U_i: infinite for the squared hinge, C_i for the hinge.
    curvature : (n,) float64
        Q_ii + D_ii.
    """

    rows: np.ndarray
    diagonal: np.ndarray
    upper: np.ndarray
    curvature: np.ndarray


def dual_problem(rows: np.ndarray, cost: np.ndarray, norms: np.ndarray, loss: str) -> DualProblem:
    """Return the dual problem.

    Parameters
    ----------
    rows : (m,) int
        The samples used in training.
    cost : (m,)
        Their C_i > 0.
    norms : (n,)
        Q_ii = B(x_i)ᵀB(x_i) of all samples.
    loss : {"squared_hinge", "hinge"}
    """
    n = norms.size
    diagonal, upper = np.zeros(n), np.full(n, np.inf)
    if loss == "squared_hinge":
        diagonal[rows] = 0.5 / cost
    else:
        upper[rows] = cost
    curvature = norms + diagonal
    curvature[curvature == 0] = 1e-12  # an all-zero row under the hinge: any step reaches U
    return DualProblem(rows, diagonal, upper, curvature)
