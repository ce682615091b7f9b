"""SVM with an additive kernel at the speed of a linear one, for sparse, wide or very long data."""

import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from visualwords.classifiers import calibration, one_vs_rest
from visualwords.classifiers.low_rank import kernel_tables, level_survey
from visualwords.classifiers.low_rank.row_blocks import StoredLevelRows
from visualwords.classifiers.solvers import dual_low_rank
from visualwords.parallel import map_in_threads, with_one_library_thread

_FLOATS = [np.float32, np.float64]  # neither is copied to the other
_ROWS_AT_A_TIME = 4096
_CHOICES = {
    "approximation": ("eigen", "polynomial"),
    "nodes": ("chebyshev", "adhoc"),
    "scaling": ("global", "feature", "none"),
    "spacing": ("auto", "uniform", "root"),
}


class PmSVMClassifier(one_vs_rest.ScoreMixin, BaseEstimator):
    """Support vector machine with the power mean or another additive kernel ([Yang12]).

    Minimises, for every class against the rest, the dual of the hinge-loss SVM without bias
    (Eq. 5) with κ(x, y) = Σ_j M_p(x_j, y_j), where M_p(x, y) = ((xᵖ + yᵖ)/2)^(1/p). The kernel of
    two numbers is written as a product of short vectors, so that every feature needs one short
    vector of weights however many samples there are; feature values are kept as levels of a table.

    Parameters
    ----------
    p : float ≤ 0, default=-1
        Exponent of the power mean: −1 is χ², −inf the histogram intersection (the paper: −8).
    C : float, default=0.01
        Cost of an error ([Yang12], Sec. 6).
    approximation : {"eigen", "polynomial"}, default="eigen"
        "eigen": leading eigenfunctions of the kernel under the distribution of the training
        values. "polynomial": the paper's interpolation in ln(x + 0.05).
    degree : int, default=2
        Of the polynomial.
    nodes : {"chebyshev", "adhoc"}, default="chebyshev"
        Of the polynomial: Eq. 16, or 0.01, 0.06, 0.75 (degree 2).
    table_size : int or None, default=1000
        Levels b of the look-up tables (PmSVM-LUT), at most 65,535. None keeps every distinct value
        (PmSVM with precomputation): exact, but of the data's size.
    kernel : {"power_mean", "jensen_shannon"} or callable, default="power_mean"
        A callable takes two numbers and may be compiled by numba; it must be symmetric,
        continuous, positive definite, and 0 where one of its arguments is.
    rank : int or "auto", default="auto"
        Length of the vectors of "eigen". "auto": 4 if the mean error of the kernel over a uniform
        grid is then at most 5e-4 of κ(1, 1), and κ(x, x) of the training values right to a tenth
        on average; else 8, as where values differ by orders of magnitude.
    scaling : {"global", "feature", "none"}, default="global"
        How values get to [0, 1] for the tables. "global": divided by the largest of all, which is
        undone in the kernel, so that the model is that of the values as given. "feature": every
        feature is divided by its largest value and stays so. "none": they are in [0, 1]. Negative
        values are first moved to 0 (dense data only).
    spacing : {"auto", "uniform", "root"}, default="auto"
        Levels even in the value, or in its root (finer for small values). "auto" takes the root
        where that halves the mean rounding error. Polynomials: uniform.
    tol : float, default=0.1
        Training stops once the largest and the smallest projected gradient of a pass over the
        samples differ by at most this (LIBLINEAR's rule and default).
    max_iter : int, default=1000
        Passes over the samples.
    class_weight : dict, "balanced" or None
    random_state : int or None, default=0
        Seed of the order in which samples are visited; None: the paper's fixed order.
    n_jobs : int or None
        Threads: groups of classes in training, rows in prediction. The model does not depend on it.
    probability : bool, default=False
        Fit ``predict_proba`` on held-out scores (five more trainings).

    Attributes
    ----------
    classes_ : ndarray
    weights_ : ndarray of shape (n_problems, n_features, rank), float32
        One short vector a feature; two classes are one problem.
    score_table_ : ndarray of shape (levels, rank), float32
        Feature j at level k adds ``weights_[:, j] @ score_table_[k]`` to the scores.
    n_iter_ : int
        Passes of the slowest class.

    Notes
    -----
    Deviations from the paper: values go to the nearest level, not to the one below; polynomials
    are kept by their values at the nodes (Lagrange's form) instead of the coefficients of powers,
    which float32 can't represent at higher degrees; Chebyshev's nodes are taken on the interval of
    ln(x + 0.05); with "eigen", Q_ii is the approximated kernel's. Large data are visited in blocks
    of neighbouring rows, blocks in random order, and samples stuck at a bound are shrunk.

    References
    ----------
    [Yang12] H. Yang and J. Wu, "Practical Large Scale Classification with Additive Kernels",
    ACML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.classifiers import PmSVMClassifier
    >>> X = np.array([[5, 0, 1], [4, 1, 0], [0, 6, 1], [1, 5, 0]])
    >>> model = PmSVMClassifier().fit(X, ["sea", "sea", "wood", "wood"])
    >>> model.predict([[6, 1, 0]]).tolist()
    ['sea']
    """

    def __init__(
        self,
        p: float = -1,
        C: float = 0.01,
        approximation: str = "eigen",
        degree: int = 2,
        nodes: str = "chebyshev",
        table_size: int | None = 1000,
        *,
        kernel: Any = "power_mean",
        rank: int | str = "auto",
        scaling: str = "global",
        spacing: str = "auto",
        tol: float = 0.1,
        max_iter: int = 1000,
        class_weight: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        probability: bool = False,
    ):
        self.p = p
        self.C = C
        self.approximation = approximation
        self.degree = degree
        self.nodes = nodes
        self.table_size = table_size
        self.kernel = kernel
        self.rank = rank
        self.scaling = scaling
        self.spacing = spacing
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.probability = probability

    @with_one_library_thread
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "PmSVMClassifier":
        """Learn from data in memory, or mapped into it.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Read a part at a time; float32 stays float32. A ``numpy.memmap`` is not loaded whole.
        y : array of shape (n_samples,)
            Labels of any kind, at least two different ones.
        sample_weight : array of shape (n_samples,), optional
            Factors of C; a sample of weight 0 does not take part.

        Returns
        -------
        PmSVMClassifier
            This object.
        """
        X, y = self._check_both(X, y)
        self._check_parameters()
        weight = None
        if sample_weight is not None:
            weight = one_vs_rest.check_sample_weight(sample_weight, X)
        self.classes_, codes = one_vs_rest.encode_labels(y)
        X, found = level_survey.surveyed(X, self.scaling)
        place = level_survey.frequent_first(found, X.shape[1])
        self._tables = kernel_tables.make_tables(found, vars(self))
        rows, score, values = self._tables.read(X, place, by_length=self.random_state is not None)
        update, curvature = self._tables.update(score, values)
        self._solve(
            [rows], [len(rows)], rows.samples, codes, weight, rows.sums(curvature), score, update,
            place,
        )  # fmt: skip
        if not self._tables.exact:
            self._tables = replace(self._tables, expansion=None)
        if self.probability:
            self.calibration_ = calibration.calibrate(self, X, y, weight)
        return self

    def fit_blocks(self, blocks: Iterable[Any], folder: Any = None) -> "PmSVMClassifier":
        """Learn from data of any size, read block by block.

        Memory holds one block, the weights, and a few bytes a sample; the levels of all blocks
        are kept in a folder (4 or 6 bytes for every value that is not zero) and read once a pass.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight)
            Is iterated twice, so a generator will not do; see :mod:`~visualwords.classifiers
            .row_blocks` for mapped arrays and files in LIBSVM's format.
        folder : path-like, optional
            Where the levels are kept; default: a temporary folder, removed afterwards.

        Returns
        -------
        PmSVMClassifier
            This object.
        """
        self._check_parameters()
        if self.probability or self.table_size is None:
            raise ValueError("blocks are not read with probability=True or table_size=None")
        if iter(blocks) is blocks:
            raise ValueError("blocks are read twice, but an iterator gives them once; pass a list")
        if folder is None:
            with tempfile.TemporaryDirectory(prefix="visualwords-") as temporary:
                return self.fit_blocks(blocks, temporary)
        found, labels, weights = self._survey_blocks(blocks)
        self.classes_, codes = one_vs_rest.encode_labels(labels)
        place = level_survey.frequent_first(found, self.n_features_in_)
        self._tables = kernel_tables.make_tables(found, vars(self))
        update, by_level = self._tables.update(self._tables.score, self._tables.scale.values())
        stored, curvature, orders = StoredLevelRows(folder), [], []
        for X, *_ in blocks:
            X = level_survey.canonical(self._check(X))
            rows, score, _ = self._tables.read(X, place, by_length=self.random_state is not None)
            curvature.append(rows.sums(by_level))
            orders.append(rows.samples + sum(stored.sizes))
            stored.append(rows)
        every, order = np.concatenate(curvature), np.concatenate(orders)
        self._solve(stored, stored.sizes, order, codes, weights, every, score, update, place)
        self._tables = replace(self._tables, expansion=None)
        return self

    @with_one_library_thread
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores: (n_samples, n_classes), or (n_samples,) for two classes."""
        check_is_fitted(self)
        X = level_survey.canonical(self._check(X))
        grouped = dual_low_rank.group_weights(self.weights_)
        blocks = [
            X[start : start + _ROWS_AT_A_TIME] for start in range(0, X.shape[0], _ROWS_AT_A_TIME)
        ]
        parts = map_in_threads(lambda rows: self._scores(rows, grouped), blocks, self.n_jobs)
        scores = np.concatenate(parts)
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
        X = level_survey.canonical(self._check(X))
        rows, score, _ = self._tables.read(X, level_survey.UNMOVED)
        added = np.zeros((X.shape[1], len(self.weights_)), np.float32)
        columns = rows.columns.astype(np.int64)
        added[columns] = np.einsum("cqk,qk->qc", self.weights_[:, columns], score[rows.levels])
        return added

    @property
    def score_table_(self) -> np.ndarray:
        """The vectors of the levels, (levels, rank)."""
        check_is_fitted(self)
        return self._tables.score

    @property
    def tables_(self) -> np.ndarray:
        """What every feature adds at every level, (n_problems, n_features, levels)."""
        check_is_fitted(self)
        return self.weights_ @ self.score_table_.T

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything that was learned, as arrays that ``numpy.save`` keeps without pickle.

        Returns
        -------
        dict of str to ndarray
            For :meth:`set_state` of a classifier with the same parameters.
        """
        check_is_fitted(self)
        classes = self.classes_
        state = {
            "classes": classes.astype(str) if classes.dtype == object else classes,
            "weights": self.weights_,
            "n_iter": np.array(self.n_iter_),
            **kernel_tables.tables_state(self._tables),
        }
        return state | calibration.calibration_state(self)

    def set_state(self, state: dict[str, np.ndarray]) -> "PmSVMClassifier":
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""
        self.classes_ = np.asarray(state["classes"])
        self.weights_ = np.asarray(state["weights"], np.float32)
        self.n_features_in_ = self.weights_.shape[1]
        self.n_iter_ = int(state["n_iter"])
        self._tables = kernel_tables.tables_from_state(state, self.get_params(deep=False))
        calibration.restore_calibration(self, state)
        return self

    def _survey_blocks(self, blocks: Iterable[Any]) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Limits and a sample of all values; all labels; all weights."""
        found, labels, weights = None, [], []
        for X, y, *weight in blocks:
            _, part = level_survey.surveyed(self._check(X, reset=found is None), self.scaling)
            found = part if found is None else found.joined(part)
            labels.append(np.asarray(y))
            weights += [np.asarray(w, np.float64) for w in weight]
        if found is None:
            raise ValueError("there are no blocks")
        if len(weights) not in (0, len(labels)):
            raise ValueError("some blocks have sample weights and some have none")
        y = np.concatenate(labels)
        return found, y, np.concatenate(weights) if weights else None

    def _solve(
        self, chunks: Any, sizes: Any, order: Any, codes: Any, weight: Any, curvature: Any,
        score: np.ndarray, update: np.ndarray, place: np.ndarray,
    ) -> None:  # fmt: skip
        cost = one_vs_rest.sample_costs(self.C, codes, self.classes_, self.class_weight, weight)
        cost, codes = cost[order], codes[order]
        problems = [1] if self.classes_.size == 2 else range(self.classes_.size)
        (weights, _), self.n_iter_, violation = dual_low_rank.solve_dual_low_rank(
            chunks,
            sizes,
            self.n_features_in_,
            codes,
            problems,
            cost,
            curvature,
            score,
            update,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.weights_ = weights[:, place[:-1]] if place.size else weights
        if violation > self.tol:
            warnings.warn(
                f"after max_iter={self.max_iter} passes the projected gradients still differ by "
                f"{violation:.3g} (tol={self.tol}); raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _scores(self, X: Any, grouped: np.ndarray) -> np.ndarray:
        rows, score, _ = self._tables.read(X, level_survey.UNMOVED)
        return dual_low_rank.scores(rows, score, grouped)[:, : self.weights_.shape[0]]

    def _check(self, X: Any, reset: bool = False) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=reset)

    def _check_both(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Check X, but for finite values, which the survey looks for, and y."""
        labels = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biuU"
        rows = isinstance(X, sparse.csr_matrix | sparse.csr_array) and X.ndim == 2
        if labels and rows and X.dtype in _FLOATS and min(X.shape) > 0:
            validate_data(self, X, skip_check_array=True)  # nothing else can be wrong with those
            check_consistent_length(X, y)
            return X, y
        return validate_data(
            self, X, y, accept_sparse="csr", dtype=_FLOATS, ensure_all_finite=False
        )

    def _check_parameters(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: choose one of {choices}")
        if self.table_size is not None and not 1 <= self.table_size <= 65535:
            raise ValueError(f"table_size={self.table_size}: must be None or between 1 and 65535")
        if not self.C > 0 or self.degree < 1:
            raise ValueError(f"C={self.C} must be positive and degree={self.degree} at least 1")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True  # the paper's C is small for 300 points in a plane
        return tags
