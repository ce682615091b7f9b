"""Support vector classifier for any kernel: by name, by function, or precomputed."""

from typing import Any
from warnings import warn

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from visualwords.classifiers import calibration, kernel_problems, kernel_training, one_vs_rest
from visualwords.classifiers.kernel_prediction import KernelPrediction
from visualwords.classifiers.kernels.banded import reorder
from visualwords.classifiers.kernels.by_name import CAN_BE_SPARSE, kernel_function
from visualwords.classifiers.kernels.widths import resolve_widths
from visualwords.compiled import take
from visualwords.parallel import with_one_library_thread

ANY_SIZE = 1e9  # megabytes
STORAGE = ("exact", "float32", "float16")


class KernelSVC(KernelPrediction):
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
        Keyword arguments of the kernel, e.g. ``{"radius": 2.0, "a": 0.25}`` for "gcs". Widths may
        be left out, or be words: ``radius`` and ``sigma`` "median", ``gamma`` of "polynomial"
        "scale" (`visualwords.classifiers.kernels.widths`).
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
        Most steps of a problem, each of which moves a pair of samples.
    cache_size : float
        Megabytes for kernel values in training: a Gram matrix that fits is kept whole, of a
        larger one the rows used last, shared by all problems.
    warm_start : bool
        Begin from the solution of the previous ``fit``, if that had as many samples and the same
        classes: a path along C takes fewer steps. The result does not depend on it, up to ``tol``.
    storage : {"exact", "float32", "float16"}
        Round rows to this type before training, for a smaller state.
    random_state : int
        Of the folds for probabilities, and of the rows from which widths are found.
    n_jobs : int or None
        Threads for kernels and problems; the result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    support_ : int array of shape (n_support,)
        Training samples with a coefficient that is not 0.
    support_vectors_ : array, CSR array or list of sets
        These samples; None if the kernel is precomputed.
    dual_coef_ : float array of shape (n_problems, n_support)
        y_i α_i, or the weights of the empirical kernel map.
    intercept_ : float array of shape (n_problems,)
    objective_ : float array of shape (n_problems,)
        ½ βᵀKβ − yᵀβ of every problem, β = yα.
    n_iter_ : int
        Steps of the problem that took most.
    kernel_params_ : dict
        Keyword arguments of the kernel, with numbers for widths.
    bandwidth_ : tuple of int
        With ``sparse_gram``: largest ``|i − j|`` of a non-zero before and after reordering.
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

    Kernels of non-negative numbers (the min–max family, "chi2", "jensen_shannon", "power_mean")
    take signed rows too: each column becomes two by sign, [Li16], Eq. (1).

    References
    ----------
    J. Weston, B. Schölkopf, E. Eskin, C. Leslie, W. Noble, "Dealing with Large Diagonals in
    Kernel Matrices", 2003. [Boughorbel06], Sec. 4. [Grauman06], Sec. 5.

    Examples
    --------
    >>> X = np.array([[9, 1, 0], [8, 0, 2], [0, 7, 3], [1, 9, 0]])
    >>> model = KernelSVC("hik").fit(X, ["sky", "sky", "sea", "sea"])
    >>> model.predict([[6, 2, 2]]).tolist()
    ['sky']
    >>> KernelSVC("hik").set_state(model.get_state()).predict([[1, 6, 2]]).tolist()
    ['sea']
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
        max_iter: int = 10_000_000,
        cache_size: float = 1000,
        warm_start: bool = False,
        storage: str = "exact",
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
        self.warm_start = warm_start
        self.storage = storage
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_one_library_thread
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
        X, y, sample_weight, gram = self._fit(X, y, sample_weight)
        if self.probability:
            scores = self._held_out_scores(X, y, gram, sample_weight)
            codes = np.searchsorted(self.classes_, y)
            self.sigmoids_ = calibration.fit_sigmoids(scores, codes, sample_weight)
        return self

    @with_one_library_thread
    def fit_and_hold_out(self, X: Any, y: Any, folds: np.ndarray) -> np.ndarray:
        """Fit, and return every sample's scores by a model that was trained without its fold.

        All of them use one Gram matrix if it is whole.

        Parameters
        ----------
        X, y : like those of ``fit``
        folds : (n,) int
            The fold of every sample.

        Returns
        -------
        (n,) for two classes, else (n, n_classes)
        """
        X, y, _, gram = self._fit(X, y, None)
        return self._held_out_scores(X, y, gram, None, folds)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, Any, Any]:
        """Train; return what was checked, and the Gram matrix if it is whole."""
        self._check_parameters()
        X, y = self._check(X, y)
        former = self._former(y.size) if self.warm_start else None
        self.classes_, codes = one_vs_rest.encode_labels(y)
        if sample_weight is not None:
            sample_weight = one_vs_rest.check_sample_weight(sample_weight, y)
        cost = one_vs_rest.sample_costs(
            self.C, codes, self.classes_, self.class_weight, sample_weight
        )
        self.kernel_params_ = self._resolved(X, sample_weight)
        source, order, gram = self._training_source(X, y.size)
        if self.sub_polynomial is None:
            table = self._train(source, codes[order], cost[order], former)[:, np.argsort(order)]
        else:  # the rows of the treated Gram matrix are the features of a linear kernel
            table = self._train(source @ source.T, codes, cost, None) @ source
        self.support_ = np.flatnonzero(table.any(axis=0))
        self.dual_coef_ = np.ascontiguousarray(table[:, self.support_])
        self.support_vectors_ = None if self._is_precomputed() else take(X, self.support_)
        self.n_training_ = y.size
        return X, y, sample_weight, gram

    def _check_parameters(self) -> None:
        if not self._is_precomputed():
            kernel_function(self.kernel)
        for name, choices in (("multi_class", ("ovr", "ovo")), ("storage", STORAGE)):
            if getattr(self, name) not in choices:
                words = ", ".join(choices[:-1]) + " or " + choices[-1]
                raise ValueError(f"{name} is {getattr(self, name)!r}; choose {words}")
        if not self.C > 0:
            raise ValueError(f"C is {self.C}, but the cost of a sample must be > 0")
        if self.sub_polynomial is not None and not 0 < self.sub_polynomial <= 1:
            raise ValueError(f"sub_polynomial is {self.sub_polynomial}, but must be in (0, 1]")
        if self.sparse_gram and (self.kernel not in CAN_BE_SPARSE or self.sub_polynomial):
            names = ", ".join(sorted(CAN_BE_SPARSE))
            raise ValueError(f"sparse_gram needs one of {names}, without sub_polynomial")

    def _resolved(self, X: Any, weight: np.ndarray | None) -> dict[str, Any]:
        """The kernel's parameters, with numbers for widths."""
        if not hasattr(X, "shape") or self._is_precomputed():
            return dict(self.kernel_params or {})
        return resolve_widths(self._name(), X, self.kernel_params, self.random_state, weight)

    def _training_source(self, X: Any, n: int) -> tuple[Any, np.ndarray, Any]:
        """What problems are solved on, the order of samples in it, the Gram matrix if whole."""
        samples = kernel_training.Samples(
            kernel_training.finite(self._block), X, n, int(self.cache_size * 1e6)
        )
        if self._is_precomputed():
            gram = X
        elif self.sparse_gram or self.sub_polynomial is not None:
            gram = samples.kernel(X, None)
        else:
            gram = samples.whole()
        if gram is None:
            return samples, np.arange(n), None
        treated = kernel_training.as_gram(self._treated(gram))
        if not sparse.issparse(treated):
            return treated, np.arange(n), gram
        banded = reorder(treated)
        self.bandwidth_ = (banded.bandwidth_before, banded.bandwidth)
        self.density_ = banded.density
        return banded.gram, banded.order, gram

    def _train(
        self,
        source: Any,
        codes: np.ndarray,
        cost: np.ndarray,
        former: tuple[np.ndarray, np.ndarray] | None,
    ) -> np.ndarray:
        """Solve all problems; return their coefficients, (n_problems, n)."""
        found = kernel_problems.problems(codes, len(self.classes_), self.multi_class)
        starts = None
        if former is not None and len(former[0]) == len(found):
            starts = _moved_with_bounds(*former, cost)
        solved = kernel_training.train(
            source,
            found,
            cost,
            starts=starts,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        self.intercept_ = np.array([solution.intercept for solution in solved])
        self.objective_ = np.array([solution.objective for solution in solved])
        self.n_iter_ = max(solution.n_iter for solution in solved)
        worst = max(solution.violation for solution in solved)
        if worst > self.tol:
            warn(
                f"stopped at a violation of {worst:.2g} > tol={self.tol}; raise max_iter",
                ConvergenceWarning,
                stacklevel=4,
            )
        coefficients = [solution.coefficients for solution in solved]
        table = kernel_problems.join(list(zip(found, coefficients)), codes.size)
        if self.warm_start:
            self._solved = table, cost
        return table

    def _former(self, n: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Coefficients and costs of the previous training, if that had as many samples."""
        solved = getattr(self, "_solved", None)
        return solved if solved is not None and solved[1].size == n else None

    def _held_out_scores(
        self,
        X: Any,
        y: np.ndarray,
        gram: Any,
        sample_weight: Any,
        folds: np.ndarray | None = None,
    ) -> np.ndarray:
        """Scores of models trained without the samples, on the same Gram matrix if it is whole."""
        model = clone(self).set_params(probability=False, warm_start=False, storage="exact")
        if gram is None:
            model.set_params(kernel_params=self.kernel_params_)
        else:
            model.set_params(
                kernel=_indexed(gram), kernel_params=None, sparse_gram=False, cache_size=ANY_SIZE
            )
            X = np.arange(y.size, dtype=np.float64)[:, None]
        division = {"folds": folds, "random_state": self.random_state}
        return calibration.held_out_scores(model, X, y, sample_weight, **division)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


def _moved_with_bounds(table: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Coefficients for other costs: those at a bound move with it, the others stay.

    Where no sample is at a bound, a larger C changes nothing, and this is the solution.

    Examples
    --------
    >>> _moved_with_bounds(np.array([[1.0, -0.5]]), np.ones(2), np.full(2, 10.0)).tolist()
    [[10.0, -0.5]]
    """
    return np.where(np.abs(table) >= before, np.sign(table) * after, table)


def _indexed(gram: Any) -> Any:
    """A kernel of sample numbers: the entries of a matrix that is there."""

    def entries(i: np.ndarray, j: np.ndarray | None) -> np.ndarray:
        rows = i[:, 0].astype(np.intp)
        columns = rows if j is None else j[:, 0].astype(np.intp)
        block = gram[rows][:, columns]
        return block.toarray() if sparse.issparse(block) else block

    return entries
