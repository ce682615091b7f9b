"""A linear classifier that keeps what it learned in plain arrays, for model files."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from visualwords.classifiers import one_vs_rest
from visualwords.parallel import with_one_library_thread

__all__ = ["LinearClassifier"]


class LinearClassifier(one_vs_rest.ScoreMixin, BaseEstimator):
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

    def __init__(
        self,
        C: float = 1.0,
        random_state: Any = 0,
        n_jobs: int | None = None,
        *,
        class_weight: Any = None,
        loss: str = "squared_hinge",
    ):
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_one_library_thread
    def fit(self, X: Any, y: Any) -> "LinearClassifier":
        """Learn one weight for each column and class."""
        one_vs_rest.check_linear(self.loss, self.C)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, codes = one_vs_rest.encode_labels(y)
        weight = None
        if self.class_weight is not None:
            weight = one_vs_rest.sample_costs(1.0, codes, self.classes_, self.class_weight)
        if self.loss == "squared_error":
            signs = one_vs_rest.signs(codes, self.classes_.size).T
            cost = np.clip(self.C, one_vs_rest.SMALLEST_COST, one_vs_rest.LARGEST_COST)
            ridge = Ridge(1 / (2 * cost), fit_intercept=False, random_state=self.random_state)
            found = ridge.fit(X, signs, sample_weight=weight)
            self.coef_ = np.atleast_2d(found.coef_).astype(np.float32)
            self.n_iter_ = 1
            return self
        solver = LinearSVC(
            C=self.C,
            dual=True,
            fit_intercept=False,
            random_state=self.random_state,
            max_iter=5000,
        ).fit(_with_short_indices(X), codes, sample_weight=weight)
        self.coef_ = solver.coef_.astype(np.float32)
        self.n_iter_ = int(solver.n_iter_)
        return self

    @with_one_library_thread
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores: (n_samples, n_classes), or (n_samples,) for two classes."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True)
        return scores[:, 0] if self.classes_.size == 2 else scores

    def contributions(self, X: Any) -> np.ndarray:
        """Return what every column of one row adds to its scores; their sum is the score.

        Parameters
        ----------
        X : array or CSR matrix of shape (1, n_features)

        Returns
        -------
        (n_features, n_classes) float32, or (n_features, 1) for two classes
        """
        check_is_fitted(self)
        row = X.toarray()[0] if sparse.issparse(X) else np.asarray(X)[0]
        return row[:, None].astype(np.float32) * self.coef_.T

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_is_fitted(self)
        return {"classes": self.classes_, "coef": self.coef_, "n_iter": np.array(self.n_iter_)}

    def set_state(self, state: dict[str, np.ndarray]) -> "LinearClassifier":
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""
        self.classes_ = np.asarray(state["classes"])
        self.coef_ = np.asarray(state["coef"], np.float32)
        self.n_features_in_ = self.coef_.shape[1]
        self.n_iter_ = int(state["n_iter"])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _with_short_indices(X: Any) -> Any:
    """Return a CSR matrix with the 32-bit indices that LIBLINEAR needs; arrays as they are."""
    if not sparse.issparse(X):
        return X
    if max(X.nnz, X.shape[1]) > np.iinfo(np.int32).max:
        raise ValueError(f"{X.nnz:,} non-zeros are too many; at most 2,147,483,647 can be solved")
    indices, starts = (a.astype(np.int32, copy=False) for a in (X.indices, X.indptr))
    return sparse.csr_array((X.data, indices, starts), X.shape)
