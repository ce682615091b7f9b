"""Words by k-means in the feature space of the histogram intersection kernel."""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from visualwords.codebook._hik import (
    add_counts,
    best_columns,
    city_block_distances,
    mean_tables,
    medians,
    rounded,
    sum_tables,
)
from visualwords.codebook.codebook import Codebook, Distances, choose_seeds, in_parts, map_parts
from visualwords.estimator import Labels, Seed, check_choices, check_fitted, check_non_negative
from visualwords.parallel import with_one_library_thread
from visualwords.progress import Progress, Silent
from visualwords.simd import aligned_zeros

_LARGEST = 65535  # a sum of look-ups
_BLOCK = 16384  # descriptors at most that are looked up in 8 tables before the next 8 are read
_SUMS = 1 << 22  # numbers at most that are summed at a time
_VECTOR = 16  # columns are padded to whole vectors


@dataclass(eq=False, repr=False)
class HIKCodebook(Codebook):
    """Visual words by kernel k-means with histogram intersection ([Wu09]).

    Descriptors are histograms h with whole levels; K(h, g) = Σ_j min(h_j, g_j) = φ(h)ᵀφ(g). A
    word is the mean m of its members in feature space, kept as the table
    T[j, v] = mean over members of min(h_j, v), so that ‖φ(h) − m‖² = Σ_j h_j − 2 Σ_j T[j, h_j] +
    ‖m‖² needs one look-up a dimension ([Wu09], Algorithm 2).

    Parameters
    ----------
    n_words : int, default 200
    n_levels : int, default 256
        2 to 256. Bytes are taken as they are with 256; other values are spread evenly over the
        levels, the largest of the training data being the highest.
    random_state : int, RandomState or None
    center : {"mean", "median"}, keyword only
        "median": the word is the median of its members in each dimension and the distance is
        ``Σ_j |h_j − m_j|``, the l₁ variant of [Wu09].
    max_iter : int, default 50
    tol : float, default 1e-3
        Iterations end once at most this share of the descriptors changes its word.
    max_descriptors : int or None, default 200,000
        Learn from no more than these; see :class:`KMeansCodebook`.
    n_jobs : int or None
        Threads, or workers of joblib's active backend; the words do not depend on it.

    Attributes
    ----------
    counts_ : (n_words,) int64
    inertia_ : float
        Σ of ‖φ(x) − m‖² (median: of the l₁ distances) of the training descriptors, in levels.
    n_iter_ : int
    scale_ : float
        Numbers in the tables for one level.

    Notes
    -----
    Deviations from the paper: tables are rounded to 16 bits, which changes well below one percent
    of the labels; first words are spread by k-means++; a word without members begins anew at a
    descriptor far from its word; one-class SVM words are not provided. Memory of the tables:
    2 bytes × d × n_levels × n_words, 13 MB for 200 words of SIFT.

    References
    ----------
    [Wu09] J. Wu, J. M. Rehg, "Beyond the Euclidean distance: creating effective visual codebooks
    using the histogram intersection kernel", ICCV 2009.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0, 9], [1, 8], [9, 0], [8, 1]], np.uint8)
    >>> a, b, c, d = HIKCodebook(n_words=2, random_state=0).fit(x).predict(x)
    >>> bool(a == b != c == d)
    True
    """

    n_words: int = 200
    n_levels: int = 256
    random_state: Seed = None
    _: KW_ONLY
    center: str = "mean"
    max_iter: int = 50
    tol: float = 1e-3
    max_descriptors: int | None = 200_000
    n_jobs: int | None = None

    @with_one_library_thread
    def fit(self, X: Any, y: Labels = None, *, progress: Progress | None = None) -> Self:
        """Learn the words.

        Parameters
        ----------
        X : (n, d) array ≥ 0, or LocalFeatureSets
        y : sequence of one label an image, optional
            For LocalFeatureSets: equal shares for classes.
        progress : Progress, optional
        """
        X, random = self._training_descriptors(X, y)
        self._check_parameters()
        as_they_are = X.dtype == np.uint8 and self.n_levels == 256
        check_non_negative(X, type(self).__name__)
        largest = float(X.max())
        self.levels_per_unit_ = 1.0 if as_they_are else (self.n_levels - 1) / (largest or 1.0)
        levels = self._levels(X)
        progress = progress or Silent()
        progress.start("learning words", self.max_iter)
        self.n_iter_ = 0
        seeds = choose_seeds(
            len(levels), self.n_words, random, lambda rows: _distances(levels[rows])
        )
        shape = (levels.shape[1], self.n_levels, self.n_words)
        self._set_counts(_count(levels[seeds], np.arange(self.n_words, dtype=np.int32), shape))
        with in_parts(levels) as parts:
            scores = self._iterate(levels, parts, progress)
        self.inertia_ = float(self._distances(levels, scores).sum())
        return self

    def accumulate(self, X: Any) -> np.ndarray:
        """Counts that a part of the data adds to one exact iteration.

        Parameters
        ----------
        X : (n, d) array, LocalFeatures or LocalFeatureSets

        Returns
        -------
        (d, n_levels, n_words) int32
            How many descriptors of each word have each level in each dimension.
        """
        check_fitted(self)
        levels = self._levels(self._check(X))
        return _count(levels, self._words.find(levels)[0], self._words.tables.shape)

    def improve(self, parts: Iterable[np.ndarray]) -> Self:
        """Make one exact iteration from the parts of all data.

        No word may be without descriptors.
        """
        counts = sum(parts, np.zeros((), np.int32))
        if not counts.ndim or not counts[0].sum(axis=0).all():
            raise ValueError("a word has no descriptors; give all parts, or ask for fewer words")
        self._set_counts(counts)
        return self

    @with_one_library_thread
    def predict(self, X: Any) -> np.ndarray:
        """The number of the nearest word of each descriptor, int32."""
        check_fitted(self)
        return self._words.find(self._levels(self._check(X)))[0]

    @with_one_library_thread
    def transform(self, X: Any) -> np.ndarray:
        """Similarities (n, n_words), float64: minus the (squared) distances to the words.

        They are off by up to half a number of the tables in each dimension.
        """
        check_fitted(self)
        levels = self._levels(self._check(X))
        sums = levels.sum(axis=1, dtype=np.float64)[:, None]
        return self._as_similarities(self._words.scores(levels), sums)

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_fitted(self)
        numbers = (self.levels_per_unit_, self.scale_, self.constant_, self.inertia_)
        return {
            "tables": np.ascontiguousarray(self._words.tables),
            "bias": self._words.bias,
            "counts": self.counts_,
            "numbers": np.array([*numbers, self.n_iter_]),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Restore what :meth:`get_state` returned; the parameters must be the same."""
        numbers = [float(v) for v in state["numbers"]]
        self.levels_per_unit_, self.scale_, self.constant_, self.inertia_ = numbers[:4]
        self.n_iter_ = int(numbers[4])
        self.counts_ = np.asarray(state["counts"], np.int64)
        tables = np.asarray(state["tables"], np.uint16)
        if tables.ndim != 3 or tables.shape[1] != self.n_levels:
            raise ValueError(
                f"tables of shape {tables.shape}; {self.n_levels} levels are needed, "
                "the file they came from is damaged"
            )
        self._words = WordTables(tables, np.asarray(state["bias"], np.uint16))
        self.n_features_in_ = tables.shape[0]
        return self

    def _levels(self, X: np.ndarray) -> np.ndarray:
        """Descriptors as levels 0 … n_levels − 1, uint8."""
        if X.dtype == np.uint8 and self.levels_per_unit_ == 1 and self.n_levels == 256:
            return X
        check_non_negative(X, type(self).__name__)
        levels = np.rint(X * np.float32(self.levels_per_unit_))
        return np.minimum(levels, self.n_levels - 1).astype(np.uint8)

    def _iterate(
        self, levels: np.ndarray, parts: Sequence[np.ndarray], progress: Progress
    ) -> np.ndarray:
        """Find members and learn words in turn; return each descriptor's score of its word."""
        labels, scores = self._find(parts)
        counts = _count(levels, labels, self._words.tables.shape)
        while self.n_iter_ < self.max_iter:
            self._learn_words(levels, labels, scores, counts)
            before, (labels, scores) = labels, self._find(parts)
            self.n_iter_ += 1
            progress.advance()
            changed = np.flatnonzero(labels != before)
            if changed.size <= self.tol * len(labels) or self.n_iter_ == self.max_iter:
                break
            _move_counts(levels, changed, before, labels, counts)
        return scores

    def _find(self, parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Word of each descriptor and its score."""
        labels, scores = zip(*map_parts(self._words.find, parts, self.n_jobs))
        return np.concatenate(labels), np.concatenate(scores)

    def _learn_words(
        self, levels: np.ndarray, labels: np.ndarray, scores: np.ndarray, counts: np.ndarray
    ) -> None:
        """Tables of the means or medians of the members."""
        empty = np.flatnonzero(counts[0].sum(axis=0) == 0)
        if empty.size:
            far = np.argsort(-self._distances(levels, scores), kind="stable")[: empty.size]
            given = labels.copy()
            given[far] = empty
            counts = counts.copy()
            _move_counts(levels, far, labels, given, counts)
        self._set_counts(counts)

    def _set_counts(self, counts: np.ndarray) -> None:
        """Turn counts of levels into tables of look-ups; ``scale_`` uses all of 16 bits."""
        sizes = counts[0].sum(axis=0)
        self.counts_ = sizes.astype(np.int64)
        if self.center == "median":
            center = medians(counts, sizes.astype(np.int64)).T[:, None, :].astype(np.int32)
            level = np.arange(self.n_levels, dtype=np.int32)[:, None]
            tables = (self.n_levels - 1 - np.abs(level - center)).astype(np.float32, order="C")
            bias = np.zeros(self.n_words)
            self.constant_ = float((self.n_levels - 1) * len(counts))
        else:
            tables = np.empty(counts.shape, np.float32)
            squares = mean_tables(counts, sizes.astype(np.float64), tables)
            bias = (squares.max() - squares) / 2
            self.constant_ = float(squares.max())
        highest = tables[:, -1] if self.center == "mean" else tables.max(axis=1)
        most = float((highest.sum(axis=0, dtype=np.float64) + bias).max())
        room = _LARGEST - len(counts) - 1  # every rounding may add a half
        self.scale_ = room / max(most, 1.0)
        if self.center == "median" and self.scale_ > 1:
            self.scale_ = float(int(self.scale_))  # whole numbers stay exact
        self._words = WordTables(
            rounded(tables, np.float32(self.scale_)), np.rint(bias * self.scale_).astype(np.uint16)
        )

    def _as_similarities(self, scores: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Minus the distances, from sums of look-ups and sums of the descriptors' levels."""
        scores = scores / self.scale_
        if self.center == "median":
            return scores - self.constant_
        return 2 * scores - self.constant_ - sums

    def _distances(self, levels: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Distance of each descriptor to its word, (n,) float64, from its score of that word."""
        sums = levels.sum(axis=1, dtype=np.float64)
        return np.maximum(-self._as_similarities(scores, sums), 0)

    def _check_parameters(self) -> None:
        check_choices(self, center=("mean", "median"))
        if not 2 <= self.n_levels <= 256:
            raise ValueError(f"n_levels={self.n_levels}; expected 2 to 256")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class WordTables:
    """Scores ``b_k + Σ_j T[j, x_j, k]`` of words k, with tables rounded to 16 bits.

    Parameters
    ----------
    tables : (d, n_levels, n_words) uint16
    bias : (n_words,) uint16
        Sums of a word's numbers, one a dimension, must stay below 2¹⁶.

    Examples
    --------
    >>> import numpy as np
    >>> tables = np.array([[[0, 0], [3, 1], [4, 9]]], np.uint16)
    >>> words = WordTables(tables, np.array([0, 1], np.uint16))
    >>> labels, scores = words.find(np.array([[0], [1], [2]], np.uint8))
    >>> labels.tolist(), scores.tolist()
    ([1, 0, 1], [1, 3, 10])
    """

    def __init__(self, tables: np.ndarray, bias: np.ndarray):
        d, n_levels, self.n_words = tables.shape
        width = -(-self.n_words // _VECTOR) * _VECTOR
        self._tables = aligned_zeros((d, n_levels, width), np.uint16)
        self._tables[:, :, : self.n_words] = tables
        self._bias = np.zeros(width, np.uint16)
        self._bias[: self.n_words] = bias

    @property
    def tables(self) -> np.ndarray:
        """The tables as they were given."""
        return self._tables[:, :, : self.n_words]

    @property
    def bias(self) -> np.ndarray:
        """The first summand of each word."""
        return self._bias[: self.n_words]

    def find(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The word of the largest score, the first of equals, and that score.

        Parameters
        ----------
        levels : (n, d) uint8, C order, below ``n_levels``

        Returns
        -------
        labels : (n,) int32
        scores : (n,) uint16
        """
        labels, scores = np.empty(len(levels), np.int32), np.empty(len(levels), np.uint16)
        block = max(1, min(_BLOCK, _SUMS // len(self._bias), len(levels)))
        sums = aligned_zeros((block, len(self._bias)), np.uint16)
        for start in range(0, len(levels), block):
            some = labels[start : start + block]
            part = sums[: len(some)]
            part[...] = self._bias
            sum_tables(levels, start, self._tables, part)
            best_columns(part, some, scores[start : start + block])
        return labels, scores

    def scores(self, levels: np.ndarray) -> np.ndarray:
        """All scores, (n, n_words) uint16."""
        sums = np.tile(self._bias, (len(levels), 1))
        sum_tables(levels, 0, self._tables, sums)
        return sums[:, : self.n_words]


def _count(levels: np.ndarray, labels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The number of descriptors of each word at each level, (d, n_levels, n_words) int32."""
    counts = np.zeros(shape, np.int32)
    add_counts(levels, _by_word(np.arange(len(labels)), labels), labels, np.int32(1), counts)
    return counts


def _move_counts(
    levels: np.ndarray, rows: np.ndarray, before: np.ndarray, after: np.ndarray, counts: np.ndarray
) -> None:
    """Count some descriptors for the word ``after[row]`` instead of ``before[row]``."""
    add_counts(levels, _by_word(rows, before), before, np.int32(-1), counts)
    add_counts(levels, _by_word(rows, after), after, np.int32(1), counts)


def _by_word(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Rows in the order of their words."""
    return rows[np.argsort(labels[rows].astype(np.uint16), kind="stable")]


def _distances(levels: np.ndarray) -> Distances:
    """Squared distances among a sample in feature space: ‖φ(h) − φ(g)‖² = Σ_j |h_j − g_j|."""
    columns = np.ascontiguousarray(levels.T)
    return lambda rows: city_block_distances(levels, rows, columns)
