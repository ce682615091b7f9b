"""The SVM that every approximation of the χ² kernel aims at: exact Gram matrix, hinge, no bias."""

import numpy as np
from numba import njit
from scipy import sparse

from visualwords.classifiers import one_vs_rest
from visualwords.classifiers.solvers.dual_gram import solve_dual_gram
from visualwords.classifiers.solvers.problems import dual_problem


@njit
def add_rows(data, indices, bounds, values, rows, starts, out):
    """out[i, k] += sum_j 2 x_ij y_kj / (x_ij + y_kj); x by rows, y by columns."""
    for i in range(bounds.size - 1):
        target = out[i]
        for q in range(bounds[i], bounds[i + 1]):
            x, j = data[q], indices[q]
            for k in range(starts[j], starts[j + 1]):
                target[rows[k]] += 2 * x * values[k] / (x + values[k])


def chi2_gram(X, Y) -> np.ndarray:
    """Σ_j 2 x_j y_j / (x_j + y_j) of all pairs of rows, float32."""
    X, Y = sparse.csr_matrix(X), sparse.csc_matrix(Y)
    out = np.zeros((X.shape[0], Y.shape[0]), np.float32)
    add_rows(X.data, X.indices, X.indptr, Y.data, Y.indices, Y.indptr, out)
    return out


def predict_exactly(X, codes, X_test, C: float, tol: float) -> np.ndarray:
    """The class numbers that the exact χ² SVM gives to the test rows."""
    gram = chi2_gram(X, X)
    n_classes = int(codes.max()) + 1
    signs = one_vs_rest.signs(codes, n_classes)
    problem = dual_problem(np.full(codes.size, C), gram.diagonal().astype(float), "hinge")
    alpha, *_ = solve_dual_gram(gram, signs, problem, tol=tol, max_iter=1000, seed=0)
    scores = chi2_gram(X_test, X) @ (alpha * signs).T
    return one_vs_rest.labels_of(scores[:, 0] if n_classes == 2 else scores, np.arange(n_classes))
