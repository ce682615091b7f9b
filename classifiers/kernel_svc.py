"""Support vector classifier for any kernel: by name, by function, or precomputed."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from visualwords.classifiers import calibration, one_vs_rest
from visualwords.classifiers.kernels import KERNELS, intersection, pyramid_match
from visualwords.classifiers.kernels.rows import (
    DAMAGED,
    dense,
    has_negative,
    pack_rows,
    power_remap,
    unpack_rows,
)
from visualwords.classifiers.kernels.widths import resolve_widths
from visualwords.codebook.feature_sets import as_feature_sets
from visualwords.compiled import take
from visualwords.estimator import Seed, check_choices, check_fitted, checked_rows, validate_data
from visualwords.model_file import State, part_of, prefixed
from visualwords.parallel import map_in_threads, with_one_library_thread

LARGEST = 1e38  # kernel values are kept in 32 bits by LIBSVM; the diagonal has the largest
ENTRIES_AT_A_TIME = 1 << 24  # kernel values in memory while predicting
ROWS, WIDTH = "rows_", "width_"  # prefixes in a state


class KernelMachines(NamedTuple):
    """The solution of all two-class problems.

    The score of x in problem p is Σ_i coefficients[p, i] K(x_i, x) + intercepts[p], over the
    training samples x_i in ``support``, ascending.
    """

    support: np.ndarray
    coefficients: np.ndarray
    intercepts: np.ndarray
    n_iter: int


@dataclass(eq=False, repr=False)
class KernelSVC(one_vs_rest.ScoringClassifier):
    """Kernel SVM with an intercept: minimise ½‖w‖² + Σ C_i max(0, 1 − y_i f(x_i)).

    LIBSVM solves it on the Gram matrix of the training samples (8 n² bytes).

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
        be left out, or be words: ``radius`` and ``sigma`` "median", ``gamma`` "scale"
        (`visualwords.classifiers.kernels.widths`).
    multi_class : {"ovr", "ovo"}
        One problem per class against the rest, or per pair of classes with votes.
    class_weight : dict, "balanced" or None
        Factors of C.
    probability : bool
        Fit ``predict_proba`` on held-out scores of a five-fold cross-validation, all of them on
        the one Gram matrix.
    sub_polynomial : float in (0, 1] or None
        Treat a dominant diagonal: entries k become sign(k)|k|^p, and rows of the result the
        features of a linear kernel (the empirical kernel map).
    tol : float
        Allowed violation of the optimality condition.
    max_iter : int
        Most steps of a problem.
    random_state : int
        Seed of the folds for probabilities, and of the rows from which widths are found.
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
    n_iter_ : int
        Steps of the problem that took most.
    kernel_params_ : dict
        Keyword arguments of the kernel, with numbers for widths.
    side_ : int
        With ``kernel="pyramid_match"``: range of the training sets' coordinates.
    calibration_ : SoftmaxCalibration
        With ``probability``: turns scores into probabilities.

    Notes
    -----
    **Deviations from the papers.** [Grauman06] names the treatment of dominant diagonals without
    an exponent; it is a parameter here.

    The min–max family but "hik", "chi2", "jensen_shannon" and "power_mean" take signed rows too:
    each column becomes two by sign, [Li16], Eq. (1). "hik" refuses negative values.

    References
    ----------
    C.-C. Chang, C.-J. Lin, "LIBSVM: A Library for Support Vector Machines", 2011.
    J. Weston, B. Schölkopf, E. Eskin, C. Leslie, W. Noble, "Dealing with Large Diagonals in
    Kernel Matrices", 2003. [Grauman06], Sec. 5.

    Examples
    --------
    >>> X = np.array([[9, 1, 0], [8, 0, 2], [0, 7, 3], [1, 9, 0]])
    >>> model = KernelSVC("hik").fit(X, ["sky", "sky", "sea", "sea"])
    >>> model.predict([[6, 2, 2]]).tolist()
    ['sky']
    >>> KernelSVC("hik").set_state(model.get_state()).predict([[1, 6, 2]]).tolist()
    ['sea']
    """

    kernel: str | Callable[..., np.ndarray] = "hik"
    C: float = 1.0
    kernel_params: Mapping[str, object] | None = None
    _: KW_ONLY
    multi_class: str = "ovr"
    class_weight: one_vs_rest.ClassWeight = None
    probability: bool = False
    sub_polynomial: float | None = None
    tol: float = 1e-3
    max_iter: int = 10_000_000
    random_state: Seed = 0
    n_jobs: int | None = None

    @with_one_library_thread
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or list of n feature sets
            With ``kernel="precomputed"``: the Gram matrix (n, n).
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Factors of C.
        """
        gram, codes, weight = self._fit(X, y, sample_weight)
        if self.probability:
            folds = calibration.random_folds(self.classes_[codes], random_state=self.random_state)
            scores = self._held_out_scores(gram, codes, weight, folds)
            fit = calibration.SoftmaxCalibration.fit
            self.calibration_ = fit(scores, codes, sample_weight=weight)
        return self

    @with_one_library_thread
    def fit_and_hold_out(
        self, X: Any, y: ArrayLike, folds: np.ndarray, sample_weight: ArrayLike | None = None
    ) -> np.ndarray:
        """Fit, and return every sample's scores by a model that was trained without its fold.

        All of them use one Gram matrix.

        Parameters
        ----------
        X, y : like those of ``fit``
        folds : (n,) int
            The fold of every sample.
        sample_weight : (n,), optional

        Returns
        -------
        (n,) for two classes, else (n, n_classes)
        """
        gram, codes, weight = self._fit(X, y, sample_weight)
        return self._held_out_scores(gram, codes, weight, folds)

    @with_one_library_thread
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n,) for two classes, positive for the second; else (n, n_classes).

        With "ovo" these are votes, ties decided by the sum of scores.

        Parameters
        ----------
        X : like that of ``fit``; with ``kernel="precomputed"`` K(x, training sample), (n, n_train)
        """
        check_fitted(self)
        X = self._check(X)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        step = max(1, ENTRIES_AT_A_TIME // max(1, self.support_.size))
        machines = KernelMachines(self.support_, self.dual_coef_, self.intercept_, self.n_iter_)
        parts = (take(X, np.arange(k, min(k + step, n))) for k in range(0, max(n, 1), step))
        return np.concatenate(
            [self._scores(self._gram(p, self.support_vectors_), machines) for p in parts]
        )

    def get_state(self) -> State:
        """Everything that was learned, as arrays that ``numpy.save`` keeps without pickle.

        Support vectors are kept in the narrowest type that has all their values.

        Returns
        -------
        dict of str to ndarray
            For :meth:`set_state` of a classifier with the same parameters.
        """
        check_fitted(self)
        given = self.kernel_params or {}
        widths = {k: v for k, v in self.kernel_params_.items() if v != given.get(k)}
        state = {
            "classes": one_vs_rest.storable(self.classes_),
            "support": self.support_,
            "dual_coef": self.dual_coef_,
            "intercept": self.intercept_,
            "n_iter": np.array(self.n_iter_),
            **prefixed(ROWS, pack_rows(self.support_vectors_)),
            **prefixed(WIDTH, {name: np.array(value) for name, value in widths.items()}),
            **calibration.calibration_state(self),
        }
        for name in ("n_features_in_", "side_"):
            if hasattr(self, name):
                state[name.rstrip("_")] = np.array(getattr(self, name))
        return state

    def set_state(self, state: State) -> Self:
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""
        self.classes_ = np.asarray(state["classes"])
        self.support_ = np.asarray(state["support"], np.int64)
        self.dual_coef_ = np.asarray(state["dual_coef"], np.float64)
        self.intercept_ = np.asarray(state["intercept"], np.float64)
        self.n_iter_ = int(state["n_iter"])
        self.support_vectors_ = unpack_rows(part_of(ROWS, state))
        widths = {name: float(value) for name, value in part_of(WIDTH, state).items()}
        self.kernel_params_ = {**(self.kernel_params or {}), **widths}
        for name in ("n_features_in", "side"):
            if name in state:
                setattr(self, f"{name}_", int(state[name]))
        calibration.restore_calibration(self, state)
        k, n = self.classes_.size, self.support_.size
        n_problems = 1 if k == 2 else k * (k - 1) // 2 if self.multi_class == "ovo" else k
        rows = self.support_vectors_
        shape = (n,) if rows is None else rows.shape  # sets of points have no width
        good = self.dual_coef_.shape == (n_problems, n) and self.intercept_.shape == (n_problems,)
        good = good and shape[0] == n and shape[1:] in ((), (getattr(self, "n_features_in_", 0),))
        if not good or not np.isfinite(self.dual_coef_).all():
            raise ValueError(DAMAGED)
        return self

    def _fit(
        self, X: Any, y: ArrayLike, weight: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Train; return the Gram matrix, every sample's class as a number, and the weights."""
        self._check_parameters()
        X, y = self._check(X, y)
        self.classes_, codes = one_vs_rest.encode_labels(y)
        if weight is not None:
            weight = one_vs_rest.check_sample_weight(weight, y)
        self.kernel_params_ = dict(self.kernel_params or {})
        if (function := self._function()) is not None and hasattr(X, "shape"):
            how = self.kernel_params, self.random_state, weight
            self.kernel_params_ = resolve_widths(function, X, *how)
        given = self.kernel == "precomputed"
        gram = np.ascontiguousarray(X if given else self._gram(X), float)
        finite = given or np.isfinite(gram).all()
        if not (finite and np.diagonal(gram).max() < LARGEST):
            raise ValueError(
                "the kernel of some samples is NaN, infinite or beyond 32 bits; their values are "
                "too large for it, multiply X by a constant so that its largest value is near 1"
            )
        machines = self._train(gram, codes, weight)
        self.support_, self.dual_coef_, self.intercept_, self.n_iter_ = machines
        self.support_vectors_ = None if given else take(X, self.support_)
        return gram, codes, weight

    def _train(
        self, gram: np.ndarray, codes: np.ndarray, weight: np.ndarray | None
    ) -> KernelMachines:
        """Solve all problems of samples with this Gram matrix."""
        cost = one_vs_rest.sample_costs(self.C, codes, self.classes_, self.class_weight, weight)
        counts = np.bincount(codes[cost > 0], minlength=len(self.classes_))
        if not counts.all():
            raise ValueError(
                f"every class needs a sample with a positive weight, but "
                f"{self.classes_[counts.argmin()]!r} has none"
            )
        features = None if self.sub_polynomial is None else power_remap(gram, self.sub_polynomial)
        gram = gram if features is None else features @ features.T
        if self.multi_class == "ovo" or len(self.classes_) == 2:
            problems = [codes]
        else:
            problems = [(codes == k).astype(int) for k in range(len(self.classes_))]
        solved = map_in_threads(
            lambda labels: solve(gram, labels, cost, self.tol, self.max_iter), problems, self.n_jobs
        )
        machines = solved[0] if len(solved) == 1 else _joined(solved)
        if features is None:
            return machines
        coefficients = machines.coefficients @ features[machines.support]
        return machines._replace(support=np.arange(len(gram)), coefficients=coefficients)

    def _held_out_scores(
        self, gram: np.ndarray, codes: np.ndarray, weight: np.ndarray | None, folds: np.ndarray
    ) -> np.ndarray:
        """Scores of every sample by machines trained on the Gram matrix of the other folds."""
        n = len(self.classes_)
        scores = np.empty(codes.size if n == 2 else (codes.size, n))
        for train, test in calibration.divide(folds):
            some = None if weight is None else weight[train]
            machines = self._train(gram[np.ix_(train, train)], codes[train], some)
            known = gram[np.ix_(test, train[machines.support])]
            scores[test] = self._scores(known, machines)
        return scores

    def _scores(self, gram: np.ndarray, machines: KernelMachines) -> np.ndarray:
        """Scores from the kernel values of samples and those that the machines know."""
        if self.sub_polynomial is not None:
            gram = power_remap(gram, self.sub_polynomial)
        scores = gram @ machines.coefficients.T + machines.intercepts
        if len(self.classes_) == 2:
            return scores[:, 0]
        return votes(scores, len(self.classes_)) if self.multi_class == "ovo" else scores

    def _gram(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Kernel values of two sets of samples."""
        if self.kernel == "precomputed":
            return dense(X)[:, self.support_]
        function = kernel_function(self.kernel)
        parameters = dict(self.kernel_params_)
        if self.kernel in KERNELS and "n_jobs" in inspect.signature(function).parameters:
            parameters.setdefault("n_jobs", self.n_jobs)
        with np.errstate(over="ignore", invalid="ignore"):  # `fit` refuses what comes of it
            return dense(function(X, Y, **parameters))

    def _check_parameters(self) -> None:
        if self.kernel != "precomputed":
            kernel_function(self.kernel)
        check_choices(self, multi_class=("ovr", "ovo"))
        if not self.C > 0:
            raise ValueError(f"C is {self.C}, but the cost of a sample must be > 0")
        if self.sub_polynomial is not None and not 0 < self.sub_polynomial <= 1:
            raise ValueError(f"sub_polynomial is {self.sub_polynomial}, but must be in (0, 1]")

    def _check(self, X: Any, *y: Any) -> Any:
        """Validate samples (and labels, in training): a matrix, or a list of sets as it is."""
        of_sets = self._function() is pyramid_match and isinstance(self.kernel, str)
        if of_sets or (callable(self.kernel) and are_sets(X)):
            if of_sets:  # all blocks of a Gram matrix need the range of the training points
                params: Mapping[str, Any] = self.kernel_params or {}
                X = as_feature_sets(X, params.get("side") if y else self.side_)
                self.side_: int = X.side
            if not y:
                return X
            from sklearn.utils.validation import check_consistent_length, column_or_1d

            labels = column_or_1d(y[0], warn=True)
            check_consistent_length(X, labels)
            return X, labels
        if not y:
            X = checked_rows(self, X)
            self._refuse_negative(X)
            return X
        X, labels = validate_data(self, X, y[0], accept_sparse="csr")
        self._refuse_negative(X)
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed Gram matrix must be square, but is {X.shape}")
            X = dense(X)
        return sparse.csr_array(X) if sparse.issparse(X) else X, labels

    def _refuse_negative(self, X: Any) -> None:
        if self._function() is intersection and has_negative(X):
            raise ValueError(
                f"Negative values in data passed to KernelSVC(kernel={self.kernel!r}): the "
                "intersection is a kernel of histograms; use kernel='gint' or 'gmm', which give "
                "positive and negative values columns of their own"
            )

    def _function(self) -> Callable[..., np.ndarray] | None:
        """The function of a kernel that is given by name."""
        return KERNELS.get(self.kernel) if isinstance(self.kernel, str) else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self._function() is intersection
        return tags


def kernel_function(kernel: str | Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The function of a name ("hik" is the intersection), or the function itself.

    Examples
    --------
    >>> kernel_function("hik").__name__
    'intersection'
    """
    if callable(kernel):
        return kernel
    if kernel not in KERNELS:
        known = ", ".join([*KERNELS, "precomputed"])
        raise ValueError(f"kernel {kernel!r} is not known; give a function or one of {known}")
    return KERNELS[kernel]


def are_sets(X: Any) -> bool:
    """Whether X is a list of feature sets (2-D arrays) rather than rows of a matrix."""
    if isinstance(X, np.ndarray) or sparse.issparse(X) or hasattr(X, "iloc"):
        return False
    return not isinstance(X, Sequence) or (len(X) > 0 and np.ndim(X[0]) == 2)


def solve(
    gram: np.ndarray, codes: np.ndarray, cost: np.ndarray, tol: float, max_iter: int
) -> KernelMachines:
    """Solve the problem of every pair of classes by LIBSVM.

    The second of two classes is positive, of more than two the first of a pair.

    Parameters
    ----------
    gram : (n, n) float64
    codes : (n,) int
        Every sample's class.
    cost : (n,) float64
        Upper bound of every α.
    """
    if not cost.all():  # of a precomputed kernel, SVC takes the wrong columns then
        kept = np.flatnonzero(cost)
        machines = solve(gram[np.ix_(kept, kept)], codes[kept], cost[kept], tol, max_iter)
        return machines._replace(support=kept[machines.support])
    from sklearn import config_context
    from sklearn.svm import SVC

    svc = SVC(C=1.0, kernel="precomputed", tol=tol, max_iter=max_iter)
    with config_context(assume_finite=True):
        svc.fit(gram, codes, sample_weight=cost)
    coefficients, k = svc.dual_coef_, len(svc.classes_)
    if k > 2:  # support vectors by class; a row less than classes: each against the others
        ends = np.cumsum(svc.n_support_)
        of = [slice(end - size, end) for end, size in zip(ends, svc.n_support_)]
        coefficients = np.zeros((len(svc.intercept_), svc.support_.size))
        for row, (a, b) in zip(coefficients, combinations(range(k), 2)):
            row[of[a]], row[of[b]] = svc.dual_coef_[b - 1, of[a]], svc.dual_coef_[a, of[b]]
    order = np.argsort(svc.support_)
    support = svc.support_[order].astype(np.int64)
    return KernelMachines(support, coefficients[:, order], svc.intercept_, int(np.max(svc.n_iter_)))


def _joined(solved: Sequence[KernelMachines]) -> KernelMachines:
    """The problems of several machines that were trained on the same samples."""
    support = np.unique(np.concatenate([machines.support for machines in solved]))
    coefficients = np.zeros((len(solved), support.size))
    for row, machines in zip(coefficients, solved):
        row[np.searchsorted(support, machines.support)] = machines.coefficients[0]
    intercepts = np.concatenate([machines.intercepts for machines in solved])
    n_iter = max(machines.n_iter for machines in solved)
    return KernelMachines(support, coefficients, intercepts, n_iter)


def votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes of all pairs, ties decided by the sum of their scores (squashed to ±1/3).

    Parameters
    ----------
    scores : (n, n_classes (n_classes − 1) / 2), positive for the first class of a pair

    Examples
    --------
    >>> int(votes(np.array([[1.0, 2.0, -1.0]]), 3).argmax())
    0
    """
    total = np.zeros((len(scores), n_classes))
    margin = np.zeros_like(total)
    for column, (a, b) in zip(scores.T, combinations(range(n_classes), 2)):
        total[:, a] += column > 0
        total[:, b] += column <= 0
        margin[:, a] += column
        margin[:, b] -= column
    return total + margin / (3 * (np.abs(margin) + 1))
