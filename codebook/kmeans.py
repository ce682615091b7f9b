"""Words as means of descriptors, and the nearest word of each descriptor."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import cv2
import numpy as np
from numpy.typing import ArrayLike

from visualwords.codebook._nearest import (
    GROUP,
    LANES,
    add_to_words,
    best_two,
    find_nearest,
    settle,
    squared_distances,
)
from visualwords.codebook.codebook import Codebook, Distances, choose_seeds, in_parts, map_parts
from visualwords.estimator import Labels, Seed, check_fitted, check_non_negative
from visualwords.parallel import with_one_library_thread
from visualwords.progress import Progress, Silent

_ROOTS = np.rint(np.sqrt(255.0 * np.arange(256))).astype(np.uint8)
_BLOCK = 960  # descriptors multiplied at once, so that products stay in the second-level cache
_FEW = 2000  # pairs of a descriptor and a word that are compared in float64 at once
_LARGEST = 2.0**30  # of a score in whole numbers; leaves room for differences


@dataclass(eq=False, repr=False)
class KMeansCodebook(Codebook):
    """Visual words by k-means: every word is the mean of the descriptors nearest to it.

    Minimises Σ_i min_k ‖x_i − w_k‖² by Lloyd's iterations. Labels are exact (those of float64).

    Parameters
    ----------
    n_words : int, default 200
    random_state : int, RandomState or None
    init : "k-means++", or (n_words, d) array, keyword only
        First words; see `visualwords.codebook.codebook.choose_seeds`.
    max_iter : int, default 50
        Iterations, at most.
    tol : float, default 1e-4
        Iterations end once the words' squared movements add up to at most this times the mean
        variance of a column.
    root : bool, default False
        Take square roots of the descriptors first (they must not be negative), so that distances
        compare counts as Hellinger's does: large bins no longer drown the others.
    max_descriptors : int or None, default 500,000
        Learn from no more than these. Of local features of images, classes (``y``) and the images
        of a class have equal shares.
    n_jobs : int or None
        Threads, or workers of joblib's active backend; the words do not depend on it.

    Attributes
    ----------
    words_ : (n_words, d) float32
        With ``root``, of the roots; those of bytes are multiplied by √255.
    counts_ : (n_words,) int64
        Descriptors each word was learned from.
    inertia_ : float
        Σ of squared distances of the training descriptors to their words.
    n_iter_ : int

    Notes
    -----
    A word without descriptors begins anew at a descriptor far from its word.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0, 1], [1, 0], [9, 8], [8, 9]], np.uint8)
    >>> codebook = KMeansCodebook(n_words=2, random_state=0).fit(x)
    >>> sorted(codebook.words_.tolist()), codebook.inertia_
    ([[0.5, 0.5], [8.5, 8.5]], 2.0)
    >>> a, b = codebook.predict(np.array([[0, 0], [9, 9]], np.uint8))
    >>> bool(a != b)
    True
    """

    n_words: int = 200
    random_state: Seed = None
    _: KW_ONLY
    init: str | ArrayLike = "k-means++"
    max_iter: int = 50
    tol: float = 1e-4
    root: bool = False
    max_descriptors: int | None = 500_000
    n_jobs: int | None = None

    @with_one_library_thread
    def fit(self, X: Any, y: Labels = None, *, progress: Progress | None = None) -> Self:
        """Learn the words.

        Parameters
        ----------
        X : (n, d) array, or LocalFeatureSets
        y : sequence of one label an image, optional
            For LocalFeatureSets: equal shares for classes.
        progress : Progress, optional
        """
        X, random = self._training_descriptors(X, y)
        progress = progress or Silent()
        progress.start("learning words", self.max_iter)
        self._begin(X, random)
        with in_parts(X) as parts:
            self._iterate(X, parts, progress)
            distances = map_parts(partial(_distances, self._nearest), parts, self.n_jobs)
        self.inertia_ = sum(distances)
        return self

    def accumulate(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Sums and counts that a part of the data adds to one exact iteration.

        Parameters
        ----------
        X : (n, d) array, LocalFeatures or LocalFeatureSets

        Returns
        -------
        sums : (n_words, d) float64
            Of the descriptors nearest to each word.
        counts : (n_words,) int64
        """
        check_fitted(self)
        _, sums, counts = _label_and_sum(self._nearest, self._check(X))
        return sums, counts

    def improve(self, parts: Iterable[tuple[np.ndarray, np.ndarray]]) -> Self:
        """Make one exact iteration from the parts of all data, added up in the given order.

        Words without descriptors stay where they are.
        """
        check_fitted(self)
        sums, counts = np.zeros(self.words_.shape), np.zeros(self.n_words, np.int64)
        for more_sums, more_counts in parts:
            sums += more_sums
            counts += more_counts
        used = counts > 0
        words = self.words_.astype(np.float64)
        words[used] = sums[used] / counts[used, None]
        self.counts_ = counts
        self._set_words(words)
        return self

    @with_one_library_thread
    def predict(self, X: Any) -> np.ndarray:
        """The number of the nearest word of each descriptor, int32."""
        check_fitted(self)
        return self._nearest.find(self._check(X))

    @with_one_library_thread
    def transform(self, X: Any) -> np.ndarray:
        """Similarities (n, n_words), float64: minus the squared distances to the words."""
        check_fitted(self)
        X = self._check(X).astype(np.float64)
        words = self.words_.astype(np.float64)
        similar = 2 * X @ words.T
        similar -= np.einsum("kd,kd->k", words, words)
        similar -= np.einsum("nd,nd->n", X, X)[:, None]
        return np.minimum(similar, 0, out=similar)

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_fitted(self)
        return {
            "words": self.words_,
            "counts": self.counts_,
            "inertia": np.array(self.inertia_),
            "n_iter": np.array(self.n_iter_),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Restore what :meth:`get_state` returned; the parameters must be the same."""
        self._set_words(np.asarray(state["words"], np.float32))
        self.counts_ = np.asarray(state["counts"], np.int64)
        self.inertia_ = float(state["inertia"])
        self.n_iter_ = int(state["n_iter"])
        self.n_features_in_ = self.words_.shape[1]
        return self

    def _check(self, X: Any, *, reset: bool = False) -> np.ndarray:
        """Descriptors as an array; of roots, bytes stay bytes: √v √255, rounded."""
        X = super()._check(X, reset=reset)
        if not self.root:
            return X
        if X.dtype == np.uint8:
            return cv2.LUT(X, _ROOTS) if X.size else X  # seven times as fast as an index
        check_non_negative(X, type(self).__name__)
        return np.sqrt(X, dtype=np.float32)

    def _begin(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Choose the first words."""
        if isinstance(self.init, str) and self.init == "k-means++":
            words = X[choose_seeds(len(X), self.n_words, random, _distances_among(X))]
        else:
            words = np.asarray(self.init)
        shape = self.n_words, X.shape[1]
        if words.shape != shape:
            raise ValueError(f"init={self.init!r}; expected k-means++ or numbers of shape {shape}")
        self.counts_ = np.zeros(self.n_words, np.int64)
        self.inertia_, self.n_iter_ = float("inf"), 0
        self._set_words(words)

    def _iterate(self, X: np.ndarray, parts: Sequence[np.ndarray], progress: Progress) -> None:
        """Lloyd's iterations."""
        still = self.tol * float(np.var(X, axis=0, dtype=np.float64).mean())
        while self.n_iter_ < self.max_iter:
            self.n_iter_ += 1
            found = map_parts(partial(_label_and_sum, self._nearest), parts, self.n_jobs)
            labels = np.concatenate([part[0] for part in found])
            sums, self.counts_ = sum(part[1] for part in found), sum(part[2] for part in found)
            empty = np.flatnonzero(self.counts_ == 0)
            if empty.size:
                self._reseed(X, labels, empty, sums)
            words = sums / np.maximum(self.counts_, 1)[:, None]
            moved = float(((words - self.words_) ** 2).sum())
            self._set_words(words)
            progress.advance()
            if moved <= still:
                break

    def _reseed(
        self, X: np.ndarray, labels: np.ndarray, empty: np.ndarray, sums: np.ndarray
    ) -> None:
        """Give empty words the descriptors farthest from their own words, which lose them."""
        distance = squared_distances(X, self.words_, labels)
        far = np.argsort(-distance, kind="stable")[: empty.size]
        for word, row in zip(empty, far):
            old = labels[row]
            if self.counts_[old] > 1:
                sums[old] -= X[row]
                self.counts_[old] -= 1
            sums[word] = X[row]
            self.counts_[word] = 1

    def _set_words(self, words: np.ndarray) -> None:
        self.words_ = np.ascontiguousarray(words, np.float32)
        self._nearest = NearestWords(self.words_)


class NearestWords:
    """Words prepared for finding the nearest one, ``argmin_k ‖x − w_k‖²``.

    The scores xᵀw − ½‖w‖² of bytes come from products of whole numbers with words rounded to 16
    bits; those of other numbers from a matrix product in float32. Where the two best of a
    descriptor are closer than rounding can explain, the next precision decides: float32 after
    16 bits, float64 after float32, or at once where there are few. So the labels are those of
    float64, whatever the library, the number of threads and the other descriptors; of equally near
    words the first is taken.

    Parameters
    ----------
    words : (n_words, d) float32

    Examples
    --------
    >>> import numpy as np
    >>> words = NearestWords(np.array([[0, 0], [8, 0]], np.float32))
    >>> words.find(np.array([[1, 2], [9, 9], [4, 0]], np.uint8)).tolist()
    [0, 1, 0]
    """

    def __init__(self, words: np.ndarray):
        self.words = np.ascontiguousarray(words, np.float32)
        self._squares = np.einsum("kd,kd->k", self.words, self.words, dtype=np.float64)
        self._bias = (-0.5 * self._squares).astype(np.float32)
        self._longest = float(np.sqrt(self._squares.max()))
        self._packed = _pack(self.words, self._squares) if LANES else None

    def find(self, descriptors: np.ndarray) -> np.ndarray:
        """The nearest word of each descriptor.

        Parameters
        ----------
        descriptors : (n, d) array, C order, of uint8, uint16 or float32

        Returns
        -------
        (n,) int32
        """
        labels = np.empty(len(descriptors), np.int32)
        if len(labels) and descriptors.dtype == np.uint8 and self._packed is not None:
            near = np.zeros(len(labels), np.bool_)
            find_nearest(descriptors, *self._packed, labels, near)
            close = np.flatnonzero(near)
            if close.size * len(self.words) <= _FEW:
                settle(descriptors, self.words, close, labels)
            else:
                labels[close] = self._find_by_products(descriptors[close])
            return labels
        return self._find_by_products(descriptors)

    def _find_by_products(self, descriptors: np.ndarray) -> np.ndarray:
        """Labels by matrix products in float32, settled in float64 where it is close."""
        n, d = descriptors.shape
        size = min(_BLOCK, n)
        block = np.empty((size, d), np.float32)
        scores = np.empty((len(self.words), size), np.float32)
        best, second = np.empty(size, np.float32), np.empty(size, np.float32)
        labels, close = np.empty(n, np.int32), [np.empty(0, np.int64)]
        for start in range(0, n, _BLOCK):
            rows = slice(start, min(start + _BLOCK, n))
            m = rows.stop - start
            x = block[:m]
            x[...] = descriptors[rows]
            products = np.matmul(self.words, x.T, out=scores if m == size else None)
            best_two(products, self._bias, labels[rows], best[:m], second[:m])
            certain = best[:m] - second[:m] > self._rounding_error(x)
            close.append(np.flatnonzero(~certain) + start)
        settle(descriptors, self.words, np.concatenate(close), labels)
        return labels

    def _rounding_error(self, x: np.ndarray) -> np.ndarray:
        """How far the difference of two scores may be off: several times what is expected."""
        lengths = np.sqrt(np.einsum("nd,nd->n", x, x))
        slack = 2 + np.sqrt(x.shape[1])
        return (slack * 2.0**-24 * self._longest) * (lengths + self._longest)


def _pack(words: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.float32]:
    """Words as 16-bit numbers in groups, their −½‖w‖² alike, and how unsure a difference is.

    By Cauchy and Schwarz the product of x with a word's rounding errors e is at most ‖x‖ ‖e‖.
    """
    k, d = words.shape
    n_groups = -(-k // GROUP)
    largest_score = (255 * np.abs(words).sum(axis=1, dtype=np.float64) + 0.5 * squares).max()
    largest = float(np.abs(words).max())
    scale = min(32767 / max(largest, 1e-30), _LARGEST / max(largest_score, 1e-30))
    scaled = words * scale
    rounded = np.zeros((n_groups * GROUP, d + d % 2), np.int16)
    rounded[:k, :d] = np.rint(scaled)
    error = np.sqrt(((rounded[:k, :d] - scaled) ** 2).sum(axis=1)).max()
    bias = np.full(n_groups * GROUP, -_LARGEST - 1, np.int32)  # no word: never the best
    bias[:k] = np.rint(-0.5 * scale * squares)
    packed = rounded.view(np.int32).reshape(n_groups, GROUP, -1).transpose(0, 2, 1)
    return np.ascontiguousarray(packed), bias, np.float32(2.001 * error)


def _label_and_sum(
    nearest: NearestWords, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The word of each descriptor, and each word's sum and number of descriptors."""
    labels = nearest.find(X)
    sums, counts = np.zeros(nearest.words.shape), np.zeros(len(nearest.words), np.int64)
    add_to_words(X, labels, sums, counts)
    return labels, sums, counts


def _distances(nearest: NearestWords, X: np.ndarray) -> float:
    """The sum of the squared distances to the words."""
    return float(squared_distances(X, nearest.words, nearest.find(X)).sum(dtype=np.float64))


def _distances_among(X: np.ndarray) -> Callable[[np.ndarray], Distances]:
    """Squared Euclidean distances among a sample of rows, for seeding."""

    def prepare(sample: np.ndarray) -> Distances:
        x = np.ascontiguousarray(X[sample], np.float32)
        squares = np.einsum("nd,nd->n", x, x)
        return lambda rows: np.maximum(squares[rows, None] + squares - 2 * x[rows] @ x.T, 0)

    return prepare
