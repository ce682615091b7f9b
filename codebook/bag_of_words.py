"""Histograms of visual words in the windows of images."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.codebook.codebook import as_sets
from visualwords.codebook.spatial_pyramid import (
    NORMS,
    SCOPES,
    SpatialPyramid,
    as_pyramid,
    normalize,
)
from visualwords.estimator import Labels, TakesObjects, Transformer, check_choices, is_fitted
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.model_file import part_of, prefixed
from visualwords.parallel import with_one_library_thread
from visualwords.progress import Progress

_CELLS = 1 << 22  # numbers of dense histograms made at a time


@dataclass(eq=False, repr=False)
class BagOfWords(Transformer, TakesObjects):
    """Count the visual words of images in the windows of a pyramid.

    Column ``w n_words + k`` counts the patches of word k in window w.

    Parameters
    ----------
    codebook : KMeansCodebook, HIKCodebook or similar
        If it has learned already it is used as it is, else a copy of it learns in ``fit``.
    pyramid : SpatialPyramid, or what its ``windows`` may be; default 31
    norm : {None, "l1", "l2"}, default None, keyword only
        None, with neither power nor weights, gives natural numbers, as int32.
    scope : {"window", "level", "image"}, default "window"
        What has norm 1. A level counts as a whole; its windows may overlap.
    power : float, default 1
        Power of the numbers, after "l1" and before "l2".
    output : {"auto", "sparse", "dense"}, default "auto"
        CSR matrix or array; "auto": what needs less memory.

    Attributes
    ----------
    codebook_ : the codebook in use

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.codebook import KMeansCodebook
    >>> seeds = np.array([[0, 0], [9, 9]])
    >>> codebook = KMeansCodebook(2, init=seeds).fit(seeds)
    >>> descriptors = np.array([[1, 0], [8, 9], [0, 0]], np.uint8)
    >>> positions = np.array([[0.1, 0.5], [0.4, 0.5], [0.9, 0.5]], np.float32)
    >>> image = LocalFeatures(descriptors, positions, np.full(3, 16.0))
    >>> words = BagOfWords(codebook, [(1, 1), (1, 2)], output="dense")
    >>> words.transform([image])
    array([[2, 1, 1, 1, 1, 0]], dtype=int32)
    >>> words.get_feature_names_out()[2:4].tolist()
    ['level1_window0_word0', 'level1_window0_word1']
    """

    codebook: Any
    pyramid: Any = 31
    _: KW_ONLY
    norm: str | None = None
    scope: str = "window"
    power: float = 1.0
    output: str = "auto"

    @with_one_library_thread
    def fit(self, X: Any, y: Labels = None, *, progress: Progress | None = None) -> "BagOfWords":
        """Learn the codebook, unless it has learned.

        Parameters
        ----------
        X : LocalFeatureSets, iterable of LocalFeatures, or (n, d) array of descriptors
            A sample of descriptors is enough.
        y : sequence of one label an image, optional
            For equal shares of the classes in the codebook's training.
        progress : Progress, optional
        """
        self._check_parameters()
        sets = X if isinstance(X, np.ndarray) else as_sets(X)
        if is_fitted(self.codebook):
            self.codebook_ = self.codebook
        else:
            from sklearn.base import clone

            self.codebook_ = clone(self.codebook).fit(sets, y, progress=progress)
        return self

    @with_one_library_thread
    def transform(self, X: Any) -> Any:
        """The histograms of images.

        Parameters
        ----------
        X : LocalFeatureSets, or iterable of LocalFeatures

        Returns
        -------
        array or CSR matrix (n_images, n_windows × n_words), int32 or float32
        """
        self._check_parameters()
        sets, pyramid = as_sets(X), self._pyramid
        width = pyramid.n_windows * self._words_in_use.n_words
        step = max(1, _CELLS // width)
        empty = np.zeros((0, width), np.int32 if self._keeps_counts else np.float32)
        parts: list[Any] = [empty if self.output == "dense" else sparse.csr_matrix(empty)]
        for start in range(0, len(sets), step):
            rows = self._histograms(sets[start : start + step], pyramid)
            parts.append(rows if self.output == "dense" else sparse.csr_matrix(rows))
        if self.output == "dense":
            return np.concatenate(parts)
        rows = sparse.vstack(parts, format="csr")
        is_full = 2 * rows.nnz >= len(sets) * width
        return rows.toarray() if is_full and self.output == "auto" else rows

    @with_one_library_thread
    def encode(self, features: LocalFeatures) -> np.ndarray:
        """The histogram of one image as an array, (n_windows × n_words,)."""
        self._check_parameters()
        return self._histograms(LocalFeatureSets.concatenate([features]), self._pyramid)[0]

    def words_of(self, features: LocalFeatures) -> np.ndarray:
        """The word of each patch of an image, (n,) int32."""
        return self._words_in_use.predict(features.descriptors)

    def share(self, features: LocalFeatures, values: np.ndarray) -> np.ndarray:
        """Share values of an image's columns among the patches that were counted there.

        Each column's value is divided equally among its patches, so the shares add up to the
        values of all columns that count any patch.

        Parameters
        ----------
        features : LocalFeatures
        values : (n_columns, ...) array

        Returns
        -------
        (n_patches, ...) float64
        """
        words, pyramid = self.words_of(features), self._pyramid
        n_words = self._words_in_use.n_words
        values = np.asarray(values, np.float64)
        counts = pyramid.count(words, features.positions, n_words)[0].reshape(-1)
        each = values / np.maximum(counts, 1).reshape(-1, *[1] * (values.ndim - 1))
        each = each.reshape(pyramid.n_windows, n_words, *values.shape[1:])
        in_window = pyramid.membership[:, pyramid.cells(features.positions)]
        shares = np.zeros((len(words), *values.shape[1:]))
        for window, inside in zip(each, in_window > 0):
            shares[inside] += window[words[inside]]
        return shares

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Name the columns like ``level2_window7_word13``."""
        words = [f"word{k}" for k in range(self._words_in_use.n_words)]
        return np.array(
            [f"{window}_{word}" for window in self._pyramid.window_names() for word in words],
            dtype=object,
        )

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        return prefixed("codebook_", self._words_in_use.get_state())

    def set_state(self, state: dict[str, np.ndarray]) -> "BagOfWords":
        """Restore what :meth:`get_state` returned; the parameters must be the same."""
        unfitted = type(self.codebook)(**self.codebook.get_params(deep=False))
        self.codebook_ = unfitted.set_state(part_of("codebook_", state))
        return self

    @property
    def _pyramid(self) -> SpatialPyramid:
        return as_pyramid(self.pyramid)

    @property
    def _words_in_use(self) -> Any:
        if hasattr(self, "codebook_"):
            return self.codebook_
        if not is_fitted(self.codebook):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("the codebook has not learned; call fit of the BagOfWords first")
        return self.codebook

    @property
    def _keeps_counts(self) -> bool:
        return self.norm is None and self.power == 1 and self._pyramid.weights is None

    def _histograms(self, sets: LocalFeatureSets, pyramid: SpatialPyramid) -> np.ndarray:
        """Histograms of some images, (n, n_windows × n_words) int32 or float32."""
        n_words = self._words_in_use.n_words
        if len(sets.descriptors):
            words = self._words_in_use.predict(sets.descriptors)
            counts = pyramid.count(words, sets.positions, n_words, offsets=sets.offsets)
        else:
            counts = np.zeros((len(sets), pyramid.n_windows, n_words), np.int32)
        if not self._keeps_counts:
            counts = counts.astype(np.float32, copy=False)
            normalize(counts, pyramid, self.norm, self.scope, self.power)
        return counts.reshape(len(sets), -1)

    def _check_parameters(self) -> None:
        check_choices(self, norm=NORMS, scope=SCOPES, output=("auto", "sparse", "dense"))
        if not self.power > 0:
            raise ValueError(f"power={self.power}; expected a positive number")
