"""A linear SVM of rows of signed bytes: exact sums, small files, the same scores everywhere."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from visualwords.classifiers import one_vs_rest
from visualwords.classifiers.byte_blocks import exact_product
from visualwords.classifiers.byte_training import Problem, Solution, train_on_bytes
from visualwords.classifiers.row_file import RowFile
from visualwords.threads import with_one_library_thread

__all__ = ["ByteLinearClassifier"]

ROWS_AT_A_TIME = 512


class ByteLinearClassifier(one_vs_rest.ScoreMixin, BaseEstimator):
    """Linear SVM (squared hinge, one against the rest, no bias) of int8 rows, many of columns.

    For encodings such as Fisher vectors, with thousands of columns. All classes, and the folds of
    ``fit_and_hold_out``, are solved together by dual coordinate descent: few rows on their exact
    Gram matrix, many in blocks of rows, in memory or from a file, with time in proportion to their
    number (`visualwords.classifiers.byte_training`). Weights are rounded to bytes, so that a
    score is a sum of whole numbers times one factor: the same on every machine, with any number of
    threads.

    Parameters
    ----------
    C : float, default 10
        Cost of an error, for rows whose mean squared length is 1; they are treated as such.
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
        """Learn the weights of int8 rows (n, d): an array, or a `RowFile` in random order."""
        self._keep(*self._train(X, y, None))
        return self

    @with_one_library_thread
    def fit_and_hold_out(
        self, X: Any, y: Any, folds: np.ndarray, products: np.ndarray | None = None
    ) -> np.ndarray:
        """Fit, and return every row's scores by a model that was trained without its fold.

        Parameters
        ----------
        X : (n, d) int8 array, or RowFile whose rows are in random order
        y : (n,) labels
        folds : (n,) int
            The fold of every row; the rows outside of any fold must have all classes.
        products : (n, n) float64, optional
            X Xᵀ, where it is known.

        Returns
        -------
        (n,) for two classes, else (n, n_classes)
        """
        return self._keep(*self._train(X, y, np.asarray(folds), products))

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

    def _train(
        self, X: Any, y: Any, folds: np.ndarray | None, products: np.ndarray | None = None
    ) -> tuple[np.ndarray, Solution]:
        """Return the classes and what was learned of them."""
        X = _checked(X)
        classes, codes = one_vs_rest.encode_labels(y)
        costs = one_vs_rest.sample_costs(self.C, codes, classes, self.class_weight)
        problem = Problem(
            codes, costs, classes.size, folds, self.tol, self.random_state, self.n_jobs
        )
        return classes, train_on_bytes(X, problem, products)

    def _keep(self, classes: np.ndarray, found: Solution) -> Any:
        """Round the weights of a solution; return its held-out scores."""
        self.classes_, self.n_iter_ = classes, found.n_iter
        largest = np.maximum(np.abs(found.weights).max(axis=1, initial=0), 1e-30)
        largest = largest.astype(np.float64)
        self.weights_ = np.rint(found.weights * (127 / largest)[:, None]).astype(np.int8)
        self.factors_ = largest / 127 / found.mean_square
        return found.held_out


def _checked(X: Any) -> Any:
    X = X if isinstance(X, RowFile) else np.asarray(X)
    if X.dtype != np.int8 or X.ndim != 2:
        raise TypeError(f"rows of {X.dtype}, {X.ndim}-dimensional; needed is an int8 matrix")
    return X
