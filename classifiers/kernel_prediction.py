"""Scores from support vectors, and their state: the half of a kernel SVM that predicts."""

from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from visualwords.classifiers import kernel_problems, one_vs_rest
from visualwords.classifiers.kernels.by_name import (
    ALIASES,
    CAN_BE_SPARSE,
    TAKE_SETS,
    TAKE_THREADS,
    are_sets,
    kernel_function,
)
from visualwords.classifiers.kernels.compact import FEW_ROWS
from visualwords.classifiers.kernels.support_columns import SupportColumns
from visualwords.classifiers.stored_rows import pack_rows, round_rows, unpack_rows
from visualwords.codebook.feature_sets import as_feature_sets
from visualwords.compiled import take
from visualwords.parallel import with_one_library_thread

ENTRIES_AT_A_TIME = 1 << 24  # kernel values in memory while predicting
FASTER_SPARSE = CAN_BE_SPARSE | {"power_mean", "chi2", "jensen_shannon"}
_sparse_rows: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()
_columns: WeakKeyDictionary[Any, tuple[Any, SupportColumns]] = WeakKeyDictionary()
FEWER_ROWS = 16  # up to as many are compared with support vectors by columns
ROWS, WIDTH = "rows_", "width_"  # what begins with these in a state


class KernelPrediction(one_vs_rest.ScoreMixin, BaseEstimator):
    """Scores from support vectors; :class:`KernelSVC` adds learning to it, and documents both."""

    kernel: Any
    kernel_params: dict[str, Any] | None
    multi_class: str
    sub_polynomial: float | None
    sparse_gram: bool
    storage: str
    n_jobs: int | None
    classes_: np.ndarray
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    objective_: np.ndarray
    n_iter_: int
    n_training_: int
    n_features_in_: int
    kernel_params_: dict[str, Any]
    side_: int
    sigmoids_: np.ndarray

    @with_one_library_thread
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
            scores[part] = gram @ self.dual_coef_.T.astype(gram.dtype, copy=False)
        scores += self.intercept_
        if len(self.classes_) == 2:
            return scores[:, 0]
        if self.multi_class == "ovo":
            return kernel_problems.votes(scores, len(self.classes_))
        return scores

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything that was learned, as arrays that ``numpy.save`` keeps without pickle.

        Support vectors are kept in the narrowest type that has all their values.

        Returns
        -------
        dict of str to ndarray
            For :meth:`set_state` of a classifier with the same parameters. What ``warm_start``
            remembers of the training samples is not part of it.
        """
        check_is_fitted(self)
        classes = self.classes_.astype(str) if self.classes_.dtype == object else self.classes_
        widths = {
            name: value
            for name, value in self.kernel_params_.items()
            if value != (self.kernel_params or {}).get(name)
        }
        state = {
            "classes": classes,
            "support": self.support_,
            "dual_coef": self.dual_coef_,
            "intercept": self.intercept_,
            "objective": self.objective_,
            "n_iter": np.array(self.n_iter_),
            "n_training": np.array(self.n_training_),
            **{ROWS + name: value for name, value in pack_rows(self.support_vectors_).items()},
            **{WIDTH + name: np.array(value) for name, value in widths.items()},
        }
        for name in ("n_features_in_", "side_", "sigmoids_"):
            if hasattr(self, name):
                state[name.rstrip("_")] = np.array(getattr(self, name))
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""

        def part(prefix: str) -> dict[str, np.ndarray]:
            names = [name for name in state if name.startswith(prefix)]
            return {name.removeprefix(prefix): state[name] for name in names}

        self.classes_ = np.asarray(state["classes"])
        self.support_ = np.asarray(state["support"], np.int64)
        self.dual_coef_ = np.asarray(state["dual_coef"], np.float64)
        self.intercept_ = np.asarray(state["intercept"], np.float64)
        self.objective_ = np.asarray(state["objective"], np.float64)
        self.n_iter_, self.n_training_ = int(state["n_iter"]), int(state["n_training"])
        self.support_vectors_ = unpack_rows(part(ROWS))
        widths = {name: float(value) for name, value in part(WIDTH).items()}
        self.kernel_params_ = {**(self.kernel_params or {}), **widths}
        for name in ("n_features_in", "side"):
            if name in state:
                setattr(self, f"{name}_", int(state[name]))
        if "sigmoids" in state:
            self.sigmoids_ = np.asarray(state["sigmoids"], np.float64)
        self._check_state()
        return self

    def _check_state(self) -> None:
        """Refuse arrays that do not belong together."""
        problems = kernel_problems.how_many(self.classes_.size, self.multi_class)
        n = self.support_.size
        rows = self.support_vectors_
        shape: tuple[int, ...] = (
            (n,) if rows is None else rows.shape
        )  # sets of points have no width
        width = shape[1] if len(shape) == 2 else None
        good = self.dual_coef_.shape == (problems, n) and self.intercept_.shape == (problems,)
        good = good and shape[0] == n and (width is None or width == self.n_features_in_)
        if not good or not np.isfinite(self.dual_coef_).all():
            raise ValueError(
                "the arrays do not belong together; the file they came from is damaged"
            )

    def _check(self, X: Any, *y: Any) -> Any:
        """Validate samples (and labels, in training): a matrix, or a list of sets as it is."""
        by_name = not callable(self.kernel) and self.kernel in TAKE_SETS
        if by_name or (callable(self.kernel) and are_sets(X)):
            if by_name and y:  # all blocks of a Gram matrix need the range of the training points
                X = as_feature_sets(X, (self.kernel_params or {}).get("side"))
                self.side_ = X.side
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
            if sparse.issparse(X) and not self._is_precomputed():
                X = sparse.csr_array(X)
            return round_rows(X, self.storage), labels
        return validate_data(self, X, accept_sparse="csr", reset=False)

    def _support_gram(self, X: Any) -> Any:
        if self._is_precomputed():
            return X[:, self.support_]
        if not (hasattr(X, "shape") and self._name() and X.shape[0] < self.support_.size):
            return self._block(X, self.support_vectors_)
        rows = self.support_vectors_
        if X.shape[0] <= FEWER_ROWS and SupportColumns.suits(
            self._name(), rows, self.kernel_params_
        ):
            return _as_columns(self, rows).gram(X)
        if X.shape[0] < FEW_ROWS and self._name() in FASTER_SPARSE:
            rows = _as_sparse(self, rows)
        return self._block(rows, X).T  # kernels prepare their second side

    def _block(self, X: Any, Y: Any = None) -> Any:
        """Kernel values of two sets of samples; sparse ones if they were asked for."""
        parameters = dict(self.kernel_params_)
        if self.sparse_gram:
            parameters["sparse"] = True
        if self._name() in TAKE_THREADS:
            parameters.setdefault("n_jobs", self.n_jobs)
        return kernel_function(self.kernel)(X, Y, **parameters)

    def _treated(self, gram: Any) -> Any:
        """Entries to a power below one, which tames a dominant diagonal."""
        if self.sub_polynomial is None:
            return gram
        gram = gram.toarray() if sparse.issparse(gram) else gram
        return np.sign(gram) * np.abs(gram) ** self.sub_polynomial

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _name(self) -> str:
        """The kernel's name among those of `visualwords.classifiers.kernels`; "" for others."""
        return ALIASES.get(self.kernel, self.kernel) if isinstance(self.kernel, str) else ""


def _as_sparse(model: KernelPrediction, rows: Any) -> Any:
    """Support vectors as CSR, made once: few rows are compared with their non-zeros."""
    if sparse.issparse(rows):
        return rows
    known = _sparse_rows.get(model)
    if known is None or known[0] is not rows:
        wide = rows.astype(np.float64) if model._name() in CAN_BE_SPARSE else rows
        known = _sparse_rows[model] = (rows, sparse.csr_array(wide))
    return known[1]


def _as_columns(model: KernelPrediction, rows: Any) -> SupportColumns:
    """Support vectors by columns, made once."""
    known = _columns.get(model)
    if known is None or known[0] is not rows:
        made = SupportColumns(model._name(), rows, model.kernel_params_)
        known = _columns[model] = (rows, made)
    return known[1]
