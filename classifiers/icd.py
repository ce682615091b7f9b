"""The HIK SVM: training on tables or on the Gram matrix, prediction by look-up."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from visualwords.classifiers import calibration, one_vs_rest
from visualwords.classifiers.quantizer import Quantizer, value_limits
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers.dual_blocks import (
    blocks_are_faster,
    solve_blocks,
    solve_with_folds,
)
from visualwords.classifiers.solvers.dual_gram import GRAM_BYTES, solve_gram
from visualwords.classifiers.solvers.dual_table import solve_crammer_singer, solve_dual
from visualwords.classifiers.solvers.primal import solve_primal
from visualwords.classifiers.solvers.problems import LevelProblem, Solved
from visualwords.classifiers.tables import level_tables
from visualwords.classifiers.tables.level_tables import (
    Levels,
    TableLayout,
    canonical_rows,
    layout_of,
    learn_layout,
    levels_in_file,
)
from visualwords.estimator import check_choices, check_fitted, checked_rows, validate_data
from visualwords.model_file import part_of, prefixed
from visualwords.parallel import map_on_workers, with_one_library_thread

Solver = Callable[[LevelProblem], Solved]

# One-vs-rest solvers by the name of the parameter; see `LevelProblem` for what they are given.
SOLVERS: dict[str, Solver] = {
    "gram": solve_gram,
    "dual": solve_dual,
    "primal": solve_primal,
    "blocks": solve_blocks,
}
_CHOICES = {
    "loss": ("squared_hinge", "hinge"),
    "multi_class": ("ovr", "crammer_singer"),
    "order": ("random", "cyclic"),
    "quantization": ("auto", "uniform", "quantile", "integer"),
}
_LARGEST_BYTE = 255  # the highest level that blocks can keep


@dataclass(eq=False, repr=False)
class ICDClassifier(one_vs_rest.ScoringClassifier):
    """Support vector machine with the histogram intersection kernel ([Wu10]).

    Minimises, for every class against the rest, ``½ wᵀw + C Σ ξ(w; B(x_i), y_i)``, where B(x) is
    the unary expansion of the quantised histogram, so that B(x)ᵀB(y) = Σ_j min(x_j, y_j). The
    solution is kept as tables T of one number for every feature and level; the score of a
    histogram is a sum of look-ups, Σ_j T[j, x_j].

    Parameters
    ----------
    C : float, default=1e-3
        Cost of an error ([Wu10], Sec. 3.5). Accuracy hardly depends on it.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One machine a class against the rest, or one machine for all classes (hinge loss), which is
        trained by solver "dual".
    solver : {"auto", "dual", "gram", "primal", "blocks"} or any of `SOLVERS`, default="auto"
        "dual": coordinate descent on the table (Algorithm 2 of the paper). "gram": the same on the
        exact Gram matrix; when samples are few. "primal": Newton's method on the table, squared
        hinge only; when features are few. "blocks": coordinate descent in blocks of rows, for all
        classes and folds together; when there are many samples of four classes or more, dense, of
        at most 256 levels. "auto" takes the one that needs the fewest steps.
    tol : float, default=0.1
        Training stops once the largest and the smallest projected gradient of a pass over the
        samples differ by at most this (LIBLINEAR's rule and default); "primal": once a step moves
        no sample's score by more than this.
    max_iter : int, default=1000
        Passes over the samples, or Newton steps.
    n_bins : int, default=100
        Levels of the quantisation, v̄ ([Wu10], Eq. 13).
    class_weight : dict, "balanced" or None
    random_state : int, default=0
        Seed of the order in which samples are visited.
    n_jobs : int or None
        Threads. The model does not depend on it.
    quantization : {"auto", "uniform", "quantile", "integer"}, default="auto"
        See :class:`Quantizer`: "uniform" is Eq. 13, "quantile" adapts to every feature, "integer"
        takes natural counts as they are. "auto" is "uniform" for values ≥ 0, as histograms are,
        and "quantile" where there are negative ones: such features have units of their own.
    order : {"random", "cyclic"}, default="random"
        Order of the visits in coordinate descent; "cyclic" is the paper's, and slower.
    probability : bool, default=False
        Whether to fit ``predict_proba``, by a sigmoid for every class on scores of samples held
        out in five folds; training takes six times as long.

    Attributes
    ----------
    classes_ : ndarray
    tables_ : ndarray of shape (n_classes, d, levels), or (1, d, levels) for two classes; float32
        What each feature's level adds to the score.
    quantizer_ : Quantizer
    n_iter_ : int
        Passes, or Newton steps, of the slowest class.
    solver_ : str
        The solver that was taken.

    Notes
    -----
    Deviations from the paper: samples are visited in random order, which needs 2–17 times fewer
    passes than the paper's cyclic one; tables have cells only for levels that occur. The model does
    not depend on the order of the samples, and equal samples are merged. Where features outnumber
    samples the paper prefers the primal problem; the Gram matrix of bytes is faster still.

    References
    ----------
    [Wu10] J. Wu, "A Fast Dual Method for HIK SVM Learning", ECCV 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.classifiers import ICDClassifier
    >>> X = np.array([[5, 0, 1], [4, 1, 0], [0, 6, 1], [1, 5, 0]])
    >>> model = ICDClassifier(quantization="integer").fit(X, ["sea", "sea", "wood", "wood"])
    >>> model.predict([[6, 1, 0]]).tolist()
    ['sea']
    """

    C: float = 1e-3
    loss: str = "squared_hinge"
    multi_class: str = "ovr"
    solver: str = "auto"
    tol: float = 0.1
    max_iter: int = 1000
    n_bins: int = 100
    class_weight: one_vs_rest.ClassWeight = None
    random_state: int | None = 0
    n_jobs: int | None = None
    _: KW_ONLY
    quantization: str = "auto"
    order: str = "random"
    probability: bool = False

    @with_one_library_thread
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn one table a class.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or RowFile
            Of a file see :meth:`fit_and_hold_out`; it takes no weights.
        y : array of shape (n_samples,)
            Labels of any kind, at least two different ones.
        sample_weight : array of shape (n_samples,), optional
            Factors ≥ 0 of C. A sample of weight 2 counts like two equal samples.

        Returns
        -------
        ICDClassifier
            This object.
        """
        if isinstance(X, RowFile):
            self._fit_with_folds(X, y, np.full(len(X), -1))
            return self
        self._check_parameters()
        X, labels = validate_data(self, X, y, accept_sparse="csr", dtype="numeric")
        weight = None
        if sample_weight is not None:
            weight = one_vs_rest.check_sample_weight(sample_weight, X)
            kept = np.flatnonzero(weight)
            X, labels, weight = X[kept], labels[kept], weight[kept]
        self._learn_quantizer(X, weight)
        levels = self.quantizer_.levels_of(X)
        self.classes_, codes = one_vs_rest.encode_labels(labels)
        cost = one_vs_rest.sample_costs(self.C, codes, self.classes_, self.class_weight, weight)
        rows, cost = canonical_rows(levels, codes, cost)
        problem = self._problem(levels, rows, codes[rows], cost, learn_layout(levels))
        if self.multi_class == "crammer_singer":
            self.solver_ = "dual"
            values, n_iter, violation = solve_crammer_singer(problem)
            if self.classes_.size == 2:  # one table: of the second class over the first
                values = np.ascontiguousarray(values[:, 1:2] - values[:, :1])
        else:
            self.solver_ = self._fastest(problem) if self.solver == "auto" else self.solver
            values, n_iter, violation = solve_on_workers(SOLVERS[self.solver_], problem)
        self._keep(problem.layout, values, n_iter, violation)
        if self.probability:
            self.calibration_ = calibration.calibrate(self, X, labels, weight)
        return self

    @with_one_library_thread
    def fit_and_hold_out(
        self, X: Any, y: ArrayLike, folds: np.ndarray, sample_weight: ArrayLike | None = None
    ) -> np.ndarray:
        """Fit, and return every row's scores by a model that was trained without its fold.

        Many samples are trained in blocks of rows: the classes with and without each fold in the
        same passes, by one quantisation. Few are trained fold by fold.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or RowFile
            Rows of a file must be in random order, so that the first of them, whose levels decide
            about the quantisation, are a sample; what training needs is kept beside it.
        y : array of shape (n_samples,)
        folds : (n_samples,) int
            The fold of every row; the rows outside of any fold must have all classes.
        sample_weight : (n_samples,), optional
            Not of a file.

        Returns
        -------
        (n_samples,) for two classes, else (n_samples, n_classes)
        """
        folds = np.asarray(folds)
        if not isinstance(X, RowFile):
            n_classes, n_folds = len(np.unique(y)), len(np.unique(folds))
            blocks = sample_weight is None and not sparse.issparse(X)
            if not (blocks and self._suits_blocks(X.shape, n_classes, n_folds)):
                self.fit(X, y, sample_weight)
                weight = None if sample_weight is None else np.asarray(sample_weight)
                return calibration.held_out_scores(self, X, np.asarray(y), weight, folds=folds)
        return self._fit_with_folds(X, y, folds)

    @with_one_library_thread
    def decision_function(self, X: Any) -> np.ndarray:
        """The scores: (n_samples, n_classes), or (n_samples,) for two classes."""
        check_fitted(self)
        X = checked_rows(self, X)
        levels = self.quantizer_.levels_of(X)
        scores = level_tables.table_scores(levels, self.layout_, self.table_values_, self.n_jobs)
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
        X = checked_rows(self, X)
        levels = self.quantizer_.levels_of(X)
        row = (levels.toarray() if sparse.issparse(levels) else levels)[0].astype(np.int64)
        below, above, share = level_tables.cells_around(row, np.arange(row.size), self.layout_)
        values = self.table_values_
        return values[below] + share[:, None] * (values[above] - values[below])

    @property
    def tables_(self) -> np.ndarray:
        """The tables as a full array; made on every access from the compact form."""
        check_fitted(self)
        return level_tables.expand_tables(
            self.layout_, self.table_values_, self.quantizer_.n_levels_
        )

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
            "table_levels": self.layout_.heights,
            "table_offsets": self.layout_.offsets,
            "table_values": self.table_values_,
            "n_features": np.array(self.n_features_in_),
            "n_iter": np.array(self.n_iter_),
            **prefixed("quantizer_", self.quantizer_.get_state()),
        }
        return state | calibration.calibration_state(self)

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""
        learned = part_of("quantizer_", state)
        self.quantizer_ = Quantizer(self.n_bins, strategy=str(learned["strategy"]))
        self.quantizer_.set_state(learned)
        self.classes_ = np.asarray(state["classes"])
        self.n_features_in_, self.n_iter_ = int(state["n_features"]), int(state["n_iter"])
        n_outputs = 1 if self.classes_.size == 2 else self.classes_.size
        heights, offsets = (
            np.asarray(state[name], np.int64) for name in ("table_levels", "table_offsets")
        )
        self.table_values_ = np.ascontiguousarray(state["table_values"], np.float32)
        sizes = np.diff(offsets)
        if (
            offsets.shape != (self.n_features_in_ + 1,)
            or offsets[0] != 0
            or not 1 <= sizes.min(initial=1) <= sizes.max(initial=1) <= heights.size
            or heights[0] != 0
            or np.diff(heights).min(initial=1) < 1
            or self.table_values_.shape != (offsets[-1], n_outputs)
            or not np.isfinite(self.table_values_).all()
        ):
            raise ValueError("the tables do not belong together; the file is damaged")
        n_levels = np.iinfo(self.quantizer_.dtype_).max + 1
        self.layout_ = layout_of(heights, offsets, n_levels)
        calibration.restore_calibration(self, state)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters that do not exist or do not go together."""
        check_choices(self, **_CHOICES, solver=("auto", *SOLVERS))
        for name in ("C", "tol", "max_iter"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be positive")
        if self.multi_class == "crammer_singer" and self.solver not in ("auto", "dual"):
            raise ValueError(f"solver={self.solver!r} needs multi_class='ovr'; use solver='auto'")
        if self.solver == "blocks" and self.n_bins > _LARGEST_BYTE:
            raise ValueError("solver='blocks' needs n_bins of at most 255")

    def _learn_quantizer(self, X: Any, weight: np.ndarray | None) -> Quantizer:
        """Learn the levels; "auto" depends on the sign of the values."""
        limits = value_limits(X)
        automatic = "quantile" if limits.lowest < 0 else "uniform"
        strategy = automatic if self.quantization == "auto" else self.quantization
        quantizer = Quantizer(self.n_bins, strategy=strategy)
        self.quantizer_ = quantizer.fit_validated(X, weight, limits)
        return self.quantizer_

    def _problem(
        self,
        levels: Levels | RowFile,
        rows: np.ndarray,
        codes: np.ndarray,
        cost: np.ndarray,
        layout: TableLayout,
    ) -> LevelProblem:
        seed = None
        if self.order == "random":
            from sklearn.utils import check_random_state

            seed = int(check_random_state(self.random_state).randint(2**31))
        n_classes = self.classes_.size
        both = n_classes == 2 and self.multi_class == "ovr"
        positive = np.array([1]) if both else np.arange(n_classes)
        how = self.loss, self.tol, self.max_iter, seed, self.n_jobs
        return LevelProblem(levels, rows, layout, codes, positive, cost, *how)

    def _suits_blocks(self, shape: tuple[int, int], n_classes: int, n_folds: int) -> bool:
        """Whether dense samples are trained in blocks of rows, folds included."""
        if self.multi_class != "ovr" or self.n_bins > _LARGEST_BYTE:
            return False
        n_problems = 1 if n_classes == 2 else n_classes
        faster = blocks_are_faster(*shape, n_problems, n_folds, self.tol)
        return self.solver == "blocks" or (self.solver == "auto" and faster)

    def _fastest(self, problem: LevelProblem) -> str:
        """The name of the solver that "auto" is."""
        levels, n_problems = problem.levels, problem.positive.size
        is_dense = not sparse.issparse(levels)
        are_bytes = is_dense and levels.dtype == np.uint8
        if are_bytes and self._suits_blocks(levels.shape, self.classes_.size, 0):
            return "blocks"
        if gram_is_faster(levels.shape[0], levels.shape[1], n_problems):
            return "gram"
        few_cells = problem.layout.offsets[-1] <= problem.rows.size and is_dense
        return "primal" if few_cells and self.loss == "squared_hinge" else "dual"

    def _fit_with_folds(self, X: Any, y: ArrayLike, folds: np.ndarray) -> np.ndarray:
        """Learn from an array or a file in blocks of rows; return held-out scores."""
        self._check_parameters()
        self.classes_, codes = one_vs_rest.encode_labels(y)
        cost = one_vs_rest.sample_costs(self.C, codes, self.classes_, self.class_weight)
        if isinstance(X, RowFile):
            self.n_features_in_ = X.shape[1]
            levels, layout = levels_in_file(X, self._learn_quantizer)
            problem = self._problem(levels, np.arange(len(X)), codes, cost, layout)
        else:
            X, _ = validate_data(self, X, y, dtype="numeric")
            levels = self._learn_quantizer(X, None).levels_of(X)
            problem = self._problem(levels, np.arange(len(X)), codes, cost, learn_layout(levels))
            if problem.seed is not None:
                order = np.random.default_rng(problem.seed).permutation(len(X))
                problem = replace(problem, rows=order, codes=codes[order], cost=cost[order])
        solution, n_iter, violation = solve_with_folds(problem, folds[problem.rows])
        self.solver_ = "blocks"
        self._keep(problem.layout, solution.weights, n_iter, violation)
        held_out = np.empty_like(solution.held_out)
        held_out[problem.rows] = solution.held_out
        return held_out

    def _keep(self, layout: TableLayout, values: np.ndarray, n_iter: int, violation: float) -> None:
        """Take over what was learned; warn where training did not converge."""
        self.layout_, self.table_values_, self.n_iter_ = layout, values, n_iter
        one_vs_rest.warn_unless_converged(violation, self.tol, self.max_iter)


def gram_is_faster(n: int, d: int, n_problems: int) -> bool:
    """Whether coordinate descent needs fewer steps on the Gram matrix than on tables.

    Steps are vector instructions: ``n² d / 64 + 2 p n²`` on the matrix, which takes 4n² bytes, and
    ``40 p n d`` on tables, for n samples, d features and p problems.

    Examples
    --------
    >>> gram_is_faster(1500, 6200, 15), gram_is_faster(10_000, 6144, 1)
    (True, False)
    """
    on_gram = n * n * d / 64 + 2 * n_problems * n * n
    return on_gram < 40 * n_problems * n * d and 4 * n * n <= GRAM_BYTES


def solve_on_workers(solve: Solver, problem: LevelProblem) -> Solved:
    """Solve all problems here, or some of them on each worker that joblib's backend has."""
    blocks = one_vs_rest.blocks(problem.positive.size)
    if len(blocks) == 1:
        return solve(problem)
    pieces = [(problem.positive[block],) for block in blocks]
    others = replace(problem, levels=np.empty((0, 0), problem.levels.dtype))
    shared = [solve, problem.levels, others]
    values, n_iter, violation = zip(*map_on_workers(_solve_some, pieces, shared=shared))
    return np.concatenate(values, axis=1), max(n_iter), max(violation)


def _solve_some(
    solve: Solver, levels: Levels, problem: LevelProblem, positive: np.ndarray
) -> Solved:
    """Solve some of the problems on a worker."""
    return solve(replace(problem, levels=levels, positive=positive))
