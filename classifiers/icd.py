"""The HIK SVM: training on tables or on the Gram matrix, prediction by look-up."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from visualwords.classifiers import calibration, one_vs_rest
from visualwords.classifiers.quantizer import Quantizer
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.tables.hik_blocks import levels_in_file, train_in_blocks
from visualwords.classifiers.tables.hik_crammer_singer import train_crammer_singer
from visualwords.classifiers.tables.hik_training import (
    Settings,
    check_parameters,
    suits_blocks,
    train_tables,
)
from visualwords.classifiers.tables.level_codes import LevelNumbers, occurring_levels
from visualwords.classifiers.tables.rows import CanonicalRows, canonical_rows, label_keys
from visualwords.classifiers.tables.table_prediction import TablePrediction
from visualwords.classifiers.tables.trained_tables import TrainedTables
from visualwords.classifiers.tables.value_survey import Limits, value_limits
from visualwords.classifiers.tables.warm_start import (
    EarlierTraining,
    first_alpha,
    first_tables,
    join_samples,
)
from visualwords.parallel import with_one_library_thread


class ICDClassifier(TablePrediction, BaseEstimator):
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
        One machine a class against the rest, or one machine for all classes (hinge loss).
    solver : {"auto", "dual", "gram", "primal", "blocks"}, default="auto"
        "dual": coordinate descent on the table (Algorithm 2 of the paper). "gram": the same on the
        exact Gram matrix, for all classes together; when samples are few. "primal": Newton's method
        on the table, squared hinge only; when features are few. "blocks": coordinate descent in
        blocks of rows, for all classes and folds together; when there are many samples of four
        classes or more, dense, of at most 256 levels. "auto" takes the one that needs the fewest
        steps; `blocks_are_faster` and `train_tables` of
        `visualwords.classifiers.tables.hik_training` have the rules.
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
    shrinking : bool, default=True
        Whether "dual" leaves out samples that will probably stay at their bounds.
    gram_limit : int, default=2**30
        Bytes that a Gram matrix may take; with more samples the table is taken.
    probability : bool, default=False
        Whether to fit ``predict_proba`` on scores of samples held out in five folds; training
        takes six times as long.
    warm_start : bool, default=False
        Whether :meth:`fit` begins where the one before ended: samples are recognised by their
        content, new ones and new classes begin at zero. The quantisation stays that of the first.

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

    def __init__(
        self,
        C: float = 1e-3,
        loss: str = "squared_hinge",
        multi_class: str = "ovr",
        solver: str = "auto",
        tol: float = 0.1,
        max_iter: int = 1000,
        n_bins: int = 100,
        class_weight: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        *,
        quantization: str = "auto",
        order: str = "random",
        shrinking: bool = True,
        gram_limit: int = 1 << 30,
        probability: bool = False,
        warm_start: bool = False,
    ):
        self.C = C
        self.loss = loss
        self.multi_class = multi_class
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_bins = n_bins
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.quantization = quantization
        self.order = order
        self.shrinking = shrinking
        self.gram_limit = gram_limit
        self.probability = probability
        self.warm_start = warm_start

    @with_one_library_thread
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "ICDClassifier":
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
            self._fit_in_blocks(X, y, None)
            return self
        validate = partial(validate_data, self, accept_sparse="csr", dtype="numeric")
        by_limits = sample_weight is None and not self.warm_start and not sparse.issparse(X)
        X, y = validate(X=X, y=y, ensure_all_finite=not by_limits)
        self.__dict__.pop("seen_", None)
        earlier = self._earlier() if self.warm_start else None
        X, y, sample_weight = self._checked(X, y, sample_weight)
        if earlier is None:
            limits = value_limits(X)
            if not limits.finite:
                validate(X=X, y=y)  # raises an error that names the value
            self._fit_quantizer(X, sample_weight, limits)
        levels = self.quantizer_.levels_of(X)
        self._fit_levels(levels, y, sample_weight, earlier, reuse=levels is not X)
        if self.probability:
            plain = clone(self).set_params(warm_start=False)
            self.calibration_ = calibration.calibrate(plain, X, y, sample_weight)
        return self

    @with_one_library_thread
    def fit_and_hold_out(self, X: Any, y: Any, folds: np.ndarray) -> np.ndarray:
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

        Returns
        -------
        (n_samples,) for two classes, else (n_samples, n_classes)
        """
        if not isinstance(X, RowFile):
            n_classes, n_folds = len(np.unique(y)), len(np.unique(folds))
            if sparse.issparse(X) or not suits_blocks(self, X, n_classes, n_folds):
                self.fit(X, y)
                return calibration.held_out_scores(self, X, np.asarray(y), folds=folds)
        return self._fit_in_blocks(X, y, np.asarray(folds))

    def _fit_in_blocks(self, X: Any, y: Any, folds: np.ndarray | None) -> np.ndarray:
        """Learn from an array or a file in blocks of rows; return held-out scores."""
        check_parameters(self)
        self.__dict__.pop("seen_", None)
        self.classes_, codes = one_vs_rest.encode_labels(y)
        settings, order = Settings.of(self), None
        if isinstance(X, RowFile):
            self.n_features_in_ = X.shape[1]
            levels = levels_in_file(X, self._fit_quantizer)
        else:
            X, _ = validate_data(self, X, y, dtype="numeric")
            self._fit_quantizer(X, None, value_limits(X))
            levels = self.quantizer_.levels_of(X)
            order = np.arange(len(X))
            if settings.seed is not None:
                order = np.random.default_rng(settings.seed).permutation(len(X))
        place = slice(None) if order is None else order
        cost = one_vs_rest.sample_costs(self.C, codes, self.classes_, self.class_weight)
        numbers, trained, found = train_in_blocks(
            levels,
            codes[place],
            cost[place],
            self.classes_.size,
            settings,
            order=order,
            folds=None if folds is None else folds[place],
        )
        self._keep_tables(numbers, trained)
        held_out = np.empty_like(found)
        held_out[place] = found
        return held_out

    @with_one_library_thread
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "ICDClassifier":
        """Add samples, and classes if they bring new ones, to what was learned.

        The levels of all samples so far are kept (one byte a feature), and training goes on from
        where it was; the result is that of :meth:`fit` on all of them, except that the first
        call's samples alone decide about the quantisation.

        Parameters
        ----------
        X, y, sample_weight :
            The new samples, as in :meth:`fit`. The first call needs two classes.
        classes : ignored
            Classes are those seen so far.

        Returns
        -------
        ICDClassifier
            This object.
        """
        first = not hasattr(self, "seen_")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype="numeric", reset=first)
        X, y, sample_weight = self._checked(X, y, sample_weight)
        if first:
            self._fit_quantizer(X, sample_weight, value_limits(X))
        levels = self.quantizer_.levels_of(X)
        weight = np.ones(y.size) if sample_weight is None else sample_weight
        new = levels.copy() if levels is X else levels, y, weight
        earlier = None if first else self._earlier()
        if not first:
            new = join_samples(self.seen_, new)
        self.seen_: tuple[Any, np.ndarray, np.ndarray] = new
        self._fit_levels(*new, earlier, reuse=False)
        return self

    def _checked(self, X: Any, y: np.ndarray, weight: Any) -> tuple[Any, np.ndarray, Any]:
        """Check parameters and weights; leave out samples of weight 0."""
        check_parameters(self)
        if weight is None:
            return X, y, None
        weight = one_vs_rest.check_sample_weight(weight, X)
        kept = np.flatnonzero(weight)
        return X[kept], y[kept], weight[kept]

    def _fit_quantizer(self, X: Any, weight: np.ndarray | None, limits: Limits) -> Quantizer:
        """Learn the levels; "auto" depends on the sign of the values."""
        automatic = "quantile" if limits.lowest < 0 else "uniform"
        strategy = automatic if self.quantization == "auto" else self.quantization
        quantizer = Quantizer(self.n_bins, strategy=strategy)
        self.quantizer_ = quantizer.fit_validated(X, weight, limits, self.n_jobs)
        return self.quantizer_

    def _fit_levels(
        self,
        levels: Any,
        y: np.ndarray,
        weight: np.ndarray | None,
        earlier: EarlierTraining | None,
        reuse: bool,
    ) -> None:
        """Learn the tables of quantised samples."""
        self.classes_, codes = one_vs_rest.encode_labels(y)
        cost = one_vs_rest.sample_costs(self.C, codes, self.classes_, self.class_weight, weight)
        numbers = occurring_levels(levels, self.n_jobs)
        labels = label_keys(self.classes_)[codes]
        taking_part = canonical_rows(levels, labels, cost, self.n_jobs)
        trained = self._train(levels, numbers, codes, taking_part, earlier, reuse)
        if self.warm_start or hasattr(self, "seen_"):
            self.memory_ = taking_part.keys, trained.alpha
        self._keep_tables(numbers, trained)

    def _keep_tables(self, numbers: LevelNumbers, trained: TrainedTables) -> None:
        """Take over what was learned."""
        self.table_levels_ = numbers.heights
        self.table_offsets_, self.table_values_ = trained.offsets, trained.tables
        self.n_iter_, self.solver_ = trained.n_iter, trained.solver
        self._warn_if_not_converged(trained.violation)

    def _train(
        self,
        levels: Any,
        numbers: LevelNumbers,
        codes: np.ndarray,
        taking_part: CanonicalRows,
        earlier: EarlierTraining | None,
        reuse: bool,
    ) -> TrainedTables:
        """Run the solver that the parameters name."""
        settings = Settings.of(self)
        which: dict[str, Any] = {"solver": self.solver, "gram_limit": self.gram_limit}
        classes = self.classes_
        if self.multi_class == "crammer_singer":
            given = (levels, numbers, codes, classes.size, taking_part, settings)
            return train_crammer_singer(*given, **which)
        if earlier is not None:
            unbounded = np.full(taking_part.rows.size, np.inf)
            upper = taking_part.cost if self.loss == "hinge" else unbounded
            which["start"] = first_alpha(earlier, classes, taking_part.keys, upper)
            which["start_tables"] = partial(first_tables, earlier, classes)
        plain = earlier is None and not self.warm_start and not hasattr(self, "seen_")
        if self.solver == "blocks" and (not plain or sparse.issparse(levels)):
            raise ValueError("solver='blocks' needs dense samples and neither warm_start nor more")
        if plain and levels.dtype == np.uint8 and suits_blocks(self, levels, classes.size, 0):
            rows = taking_part.rows
            of_rows = (levels, codes[rows], taking_part.cost, classes.size, settings)
            return train_in_blocks(*of_rows, order=rows, numbers=numbers)[1]
        targets = one_vs_rest.signs(codes, classes.size)
        return train_tables(levels, numbers, targets, taking_part, settings, reuse=reuse, **which)

    def _earlier(self) -> EarlierTraining | None:
        """What an earlier one-vs-rest training left to begin from."""
        if not hasattr(self, "memory_") or self.multi_class != "ovr":
            return None
        if self.n_features_in_ != self.table_offsets_.size - 1:
            return None
        values = self.table_values_[:, : self._n_outputs()]
        return EarlierTraining(
            self.classes_, *self.memory_, self.table_offsets_, values, self.table_levels_
        )

    def _warn_if_not_converged(self, violation: float) -> None:
        if violation > self.tol:
            warnings.warn(
                f"after max_iter={self.max_iter} passes the projected gradients still differ by "
                f"{violation:.3g} (tol={self.tol}); raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
