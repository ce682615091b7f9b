"""Support vector classifier for any kernel: by name, by function, or precomputed."""

from typing import Any
from warnings import warn

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from visualwords.classifiers import calibration, kernel_problems, one_vs_rest
from visualwords.classifiers.kernels.banded import reorder
from visualwords.classifiers.kernels.by_name import (
    ALIASES,
    CAN_BE_SPARSE,
    NEED_NON_NEGATIVE,
    TAKE_SETS,
    are_sets,
    kernel_function,
    take,
)
from visualwords.classifiers.solvers.gram_rows import RowsOnDemand, StoredRows, gram_rows
from visualwords.classifiers.solvers.smo import Solution, solve
from visualwords.codebook.point_sets import as_feature_sets
from visualwords.threads import map_in_threads

ENTRIES_AT_A_TIME = 1 << 24  # kernel values in memory while predicting
BLOCK_OF_DENSE, BLOCK_OF_SPARSE = 2048, 512  # samples optimised together


class KernelSVC(ClassifierMixin, BaseEstimator):
    """Kernel SVM with an intercept: minimise ½‖w‖² + Σ C_i max(0, 1 − y_i f(x_i)).

    Parameters
    ----------
    kernel : str or function
        A name of ``visualwords.classifiers.kernels`` ("hik" is the intersection),
        "precomputed", or a function ``(X, Y, **kernel_params) -> (n, m) array`` called with
        ``Y=None`` for X against itself. A function may take lists of feature sets.
    C : float > 0
        Cost of a sample.
    kernel_params : dict or None
        Keyword arguments of the kernel, e.g. ``{"radius": 2.0, "a": 0.25}`` for "gcs".
    multi_class : {"ovr", "ovo"}
        One problem per class against the rest, or per pair of classes with votes.
    class_weight : dict, "balanced" or None
        Factors of C.
    probability : bool
        Fit ``predict_proba`` on held-out scores of a five-fold cross-validation.
    sub_polynomial : float in (0, 1] or None
        Treat a dominant diagonal: entries k become sign(k)|k|^p, and rows of the result the
        features of a linear kernel (the empirical kernel map).
    sparse_gram : bool
        Train on the sparse matrix of a compactly supported kernel ("gcs", "cs", …), reordered
        to a band; the dense matrix is never built.
    tol : float
        Allowed violation of the optimality condition, as in LIBSVM.
    max_iter : int
        Most blocks a problem may solve.
    cache_size : float
        Megabytes for kernel values in training: a Gram matrix that fits is kept whole, of a
        larger one the rows used last.
    random_state : int
        Of the folds for probabilities.
    n_jobs : int or None
        Threads for the problems; the result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    support_ : int array of shape (n_support,)
        Training samples that matter.
    support_vectors_ : array, CSR array or list of sets
        These samples; None if the kernel is precomputed.
    dual_coef_ : float array of shape (n_problems, n_support)
        y_i α_i, or the weights of the empirical kernel map.
    intercept_ : float array of shape (n_problems,)
    n_iter_ : int array of shape (n_problems,)
    bandwidth_ : tuple of int
        With ``sparse_gram``: largest |i − j| of a non-zero before and after reordering.
    density_ : float
        With ``sparse_gram``: share of non-zeros.
    side_ : int
        With ``kernel="pyramid_match"``: range of the training sets' coordinates.
    sigmoids_ : float array of shape (n_problems, 2)
        With ``probability``: slope and intercept of every class.

    Notes
    -----
    **Deviations from the papers.** [Grauman06] names the treatment of dominant diagonals without
    an exponent; it is a parameter here. [Boughorbel06] trains on a banded matrix; here the
    reordered matrix is kept as CSR, which stores no zeros within the band either.

    References
    ----------
    J. Weston, B. Schölkopf, E. Eskin, C. Leslie, W. Noble, "Dealing with Large Diagonals in
    Kernel Matrices", 2003. [Boughorbel06], Sec. 4. [Grauman06], Sec. 5.

    Examples
    --------
    >>> X = np.array([[9, 1, 0], [8, 0, 2], [0, 7, 3], [1, 9, 0]])
    >>> KernelSVC("hik").fit(X, ["sky", "sky", "sea", "sea"]).predict([[6, 2, 2]]).tolist()
    ['sky']
    """

    def __init__(
        self,
        kernel: Any = "hik",
        C: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        *,
        multi_class: str = "ovr",
        class_weight: Any = None,
        probability: bool = False,
        sub_polynomial: float | None = None,
        sparse_gram: bool = False,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        cache_size: float = 1000,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.kernel_params = kernel_params
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.probability = probability
        self.sub_polynomial = sub_polynomial
        self.sparse_gram = sparse_gram
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KernelSVC":
        """Train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or list of n feature sets
            With ``kernel="precomputed"``: the Gram matrix (n, n), dense or sparse.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Factors of C.
        """
        self._check_parameters()
        X, y = self._check(X, y)
        self.classes_, codes = one_vs_rest.encode_labels(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, ensure_non_negative=True)
        cost = one_vs_rest.sample_costs(
            self.C, codes, self.classes_, self.class_weight, sample_weight
        )
        rows, order, gram = self._training_rows(X, y.size)
        if self.sub_polynomial is None:
            table = self._train(rows, codes[order], cost[order])[:, np.argsort(order)]
        else:  # the rows of the treated Gram matrix are the features of a linear kernel
            features = rows.gram
            table = self._train(StoredRows(features @ features.T), codes, cost) @ features
        self.support_ = np.flatnonzero(table.any(axis=0))
        self.dual_coef_ = table[:, self.support_]
        self.support_vectors_ = None if self._is_precomputed() else take(X, self.support_)
        self.n_training_ = y.size
        if self.probability:
            scores = self._held_out_scores(X, y, gram, sample_weight)
            self.sigmoids_ = calibration.fit_sigmoids(scores, codes, sample_weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores: (n,) for two classes, positive for the second; else (n, n_classes).

        With "ovo" these are votes, ties decided by the sum of scores.

        Parameters
        ----------
        X : like that of ``fit``; with ``kernel="precomputed"`` K(x, training sample), (n, n_train)
        """
        check_is_fitted(self)
        X = self._check(X)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        step = max(1, ENTRIES_AT_A_TIME // max(1, self.support_.size))
        scores = np.empty((n, len(self.intercept_)))
        for start in range(0, n, step):
            part = np.arange(start, min(start + step, n))
            gram = self._treated(self._support_gram(take(X, part)))
            scores[part] = gram @ self.dual_coef_.T + self.intercept_
        if len(self.classes_) == 2:
            return scores[:, 0]
        if self.multi_class == "ovo":
            return kernel_problems.votes(scores, len(self.classes_))
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of every sample."""
        return one_vs_rest.labels_of(self.decision_function(X), self.classes_)

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of shape (n, n_classes); needs ``probability=True``."""
        return calibration.probabilities(self.decision_function(X), self.sigmoids_)

    def _check_parameters(self) -> None:
        if not self._is_precomputed():
            kernel_function(self.kernel)
        if self.multi_class not in ("ovr", "ovo"):
            raise ValueError(f"multi_class is {self.multi_class!r}; choose ovr or ovo")
        if not self.C > 0:
            raise ValueError(f"C is {self.C}, but the cost of a sample must be > 0")
        if self.sub_polynomial is not None and not 0 < self.sub_polynomial <= 1:
            raise ValueError(f"sub_polynomial is {self.sub_polynomial}, but must be in (0, 1]")
        if self.sparse_gram and (self.kernel not in CAN_BE_SPARSE or self.sub_polynomial):
            names = ", ".join(sorted(CAN_BE_SPARSE))
            raise ValueError(f"sparse_gram needs one of {names}, without sub_polynomial")

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check(self, X: Any, *y: Any) -> Any:
        """Validate samples (and labels, in training): a matrix, or a list of sets as it is."""
        by_name = not callable(self.kernel) and self.kernel in TAKE_SETS
        if by_name or (callable(self.kernel) and are_sets(X)):
            if by_name and y:  # all blocks of a Gram matrix need the range of the training points
                X = as_feature_sets(X, (self.kernel_params or {}).get("side"))
                self.side_: int = X.side
            elif by_name:
                X = as_feature_sets(X, self.side_)
            if not y:
                return X
            labels = column_or_1d(y[0], warn=True)
            check_consistent_length(X, labels)
            check_classification_targets(labels)
            return X, labels
        if y:
            X, labels = validate_data(self, X, y[0], accept_sparse="csr")
            check_classification_targets(labels)
            if self._is_precomputed() and X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed Gram matrix must be square, but is {X.shape}")
            return X, labels
        return validate_data(self, X, accept_sparse="csr", reset=False)

    def _block(self, X: Any, Y: Any = None) -> Any:
        """Kernel values of two sets of samples; sparse ones if they were asked for."""
        parameters = dict(self.kernel_params or {})
        if self.sparse_gram:
            parameters["sparse"] = True
        return kernel_function(self.kernel)(X, Y, **parameters)

    def _support_gram(self, X: Any) -> Any:
        if self._is_precomputed():
            return X[:, self.support_]
        return self._block(X, self.support_vectors_)

    def _treated(self, gram: Any) -> Any:
        """Entries to a power below one, which tames a dominant diagonal."""
        if self.sub_polynomial is None:
            return gram
        gram = gram.toarray() if sparse.issparse(gram) else gram
        return np.sign(gram) * np.abs(gram) ** self.sub_polynomial

    def _training_rows(self, X: Any, n: int) -> tuple[Any, np.ndarray, Any]:
        """The Gram matrix's rows, the order of the samples in it, and it itself if it is whole."""
        limit = int(self.cache_size * 1e6)
        whole = self._is_precomputed() or self.sparse_gram or self.sub_polynomial is not None
        rows: StoredRows | RowsOnDemand
        if whole:
            rows = StoredRows(X if self._is_precomputed() else self._block(X))
        else:
            rows = gram_rows(self._block, X, n, limit)
        if not isinstance(rows, StoredRows):
            return rows, np.arange(n), None
        gram = self._treated(rows.gram)
        if sparse.issparse(gram):
            banded = reorder(gram)
            self.bandwidth_ = (banded.bandwidth_before, banded.bandwidth)
            self.density_ = banded.density
            return StoredRows(banded.gram), banded.order, gram
        return StoredRows(gram), np.arange(n), rows.gram

    def _train(self, rows: Any, codes: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """Solve all problems; return their coefficients, (n_problems, n)."""
        found = kernel_problems.problems(codes, len(self.classes_), self.multi_class)
        is_stored = isinstance(rows, StoredRows)
        block = BLOCK_OF_SPARSE if is_stored and sparse.issparse(rows.gram) else BLOCK_OF_DENSE

        def train(problem: kernel_problems.Problem) -> Solution:
            samples = problem.samples
            part = rows if samples is None else rows.subset(samples)
            own_cost = cost if samples is None else cost[samples]
            return solve(
                part,
                problem.signs,
                own_cost,
                tol=self.tol,
                max_iter=self.max_iter,
                block_size=block,
            )

        n_jobs = self.n_jobs if is_stored else 1  # rows on demand are not for several threads
        solved = map_in_threads(train, found, n_jobs)
        self.intercept_ = np.array([solution.intercept for solution in solved])
        self.n_iter_ = np.array([solution.n_iter for solution in solved])
        worst = max(solution.violation for solution in solved)
        if worst > self.tol:
            warn(
                f"stopped at a violation of {worst:.2g} > tol={self.tol}; raise max_iter",
                ConvergenceWarning,
                stacklevel=3,
            )
        coefficients = [solution.coefficients for solution in solved]
        return kernel_problems.join(list(zip(found, coefficients)), codes.size)

    def _held_out_scores(self, X: Any, y: np.ndarray, gram: Any, sample_weight: Any) -> np.ndarray:
        """Scores of models trained without the samples, on the same Gram matrix if it is whole."""
        model = clone(self).set_params(probability=False, sparse_gram=False)
        if gram is None:
            model.set_params(sparse_gram=self.sparse_gram)
        else:
            model.set_params(kernel=_indexed(gram), kernel_params=None)
            X = np.arange(y.size, dtype=np.float64)[:, None]
        seed = {"random_state": self.random_state}
        return calibration.held_out_scores(model, X, y, sample_weight, **seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        name = ALIASES.get(self.kernel, self.kernel) if isinstance(self.kernel, str) else ""
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = name in NEED_NON_NEGATIVE
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


def _indexed(gram: Any) -> Any:
    """A kernel of sample numbers: the entries of a matrix that is there."""

    def entries(i: np.ndarray, j: np.ndarray | None) -> np.ndarray:
        rows = i[:, 0].astype(np.intp)
        columns = rows if j is None else j[:, 0].astype(np.intp)
        block = gram[rows][:, columns]
        return block.toarray() if sparse.issparse(block) else block

    return entries
