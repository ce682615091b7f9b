"""Linear classifiers that keep what they learned in plain arrays, for model files."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from visualwords.classifiers import one_vs_rest
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers.byte_rows import (
    ByteProblem,
    RowCoefficients,
    exact_product,
    solve_byte_rows,
    solve_on_products,
    sums_of_rows,
)
from visualwords.estimator import Seed, check_fitted, checked_rows, validate_data
from visualwords.parallel import with_one_library_thread

ROWS_AT_A_TIME = 512


@dataclass(eq=False, repr=False)
class LinearClassifier(one_vs_rest.ScoringClassifier):
    """scikit-learn's linear SVM or ridge regression without bias, whose state can be stored.

    For rows that are explicit feature vectors of a kernel already, as those of
    `visualwords.codebook.PyramidMatchEmbedding`: an additive kernel has nothing to add there.

    Parameters
    ----------
    C : float, default 1.0
    loss : {"squared_hinge", "squared_error"}
        Of an SVM, or of ridge regression of ±1 with λ = 1/(2 C).
    random_state : int, default 0
        Seed of the order in which samples are visited.
    n_jobs : ignored
        Solved by one thread; the parameter is there for exchange with other classifiers.
    class_weight : dict, "balanced" or None
        Factors of C for the samples of each class; "balanced": n_samples / (n_classes · count).

    Attributes
    ----------
    classes_ : ndarray
    coef_ : (n_classes, d) float32, or (1, d) for two classes
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    >>> model = LinearClassifier().fit(X, [0, 0, 1, 1])
    >>> LinearClassifier().set_state(model.get_state()).predict(X).tolist()
    [0, 0, 1, 1]
    """

    C: float = 1.0
    random_state: Seed = 0
    n_jobs: int | None = None
    _: KW_ONLY
    class_weight: one_vs_rest.ClassWeight = None
    loss: str = "squared_hinge"

    @with_one_library_thread
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn one weight for each column and class; samples count as often as they weigh."""
        one_vs_rest.check_linear(self.loss, self.C)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.classes_, codes = one_vs_rest.encode_labels(y)
        given = self.class_weight, sample_weight
        weight = one_vs_rest.sample_costs(1.0, codes, self.classes_, *given)
        if self.loss == "squared_error":
            signs = one_vs_rest.signs(codes, self.classes_.size).T
            cost = np.clip(self.C, one_vs_rest.SMALLEST_COST, one_vs_rest.LARGEST_COST)
            from sklearn.linear_model import Ridge

            ridge = Ridge(1 / (2 * cost), fit_intercept=False, random_state=self.random_state)
            found = ridge.fit(X, signs, sample_weight=weight)
            self.coef_ = np.atleast_2d(found.coef_).astype(np.float32)
            self.n_iter_ = 1
            return self
        from sklearn.svm import LinearSVC

        how = {"dual": True, "fit_intercept": False, "max_iter": 5000}
        solver = LinearSVC(C=self.C, random_state=self.random_state, **how)
        solver.fit(_with_short_indices(X), codes, sample_weight=weight)
        self.coef_ = solver.coef_.astype(np.float32)
        self.n_iter_ = int(solver.n_iter_)
        return self

    @with_one_library_thread
    def decision_function(self, X: Any) -> np.ndarray:
        """The scores: (n_samples, n_classes), or (n_samples,) for two classes."""
        check_fitted(self)
        X = checked_rows(self, X, [np.float64, np.float32])
        scores = X @ self.coef_.T
        return scores[:, 0] if self.classes_.size == 2 else scores

    def contributions(self, X: Any) -> np.ndarray:
        """The contribution of every column of one row to its scores; their sum is the score.

        Parameters
        ----------
        X : array or CSR matrix of shape (1, n_features)

        Returns
        -------
        (n_features, n_classes) float32, or (n_features, 1) for two classes
        """
        check_fitted(self)
        row = X.toarray()[0] if sparse.issparse(X) else np.asarray(X)[0]
        return row[:, None].astype(np.float32) * self.coef_.T

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_fitted(self)
        classes = one_vs_rest.storable(self.classes_)
        return {"classes": classes, "coef": self.coef_, "n_iter": np.array(self.n_iter_)}

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""
        self.classes_ = np.asarray(state["classes"])
        self.coef_ = np.asarray(state["coef"], np.float32)
        self.n_features_in_ = self.coef_.shape[1]
        self.n_iter_ = int(state["n_iter"])
        return self


@dataclass(eq=False, repr=False)
class ByteLinearClassifier(one_vs_rest.ScoringClassifier):
    """Linear SVM or ridge regression, one against the rest, no bias, of int8 rows.

    For encodings such as Fisher vectors, with thousands of columns. All classes, and the folds of
    ``fit_and_hold_out``, are solved together by dual coordinate descent: few rows on their exact
    Gram matrix (which regression factorises), many in blocks of rows, in memory or from a file,
    with time in proportion to their number (`visualwords.classifiers.solvers.byte_rows`). Weights
    are rounded to bytes, so that a score is a sum of whole numbers times one factor: the same on
    every machine, with any number of threads.

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

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[9, 0], [8, 1], [0, 9], [-1, 8]], np.int8)
    >>> ByteLinearClassifier().fit(X, ["a", "a", "b", "b"]).predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """

    C: float = 10.0
    random_state: int = 0
    n_jobs: int | None = None
    _: KW_ONLY
    tol: float = 0.1
    class_weight: one_vs_rest.ClassWeight = None
    loss: str = "squared_hinge"

    @with_one_library_thread
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the weights of int8 rows (n, d): an array, or a `RowFile` in random order."""
        self._solve(X, y, None, sample_weight)
        return self

    @with_one_library_thread
    def fit_and_hold_out(
        self, X: Any, y: ArrayLike, folds: np.ndarray, sample_weight: ArrayLike | None = None
    ) -> np.ndarray:
        """Fit, and return every row's scores by a model that was trained without its fold.

        Parameters
        ----------
        X : (n, d) int8 array, or RowFile whose rows are in random order
        y : (n,) labels
        folds : (n,) int
            The fold of every row; the rows outside of any fold must have all classes.
        sample_weight : (n,) positive numbers, optional

        Returns
        -------
        (n,) for two classes, else (n, n_classes)
        """
        held_out = self._solve(X, y, np.asarray(folds), sample_weight)
        assert held_out is not None
        return held_out

    @with_one_library_thread
    def fit_on_products(
        self,
        products: np.ndarray,
        y: ArrayLike,
        folds: np.ndarray,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[np.ndarray, RowCoefficients]:
        """Learn from X Xᵀ alone, (n, n) float64; return held-out scores and rows' coefficients.

        Who compares many classifiers needs the weights of the best only: `weigh` finds them.
        """
        problem = self._problem(y, np.asarray(folds), sample_weight)
        coefficients, held_out, _ = solve_on_products(products, problem)
        assert held_out is not None
        return held_out, coefficients

    @with_one_library_thread
    def weigh(self, X: Any, coefficients: RowCoefficients) -> Self:
        """Find the weights of int8 rows, an array or a `RowFile`, from their coefficients."""
        X = _checked(X)
        values, mean_square, n_iter = coefficients
        if len(X) != values.shape[1]:
            raise ValueError(f"{len(X)} rows; the coefficients are of {values.shape[1]}")
        self._keep(sums_of_rows(X, values), mean_square, n_iter)
        return self

    @with_one_library_thread
    def decision_function(self, X: Any) -> np.ndarray:
        """The scores: (n_samples, n_classes), or (n_samples,) for two classes."""
        check_fitted(self)
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
        """The contribution of every column of one row to its scores, (d, n_outputs) float64."""
        check_fitted(self)
        row = _checked(X)[0].astype(np.float64)
        return row[:, None] * (self.weights_ * self.factors_[:, None]).T

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_fitted(self)
        return {
            "classes": one_vs_rest.storable(self.classes_),
            "weights": self.weights_,
            "factors": self.factors_,
            "n_iter": np.array(self.n_iter_),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""
        self.classes_, self.n_iter_ = np.asarray(state["classes"]), int(state["n_iter"])
        self.weights_ = _checked(state["weights"])
        self.factors_ = np.asarray(state["factors"], np.float64)
        n_outputs = 1 if self.classes_.size == 2 else self.classes_.size
        if self.weights_.shape[0] != n_outputs or self.factors_.shape != (n_outputs,):
            raise ValueError("weights and classes do not belong together; the file is damaged")
        return self

    def _problem(
        self, y: ArrayLike, folds: np.ndarray | None, sample_weight: ArrayLike | None
    ) -> ByteProblem:
        """The machines of classes, which are learned."""
        one_vs_rest.check_linear(self.loss, self.C)
        self.classes_, codes = one_vs_rest.encode_labels(y)
        given = self.class_weight, sample_weight
        costs = one_vs_rest.sample_costs(self.C, codes, self.classes_, *given)
        settings = self.loss, self.tol, self.random_state, self.n_jobs
        return ByteProblem(codes, costs, self.classes_.size, folds, *settings)

    def _solve(
        self, X: Any, y: ArrayLike, folds: np.ndarray | None, sample_weight: ArrayLike | None
    ) -> np.ndarray | None:
        """Learn, and return held-out scores."""
        problem = self._problem(y, folds, sample_weight)
        solution, n_iter, _ = solve_byte_rows(_checked(X), problem)
        self._keep(solution.weights, solution.mean_square, n_iter)
        return solution.held_out

    def _keep(self, weights: np.ndarray, mean_square: float, n_iter: int) -> None:
        """Round weights to bytes."""
        largest = np.maximum(np.abs(weights).max(axis=1, initial=0), 1e-30).astype(np.float64)
        self.weights_ = np.empty(weights.shape, np.int8)
        for kept, row, factor in zip(self.weights_, weights, 127 / largest):
            kept[:] = np.rint(row * factor)
        self.factors_, self.n_iter_ = largest / 127 / mean_square, n_iter

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")


def _checked(X: Any) -> Any:
    X = X if isinstance(X, RowFile) else np.asarray(X)
    if X.dtype != np.int8 or X.ndim != 2:
        raise TypeError(f"rows of {X.dtype}, {X.ndim}-dimensional; needed is an int8 matrix")
    return X


def _with_short_indices(X: Any) -> Any:
    """A CSR matrix with the 32-bit indices that LIBLINEAR needs; arrays as they are."""
    if not sparse.issparse(X):
        return X
    if max(X.nnz, X.shape[1]) > np.iinfo(np.int32).max:
        raise ValueError(f"{X.nnz:,} non-zeros are too many; at most 2,147,483,647 can be solved")
    indices, starts = (a.astype(np.int32, copy=False) for a in (X.indices, X.indptr))
    return sparse.csr_array((X.data, indices, starts), X.shape)
