"""Linear machines of rows of signed bytes: exact sums, small files, the same scores everywhere."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from visualwords.classifiers import one_vs_rest
from visualwords.classifiers.byte_blocks import exact_product
from visualwords.classifiers.byte_training import (
    Problem,
    Solution,
    solve_on_products,
    sums_of_rows,
    train_on_bytes,
)
from visualwords.classifiers.row_file import RowFile
from visualwords.parallel import with_one_library_thread

__all__ = ["ByteLinearClassifier"]

ROWS_AT_A_TIME = 512


class ByteLinearClassifier(one_vs_rest.ScoreMixin, BaseEstimator):
    """Linear SVM or ridge regression, one against the rest, no bias, of int8 rows.

    For encodings such as Fisher vectors, with thousands of columns. All classes, and the folds of
    ``fit_and_hold_out``, are solved together by dual coordinate descent: few rows on their exact
    Gram matrix (which regression factorises), many in blocks of rows, in memory or from a file,
    with time in proportion to their number (`visualwords.classifiers.byte_training`). Weights are
    rounded to bytes, so that a score is a sum of whole numbers times one factor: the same on every
    machine, with any number of threads.

    Parameters
    ----------
    C : float, default 10
        Cost of an error, for rows whose mean squared length is 1; they are treated as such.
    loss : {"squared_hinge", "squared_error"}
        C max(0, 1 − y f)² of an SVM, or C (1 − y f)², which is ridge regression of y = ±1 with
        λ = 1/(2 C). Of many classes, the second is often better.
    class_weight : dict, "balanced" or None
        Factors of C for the samples of each class; "balanced": n_samples / (n_classes · count).
    random_state : int, default 0
        Of the order in which samples are visited.
    n_jobs : int or None
        Threads, over groups of machines; the model does not depend on it.
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
    coefficients_ : (n_outputs, n) float64
        α y of every row; beside it ``mean_square_``, the mean squared length of rows. Both are of
        a classifier that has learned by `fit_on_products`, until `add_rows`.

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
        loss: str = "squared_hinge",
    ):
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_one_library_thread
    def fit(self, X: Any, y: Any) -> "ByteLinearClassifier":
        """Learn the weights of int8 rows (n, d): an array, or a `RowFile` in random order."""
        X = _checked(X)
        self._keep(train_on_bytes(X, self._problem(y, None)))
        return self

    @with_one_library_thread
    def fit_and_hold_out(self, X: Any, y: Any, folds: np.ndarray) -> np.ndarray:
        """Fit, and return every row's scores by a model that was trained without its fold.

        Parameters
        ----------
        X : (n, d) int8 array, or RowFile whose rows are in random order
        y : (n,) labels
        folds : (n,) int
            The fold of every row; the rows outside of any fold must have all classes.

        Returns
        -------
        (n,) for two classes, else (n, n_classes)
        """
        X = _checked(X)
        return self._keep(train_on_bytes(X, self._problem(y, np.asarray(folds))))

    @with_one_library_thread
    def fit_on_products(self, products: np.ndarray, y: Any, folds: np.ndarray) -> Any:
        """Learn from X Xᵀ alone, (n, n) float64; return held-out scores as `fit_and_hold_out` does.

        Weights are found by `add_rows`: who compares many classifiers needs those of the best only.
        """
        found = solve_on_products(products, self._problem(y, np.asarray(folds)))
        self.coefficients_, self.mean_square_ = found.coefficients, found.mean_square
        self.n_iter_ = found.n_iter
        _forget(self, "weights_", "factors_")
        return found.held_out

    @with_one_library_thread
    def add_rows(self, X: Any) -> "ByteLinearClassifier":
        """Find the weights of what `fit_on_products` learned from the products of int8 rows."""
        check_is_fitted(self, "coefficients_")
        X = np.asarray(_checked(X))
        if len(X) != self.coefficients_.shape[1]:
            raise ValueError(f"{len(X)} rows; the products were {self.coefficients_.shape[1]}")
        weights = sums_of_rows(X, self.coefficients_)
        self._keep(Solution(weights, self.mean_square_, self.n_iter_, None))
        return self

    @property
    def lacks_rows(self) -> bool:
        """Whether it has learned from products, and `add_rows` is to come."""
        return hasattr(self, "coefficients_")

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
        if self.lacks_rows:
            return {
                "classes": self.classes_,
                "coefficients": self.coefficients_,
                "mean_square": np.array(self.mean_square_),
                "n_iter": np.array(self.n_iter_),
            }
        check_is_fitted(self)
        return {
            "classes": self.classes_,
            "weights": self.weights_,
            "factors": self.factors_,
            "n_iter": np.array(self.n_iter_),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> "ByteLinearClassifier":
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""
        self.classes_, self.n_iter_ = np.asarray(state["classes"]), int(state["n_iter"])
        n_outputs = 1 if self.classes_.size == 2 else self.classes_.size
        if "coefficients" in state:
            self.coefficients_ = np.asarray(state["coefficients"], np.float64)
            self.mean_square_ = float(state["mean_square"])
            if self.coefficients_.shape[:1] != (n_outputs,) or self.coefficients_.ndim != 2:
                raise ValueError("coefficients and classes do not belong together")
            if not self.mean_square_ >= 1:
                raise ValueError(f"the mean square of bytes is {self.mean_square_}, below 1")
            return self
        self.weights_ = _checked(state["weights"])
        self.factors_ = np.asarray(state["factors"], np.float64)
        if self.weights_.shape[0] != n_outputs or self.factors_.shape != (n_outputs,):
            raise ValueError("weights and classes do not belong together; the file is damaged")
        return self

    def _problem(self, y: Any, folds: np.ndarray | None) -> Problem:
        """Return the machines of classes, which are learned."""
        one_vs_rest.check_linear(self.loss, self.C)
        self.classes_, codes = one_vs_rest.encode_labels(y)
        n_classes = self.classes_.size
        costs = one_vs_rest.sample_costs(self.C, codes, self.classes_, self.class_weight)
        settings = self.tol, self.random_state, self.n_jobs, self.loss
        return Problem(codes, costs, n_classes, folds, *settings)

    def _keep(self, found: Solution) -> Any:
        """Round the weights of a solution; return its held-out scores."""
        self.n_iter_ = found.n_iter
        largest = np.maximum(np.abs(found.weights).max(axis=1, initial=0), 1e-30)
        largest = largest.astype(np.float64)
        self.weights_ = np.empty(found.weights.shape, np.int8)
        for kept, weights, factor in zip(self.weights_, found.weights, 127 / largest):
            kept[:] = np.rint(weights * factor)
        self.factors_ = largest / 127 / found.mean_square
        _forget(self, "coefficients_", "mean_square_")
        return found.held_out

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")


def _forget(classifier: ByteLinearClassifier, *attributes: str) -> None:
    """Delete what an earlier training left, in another way of learning."""
    for name in attributes:
        classifier.__dict__.pop(name, None)


def _checked(X: Any) -> Any:
    X = X if isinstance(X, RowFile) else np.asarray(X)
    if X.dtype != np.int8 or X.ndim != 2:
        raise TypeError(f"rows of {X.dtype}, {X.ndim}-dimensional; needed is an int8 matrix")
    return X
