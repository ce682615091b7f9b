"""SVM with an additive kernel at the speed of a linear one, for sparse, wide or very long data."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from visualwords.classifiers import calibration, one_vs_rest
from visualwords.classifiers.kernels.expansions import (
    AdditiveKernel,
    EigenExpansion,
    additive_kernel,
    eigen_expansion,
    polynomial_expansion,
)
from visualwords.classifiers.solvers import low_rank
from visualwords.classifiers.tables import level_pairs
from visualwords.classifiers.tables.level_pairs import LevelRows, LevelScale
from visualwords.estimator import check_choices, check_fitted, checked_rows, validate_data
from visualwords.parallel import map_in_threads, with_one_library_thread

_FLOATS = [np.float32, np.float64]  # neither is copied to the other
_ROWS_AT_A_TIME = 4096
_LEVELS = 1000  # that describe the distribution of the values where no table is used
_CHOICES = {
    "approximation": ("eigen", "polynomial"),
    "nodes": ("chebyshev", "adhoc"),
    "scaling": ("global", "feature", "none"),
    "spacing": ("auto", "uniform", "root"),
}


@dataclass(eq=False, repr=False)
class PmSVMClassifier(one_vs_rest.ScoringClassifier):
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

    p: float = -1
    C: float = 0.01
    approximation: str = "eigen"
    degree: int = 2
    nodes: str = "chebyshev"
    table_size: int | None = 1000
    _: KW_ONLY
    kernel: Any = "power_mean"
    rank: int | str = "auto"
    scaling: str = "global"
    spacing: str = "auto"
    tol: float = 0.1
    max_iter: int = 1000
    class_weight: one_vs_rest.ClassWeight = None
    random_state: int | None = 0
    n_jobs: int | None = None
    probability: bool = False

    @with_one_library_thread
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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
        X, labels = validate_data(
            self, X, y, accept_sparse="csr", dtype=_FLOATS, ensure_all_finite=False
        )
        self._check_parameters()
        weight = None
        if sample_weight is not None:
            weight = one_vs_rest.check_sample_weight(sample_weight, X)
        self.classes_, codes = one_vs_rest.encode_labels(labels)
        X = level_pairs.canonical(X)
        self._tables = make_tables(level_pairs.survey(X, self.scaling), vars(self))
        rows, score, values = self._tables.read(X)
        update, by_level = self._tables.update(score, values)
        problem = low_rank.LowRankProblem(
            rows=rows,
            n_columns=X.shape[1],
            codes=codes,
            positive=np.arange(self.classes_.size) if self.classes_.size > 2 else np.array([1]),
            cost=one_vs_rest.sample_costs(self.C, codes, self.classes_, self.class_weight, weight),
            curvature=rows.sums(by_level),
            score_table=score,
            update_table=update,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self.random_state,
            n_jobs=self.n_jobs,
        )
        (self.weights_, _), self.n_iter_, violation = low_rank.solve_low_rank(problem)
        one_vs_rest.warn_unless_converged(violation, self.tol, self.max_iter)
        if not self._tables.exact:
            self._tables = replace(self._tables, expansion=None)
        if self.probability:
            self.calibration_ = calibration.calibrate(self, X, labels, weight)
        return self

    @with_one_library_thread
    def decision_function(self, X: Any) -> np.ndarray:
        """The scores: (n_samples, n_classes), or (n_samples,) for two classes."""
        check_fitted(self)
        X = level_pairs.canonical(checked_rows(self, X, _FLOATS))
        grouped = low_rank.group_weights(self.weights_)

        def score(start: int) -> np.ndarray:
            rows, table, _ = self._tables.read(X[start : start + _ROWS_AT_A_TIME])
            return low_rank.scores(rows, table, grouped)[:, : len(self.weights_)]

        parts = map_in_threads(score, range(0, X.shape[0], _ROWS_AT_A_TIME), self.n_jobs)
        scores = np.concatenate(parts)
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
        X = level_pairs.canonical(checked_rows(self, X, _FLOATS))
        rows, score, _ = self._tables.read(X)
        added = np.zeros((X.shape[1], len(self.weights_)), np.float32)
        columns = rows.columns.astype(np.int64)
        added[columns] = np.einsum("cqk,qk->qc", self.weights_[:, columns], score[rows.levels])
        return added

    @property
    def score_table_(self) -> np.ndarray:
        """The vectors of the levels, (levels, rank)."""
        check_fitted(self)
        return self._tables.score

    @property
    def tables_(self) -> np.ndarray:
        """What every feature adds at every level, (n_problems, n_features, levels)."""
        check_fitted(self)
        return self.weights_ @ self.score_table_.T

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything that was learned, as arrays that ``numpy.save`` keeps without pickle.

        Returns
        -------
        dict of str to ndarray
            For :meth:`set_state` of a classifier with the same parameters.
        """
        check_fitted(self)
        state = {
            "classes": one_vs_rest.storable(self.classes_),
            "weights": self.weights_,
            "n_iter": np.array(self.n_iter_),
            **tables_state(self._tables),
        }
        return state | calibration.calibration_state(self)

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""
        self.classes_ = np.asarray(state["classes"])
        self.weights_ = np.asarray(state["weights"], np.float32)
        self.n_features_in_ = self.weights_.shape[1]
        self.n_iter_ = int(state["n_iter"])
        self._tables = tables_from_state(state, self.get_params(deep=False))
        calibration.restore_calibration(self, state)
        return self

    def _check_parameters(self) -> None:
        check_choices(self, **_CHOICES)
        if self.table_size is not None and not 1 <= self.table_size <= 65535:
            raise ValueError(f"table_size={self.table_size}: must be None or between 1 and 65535")
        if not self.C > 0 or self.degree < 1:
            raise ValueError(f"C={self.C} must be positive and degree={self.degree} at least 1")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # the paper's C is small for 300 points in a plane
        return tags


@dataclass(frozen=True)
class KernelTables:
    """T1 and T2 of [Yang12], for any expansion.

    They turn data into rows of levels, and gives the vectors that the levels stand for.

    Parameters
    ----------
    scale : LevelScale
    score : (levels, rank) float32
        s of every level (T1, with all its powers).
    expansion : EigenExpansion or PolynomialExpansion, optional
        Not needed for prediction by table.
    exact : bool
        Every distinct value of the data read is a level of its own; ``score`` is not used.
    """

    scale: LevelScale
    score: np.ndarray
    expansion: Any = None
    exact: bool = False

    def read(self, X: Any) -> tuple[LevelRows, np.ndarray, np.ndarray]:
        """The pairs of X, canonical, the vectors s of their levels, and these' values."""
        if not self.exact:
            rows = level_pairs.level_rows(X, self.scale)
            return rows, self.score, self.scale.values()
        rows, values = level_pairs.distinct_rows(X, self.scale)
        return rows, self.expansion.score(values), values

    def update(self, score: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The vectors u (T2) of some levels and what each adds to Q_ii."""
        if isinstance(self.expansion, EigenExpansion):
            return score, np.einsum("lr,lr->l", score, score, dtype=np.float64)
        return self.expansion.update(values), self.expansion.diagonal(values)


def make_tables(found: level_pairs.Survey, how: Mapping[str, Any]) -> KernelTables:
    """The tables for surveyed data.

    Parameters
    ----------
    found : level_pairs.Survey
    how : mapping
        Parameters of ``PmSVMClassifier``.
    """
    spacing = how["spacing"] if how["approximation"] == "eigen" else "uniform"
    exact = how["table_size"] is None
    top = _LEVELS if exact else int(how["table_size"])
    scale = level_pairs.level_scale(found, how["scaling"], top, spacing)
    kernel, values = _kernel(how, scale), scale.values()
    expansion: Any
    if how["approximation"] == "eigen":
        expansion = eigen_expansion(
            kernel, values, level_pairs.level_weights(found, scale), how["rank"]
        )
    else:
        expansion = polynomial_expansion(kernel, how["degree"], how["nodes"])
    return KernelTables(scale, expansion.score(values), expansion, exact)


def tables_state(tables: KernelTables) -> dict[str, np.ndarray]:
    """The arrays of the tables that prediction needs."""
    state = {
        "score_table": tables.score,
        "shift": tables.scale.shift,
        "factor": tables.scale.factor,
        "root": np.array(tables.scale.root),
    }
    if tables.exact and isinstance(tables.expansion, EigenExpansion):
        state |= {"nodes": tables.expansion.nodes, "projection": tables.expansion.projection}
    return state


def tables_from_state(state: dict[str, np.ndarray], how: dict[str, Any]) -> KernelTables:
    """The tables whose state this is; ``how`` as in :func:`make_tables`."""
    table = np.asarray(state["score_table"], np.float32)
    shift, factor = (np.asarray(state[name], np.float32) for name in ("shift", "factor"))
    scale = LevelScale(shift, factor, table.shape[0] - 1, bool(state["root"]))
    exact = how["table_size"] is None
    expansion: Any = None
    if "nodes" in state:
        expansion = EigenExpansion(_kernel(how, scale), state["nodes"], state["projection"])
    elif exact:
        expansion = polynomial_expansion(_kernel(how, scale), how["degree"], how["nodes"])
    return KernelTables(scale, table, expansion, exact)


def _kernel(how: Mapping[str, Any], scale: LevelScale) -> AdditiveKernel:
    """The kernel of two numbers in [0, 1]; a global scaling is undone."""
    kernel = additive_kernel(how["kernel"], how["p"])
    if how["scaling"] != "global" or scale.factor[0] == 0:
        return kernel
    return replace(kernel, width=1 / float(scale.factor[0]))
