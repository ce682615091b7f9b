"""Learned tables: scores and labels from them, and their state in a model file."""

from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from visualwords.classifiers import one_vs_rest
from visualwords.classifiers.calibration import calibration_state, restore_calibration
from visualwords.classifiers.quantizer import Quantizer
from visualwords.classifiers.tables import additive_tables
from visualwords.classifiers.tables.level_codes import LevelNumbers
from visualwords.classifiers.tables.linearity import level_counts, straight_tables
from visualwords.compiled import check_fitted, is_plain
from visualwords.model_file import part_of, prefixed

_prepared: "WeakKeyDictionary[TablePrediction, tuple[Any, additive_tables.ValueTables]]"
_prepared = WeakKeyDictionary()


class TablePrediction(one_vs_rest.ScoreMixin):
    """Predicting by look-up; :class:`ICDClassifier` adds learning to it.

    Attributes
    ----------
    classes_ : (n_classes,)
    quantizer_ : Quantizer
    table_levels_ : (g,) int64
        The levels that have a cell in the tables.
    table_offsets_ : (d + 1,) int64
        First cell of every feature.
    table_values_ : (cells, lanes) float32
        One column an output, and columns of zeros up to a multiple of eight.
    """

    quantizer_: Quantizer
    table_levels_: np.ndarray
    table_offsets_: np.ndarray
    table_values_: np.ndarray
    n_features_in_: int
    n_iter_: int
    n_bins: int
    n_jobs: int | None

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores: (n_samples, n_classes), or (n_samples,) for two classes."""
        check_fitted(self, "table_values_")
        given = X
        if not is_plain(self, X):
            X = validate_data(
                self, X, accept_sparse="csr", dtype="numeric", reset=False, ensure_all_finite=False
            )
        scores = self._scores_of_values(X)
        if scores is None:  # sparse, or not all are finite
            X = validate_data(self, given, accept_sparse="csr", dtype="numeric", reset=False)
            scores = self._scores(self.quantizer_.levels_of(X))
        return scores[:, 0] if self.classes_.size == 2 else scores[:, : self.classes_.size]

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
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)
        levels = self.quantizer_.levels_of(X)
        row = (levels.toarray() if sparse.issparse(levels) else levels)[0].astype(np.int64)
        start, step, share = self._steps_to(row, np.arange(row.size))
        return (start + share[:, None] * step)[:, : self._n_outputs()]

    def linearity(self, X: Any) -> float:
        """Return the share of rows that keep their label if every table becomes a straight line.

        Straight tables are a linear classifier of the levels. Near 1, a linear SVM would probably
        do as well; ``docs/icd.md`` has the evidence. This is a report: nothing depends on it.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Typical data; how often levels occur in it decides which lines fit best.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)
        levels = self.quantizer_.levels_of(X)
        n_levels = self.quantizer_.n_levels_
        straight = straight_tables(self.tables_, level_counts(levels, n_levels))
        offsets = n_levels * np.arange(X.shape[1] + 1)
        flat = straight.reshape(straight.shape[0], -1).T
        shift = straight[:, :, 0].sum(axis=1)  # look-ups leave out level 0
        flat = flat - np.repeat(straight[:, :, 0].T, n_levels, axis=0)
        scores = additive_tables.table_scores(
            levels, offsets, additive_tables.add_lanes(flat, np.float32)
        )
        scores = scores[:, : self._n_outputs()] + shift
        labels = one_vs_rest.labels_of(
            scores[:, 0] if self.classes_.size == 2 else scores, self.classes_
        )
        return float(np.mean(labels == self.predict(X)))

    @property
    def tables_(self) -> np.ndarray:
        """The tables as a full array; made on every access from the compact form."""
        check_is_fitted(self)
        values = self.table_values_[:, : self._n_outputs()]
        return additive_tables.expand_tables(
            self.table_offsets_, values, self.table_levels_, self.quantizer_.n_levels_
        )

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything that was learned, as arrays that ``numpy.save`` keeps without pickle.

        Returns
        -------
        dict of str to ndarray
            For :meth:`set_state` of a classifier with the same parameters. What ``warm_start`` and
            ``partial_fit`` remember of the samples is not part of it.
        """
        check_is_fitted(self)
        classes = self.classes_
        if classes.dtype == object:
            classes = classes.astype(str)
        state = {
            "classes": classes,
            "table_levels": self.table_levels_,
            "table_offsets": self.table_offsets_,
            "table_values": self.table_values_[:, : self._n_outputs()],
            "n_features": np.array(self.n_features_in_),
            "n_iter": np.array(self.n_iter_),
            **prefixed("quantizer_", self.quantizer_.get_state()),
        }
        return state | calibration_state(self)

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Become the classifier whose :meth:`get_state` this is; its scores are bit-identical."""
        learned = part_of("quantizer_", state)
        self.quantizer_ = Quantizer(self.n_bins, strategy=str(learned["strategy"]))
        self.quantizer_.set_state(learned)
        self.classes_ = np.asarray(state["classes"])
        self.table_levels_ = np.asarray(state["table_levels"], np.int64)
        self.table_offsets_ = np.asarray(state["table_offsets"], np.int64)
        self.n_features_in_ = int(state["n_features"])
        additive_tables.check_tables(
            self.table_offsets_,
            self.table_levels_,
            state["table_values"],
            self.n_features_in_,
            self._n_outputs(),
        )
        self.table_values_ = additive_tables.add_lanes(state["table_values"], np.float32)
        self.n_iter_ = int(state["n_iter"])
        restore_calibration(self, state)
        return self

    def _scores_of_values(self, X: Any) -> np.ndarray | None:
        """Scores of dense values in one pass, or None where that can't be."""
        quantizer = self.quantizer_
        if sparse.issparse(X) or quantizer.strategy == "quantile":
            return None
        return self._prepared().scores(X, self.n_jobs)

    def _prepared(self) -> additive_tables.ValueTables:
        """The tables in the form that dense values need, made once.

        Not an attribute: predicting leaves an estimator as it is.
        """
        quantizer = self.quantizer_
        learned = quantizer, self.table_levels_, self.table_offsets_, self.table_values_
        known = _prepared.get(self)
        if known is None or any(one is not other for one, other in zip(known[0], learned)):
            known = (
                learned,
                additive_tables.ValueTables(quantizer.line(), quantizer.n_levels_, *learned[1:]),
            )
            _prepared[self] = known
        return known[1]

    def _scores(self, levels: Any) -> np.ndarray:
        """Sums of look-ups; a level that training never saw lies between two that it did."""
        numbers = LevelNumbers(self.table_levels_)
        offsets, values = self.table_offsets_, self.table_values_
        rows, columns, unseen = numbers.unknown(levels)
        if unseen.size > offsets[-1]:  # tables with all levels are made in less time
            of_cells = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
            every = np.arange(self.table_levels_[-1] + 1)
            offsets, values = additive_tables.tables_at(
                offsets, self.table_levels_[of_cells], values, every
            )
            return additive_tables.table_scores(levels, offsets, values, n_jobs=self.n_jobs)
        scores = additive_tables.table_scores(
            numbers.numbers_of(levels), offsets, values, n_jobs=self.n_jobs
        )
        if not unseen.size:
            return scores
        _, step, share = self._steps_to(unseen, columns)
        places = rows, np.arange(unseen.size)
        missing = sparse.csr_matrix((share, places), (levels.shape[0], unseen.size))
        return scores + missing @ step.astype(np.float64)

    def _steps_to(
        self, levels: np.ndarray, columns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The tables below levels of features, what they rise to above, and the shares of that."""
        below, above, share = additive_tables.cells_around(
            levels, columns, self.table_levels_, self.table_offsets_
        )
        start = self.table_values_[below]
        return start, self.table_values_[above] - start, share

    def _n_outputs(self) -> int:
        return 1 if self.classes_.size == 2 else int(self.classes_.size)
