"""A linear SVM of rows of signed bytes: exact sums, small files, the same scores everywhere."""

from itertools import pairwise
from math import ceil, sqrt
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from visualwords.classifiers import one_vs_rest
from visualwords.classifiers.calibration import divide
from visualwords.classifiers.solvers.dual_gram import FEWEST_LANES, dual_problem, solve_dual_gram
from visualwords.threads import with_one_library_thread
from visualwords.workers import map_on_workers, n_workers

__all__ = ["ByteLinearClassifier"]

COLUMNS_AT_A_TIME = 1024  # 1,024 · 127² < 2²⁴: sums of products are exact in float32
ROWS_AT_A_TIME = 512
LARGEST_GRAM = 1 << 31  # bytes
MAX_ITER = 1000


class ByteLinearClassifier(one_vs_rest.ScoreMixin, BaseEstimator):
    """Linear SVM (squared hinge, one against the rest, no bias) of int8 rows, many of columns.

    For encodings such as Fisher vectors, with far more columns than rows. The Gram matrix is
    computed once, exactly, in whole numbers; all classes, and the folds of ``held_out_scores``,
    are solved on it by dual coordinate descent. Weights are rounded to bytes, so that a score is a
    sum of whole numbers times one factor: the same on every machine, with any number of threads.

    Parameters
    ----------
    C : float, default 10
        Cost of an error, for rows whose mean squared length is 1; they are treated as such.
    class_weight : dict, "balanced" or None
        Factors of C for the samples of each class; "balanced": n_samples / (n_classes · count).
    random_state : int, default 0
        Of the order in which samples are visited.
    n_jobs : ignored
        Products are computed by NumPy; the parameter is there for exchange with other classifiers.
    tol : float, default 0.1
        Training stops once the largest and the smallest projected gradient differ by at most this
        (LIBLINEAR's rule and default).

    Attributes
    ----------
    classes_ : ndarray
    weights_ : (n_outputs, d) int8
    factors_ : (n_outputs,) float64
        A score is factor × (weights · row).
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[9, 0], [8, 1], [0, 9], [-1, 8]], np.int8)
    >>> ByteLinearClassifier().fit(X, ["a", "a", "b", "b"]).predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """

    def __init__(
        self,
        C: float = 10.0,
        random_state: int = 0,
        n_jobs: int | None = None,
        *,
        tol: float = 0.1,
        class_weight: Any = None,
    ):
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_one_library_thread
    def fit(self, X: Any, y: Any) -> "ByteLinearClassifier":
        """Learn the weights of int8 rows (n, d)."""
        X = _checked(X)
        self.classes_, codes = one_vs_rest.encode_labels(y)
        self._keep(X, *self._solve(self._gram(X), codes, self.classes_, [None])[0])
        return self

    @with_one_library_thread
    def fit_and_hold_out(self, X: Any, y: Any, folds: np.ndarray) -> np.ndarray:
        """Fit, and return every row's scores by a model that was trained without its fold.

        Parameters
        ----------
        X : (n, d) int8
        y : (n,) labels
        folds : (n,) int
            The fold of every row; the rows outside of any fold must have all classes.

        Returns
        -------
        (n,) for two classes, else (n, n_classes)
        """
        X = _checked(X)
        self.classes_, codes = one_vs_rest.encode_labels(y)
        gram = self._gram(X)
        divisions = divide(np.asarray(folds))
        whole, *others = self._solve(
            gram, codes, self.classes_, [None, *(train for train, _ in divisions)]
        )
        self._keep(X, *whole)
        return _held_out(gram, codes, divisions, others)

    def held_out_scores(self, X: Any, y: Any, folds: np.ndarray) -> np.ndarray:
        """Return every row's scores by a model that was trained without its fold."""
        X = _checked(X)
        classes, codes = one_vs_rest.encode_labels(y)
        gram, divisions = self._gram(X), divide(np.asarray(folds))
        solved = self._solve(gram, codes, classes, [train for train, _ in divisions])
        return _held_out(gram, codes, divisions, solved)

    @with_one_library_thread
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores: (n_samples, n_classes), or (n_samples,) for two classes."""
        check_is_fitted(self)
        X = _checked(X)
        if X.shape[1] != self.weights_.shape[1]:
            raise ValueError(f"{X.shape[1]} columns; the model has {self.weights_.shape[1]}")
        sums = np.empty((len(X), len(self.weights_)))
        for start in range(0, len(X), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            sums[rows] = exact_product(X[rows], self.weights_)
        scores = sums * self.factors_
        return scores[:, 0] if self.classes_.size == 2 else scores

    def contributions(self, X: Any) -> np.ndarray:
        """Return what every column of one row adds to its scores, (d, n_outputs) float64."""
        check_is_fitted(self)
        row = _checked(X)[0].astype(np.float64)
        return row[:, None] * (self.weights_ * self.factors_[:, None]).T

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_is_fitted(self)
        return {
            "classes": self.classes_,
            "weights": self.weights_,
            "factors": self.factors_,
            "n_iter": np.array(self.n_iter_),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> "ByteLinearClassifier":
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""
        self.classes_ = np.asarray(state["classes"])
        self.weights_ = _checked(state["weights"])
        self.factors_ = np.asarray(state["factors"], np.float64)
        self.n_iter_ = int(state["n_iter"])
        n_outputs = 1 if self.classes_.size == 2 else self.classes_.size
        if self.weights_.shape[0] != n_outputs or self.factors_.shape != (n_outputs,):
            raise ValueError("weights and classes do not belong together; the file is damaged")
        return self

    def _gram(self, X: np.ndarray) -> np.ndarray:
        """Products of rows whose mean squared length is 1."""
        n = len(X)
        if 4 * n * n > LARGEST_GRAM:
            most = int((LARGEST_GRAM / 4) ** 0.5)
            raise ValueError(
                f"{n} samples, but the matrix of their products may have at most {most} rows; "
                "use fewer samples, or a classifier without this limit such as ICDClassifier"
            )
        gram = _products(X)
        self._mean_square = max(float(np.mean(np.diagonal(gram))), 1.0)
        return (gram / self._mean_square).astype(np.float32)

    def _solve(
        self,
        gram: np.ndarray,
        codes: np.ndarray,
        classes: np.ndarray,
        parts: list[np.ndarray | None],
    ) -> list[tuple[np.ndarray, int]]:
        """Return the solutions for several parts of the rows; None is all of them.

        A solution is α y of every one-vs-rest problem, (n_outputs, n), and the passes it took.
        Each part, and within it each block of problems, may be solved by another worker.
        """
        signs = one_vs_rest.signs(codes, classes.size)
        costs = one_vs_rest.sample_costs(self.C, codes, classes, self.class_weight)
        blocks = one_vs_rest.blocks(len(signs), FEWEST_LANES)
        settings = {"tol": self.tol, "max_iter": MAX_ITER, "seed": self.random_state}
        pieces = [(rows, block) for rows in parts for block in blocks]
        shared = [gram, signs, costs, settings]
        solved = list(map_on_workers(_solve_block, pieces, shared=shared, n_jobs=1))
        of_parts = [solved[k : k + len(blocks)] for k in range(0, len(solved), len(blocks))]
        return [
            (np.concatenate([found for found, _ in part]), max(n_iter for _, n_iter in part))
            for part in of_parts
        ]

    def _keep(self, X: np.ndarray, coefficients: np.ndarray, n_iter: int) -> None:
        """Make the weights of a solution."""
        self.n_iter_ = n_iter
        weights = np.zeros((len(coefficients), X.shape[1]), np.float32)
        for start in range(0, X.shape[1], COLUMNS_AT_A_TIME):
            part = slice(start, start + COLUMNS_AT_A_TIME)
            weights[:, part] = coefficients @ X[:, part].astype(np.float64)
        largest = np.maximum(np.abs(weights).max(axis=1, initial=0), 1e-30).astype(np.float64)
        self.weights_ = np.rint(weights * (127 / largest)[:, None]).astype(np.int8)
        self.factors_ = largest / 127 / self._mean_square


def _solve_block(
    gram: np.ndarray,
    signs: np.ndarray,
    costs: np.ndarray,
    settings: dict[str, Any],
    rows: np.ndarray | None,
    block: np.ndarray,
) -> tuple[np.ndarray, int]:
    """Return α y of some problems on some rows, and the passes it took."""
    if rows is not None:
        gram = np.ascontiguousarray(gram[np.ix_(rows, rows)])
        signs, costs = signs[:, rows], costs[rows]
    norms = np.diagonal(gram).astype(np.float64)
    problem = dual_problem(np.arange(len(gram)), costs, norms, "squared_hinge")
    alpha, n_iter, _ = solve_dual_gram(gram, signs[block], problem, **settings)
    return alpha * signs[block], int(n_iter.max())


def _held_out(
    gram: np.ndarray,
    codes: np.ndarray,
    divisions: list[tuple[np.ndarray, np.ndarray]],
    solved: list[tuple[np.ndarray, int]],
) -> np.ndarray:
    """Return the scores of every fold's rows by the solution of the other rows."""
    n_classes = int(codes.max()) + 1
    scores = np.zeros((codes.size, 1 if n_classes == 2 else n_classes))
    for (train, test), (coefficients, _) in zip(divisions, solved):
        scores[test] = gram[np.ix_(test, train)].astype(np.float64) @ coefficients.T
    return scores[:, 0] if n_classes == 2 else scores


def _products(X: np.ndarray) -> np.ndarray:
    """Return X Xᵀ, in tiles where there are other workers: whole numbers are the same then."""
    if n_workers() == 1:
        return exact_product(X, X)
    edges = np.linspace(0, len(X), ceil(sqrt(2 * n_workers())) + 1).astype(int)
    tiles = [slice(*edge) for edge in pairwise(edges)]
    pairs = [(a, b) for k, a in enumerate(tiles) for b in tiles[: k + 1]]
    gram = np.empty((len(X), len(X)))
    products = map_on_workers(exact_product, ((X[a], X[b]) for a, b in pairs))
    for (a, b), found in zip(pairs, products, strict=True):
        gram[a, b], gram[b, a] = found, found.T
    return gram


def exact_product(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return X Yᵀ of int8 matrices as whole numbers in float64.

    Examples
    --------
    >>> import numpy as np
    >>> exact_product(np.array([[1, -2]], np.int8), np.array([[3, 4], [0, 127]], np.int8)).tolist()
    [[-5.0, -254.0]]
    """
    total = np.zeros((len(X), len(Y)))
    for start in range(0, X.shape[1], COLUMNS_AT_A_TIME):
        part = slice(start, start + COLUMNS_AT_A_TIME)
        left = X[:, part].astype(np.float32)
        right = left if X is Y else Y[:, part].astype(np.float32)
        total += left @ right.T
    return total


def _checked(X: Any) -> np.ndarray:
    X = np.asarray(X)
    if X.dtype != np.int8 or X.ndim != 2:
        raise TypeError(f"rows of {X.dtype}, {X.ndim}-dimensional; needed is an int8 matrix")
    return X
