"""What all codebooks share: descriptors to learn from, first words, passes over the descriptors.

A codebook learns from a fair share of every class and every image. Parts are slices of a fixed
size, so the outcome does not depend on how many threads or machines share the work, sums of
floating-point numbers included.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from visualwords.estimator import (
    Labels,
    Seed,
    Transformer,
    check_fitted,
    checked_rows,
    validate_data,
)
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.parallel import map_on_workers, within_reach

ROWS = 1 << 16  # of a part
_SAMPLE = 20  # descriptors among which each first word is chosen
_LEAST = 10_000  # and at least so many for all

Distances = Callable[[np.ndarray], np.ndarray]


class Codebook(Transformer):
    """Base of codebooks: they give every descriptor the number of a word.

    A subclass learns in ``fit`` and defines ``predict``, ``transform``, ``get_state`` and
    ``set_state``. It has the parameters ``n_words``, ``random_state`` and ``max_descriptors``.
    """

    n_words: int
    random_state: Seed
    max_descriptors: int | None

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Name the columns of ``transform``: word0, word1, …"""
        check_fitted(self)
        return np.array([f"word{k}" for k in range(self.n_words)], dtype=object)

    def _training_descriptors(self, X: Any, y: Labels) -> tuple[np.ndarray, np.random.RandomState]:
        """Descriptors to learn from, at most ``max_descriptors``, and the random generator."""
        from sklearn.utils import check_random_state

        random = check_random_state(self.random_state)
        descriptors = self._check(X, reset=True)
        sets = X if isinstance(X, LocalFeatureSets) else descriptors
        descriptors = descriptors[choose_rows(sets, y, self.max_descriptors, random)]
        if not (isinstance(self.n_words, int | np.integer) and self.n_words >= 1):
            raise ValueError(f"n_words={self.n_words!r}; expected a whole number, at least 1")
        if len(descriptors) < self.n_words:
            raise ValueError(
                f"n_samples={len(descriptors)} descriptors are too few for "
                f"n_words={self.n_words}; give more images or ask for fewer words"
            )
        return descriptors, random

    def _check(self, X: Any, *, reset: bool = False) -> np.ndarray:
        """Descriptors as a C-ordered array of uint8, uint16 or float32."""
        X = descriptors_of(X)
        if reset:
            X = validate_data(self, X, dtype="numeric", order="C")
        else:
            empty = isinstance(X, np.ndarray) and X.ndim == 2 and len(X) == 0
            least = 0 if empty else 1
            X = checked_rows(self, X, order="C", accept_sparse=False, ensure_min_samples=least)
        if X.dtype not in (np.uint8, np.uint16, np.float32):
            X = X.astype(np.float32)
        return X


def descriptors_of(X: Any) -> Any:
    """The descriptors of local features; anything else as it is."""
    return X.descriptors if isinstance(X, LocalFeatures | LocalFeatureSets) else X


def as_images(X: Any) -> LocalFeatureSets | list[LocalFeatures]:
    """Local features of many images as something to go through and to count."""
    if isinstance(X, LocalFeatureSets):
        return X
    if isinstance(X, LocalFeatures):
        raise TypeError("the local features of one image; give a list of images, even if of one")
    if isinstance(X, Iterable):
        images = list(X)
        if all(isinstance(one, LocalFeatures) for one in images):
            return images
    raise TypeError(
        f"local features of images are needed (LocalFeatureSets, or a list of LocalFeatures, as "
        f"extractors give), not {type(X).__name__}"
    )


def as_sets(X: Any) -> LocalFeatureSets:
    """Local features of many images as ragged sets."""
    images = as_images(X)
    return images if isinstance(images, LocalFeatureSets) else LocalFeatureSets.concatenate(images)


def fair_shares(available: np.ndarray, total: int) -> np.ndarray:
    """Divide ``total`` as equally as possible; no share exceeds what is available.

    Parameters
    ----------
    available : (n,) integers ≥ 0
    total : int

    Returns
    -------
    (n,) int64
        At most ``available`` each; the sum is ``total``, or all there is.

    Examples
    --------
    >>> fair_shares([1, 9, 5], 9).tolist()
    [1, 4, 4]
    """
    available = np.asarray(available, np.int64)
    shares = np.zeros_like(available)
    left = min(int(total), int(available.sum()))
    order = np.argsort(available, kind="stable")
    for rank, i in enumerate(order):  # smallest first: what they leave is divided among the others
        shares[i] = min(available[i], left // (len(order) - rank))
        left -= shares[i]
    return shares


def balanced_rows(
    sets: LocalFeatureSets, labels: Labels, total: int, random: np.random.RandomState
) -> np.ndarray:
    """Draw rows of the descriptors, as equally as possible from classes, and from their images.

    Parameters
    ----------
    sets : LocalFeatureSets
    labels : sequence of one label an image, or None for one class
    total : int
        How many rows.
    random : RandomState

    Returns
    -------
    (m,) int64
        Ascending and different; all rows if there are no more than ``total``.
    """
    sizes = np.diff(sets.offsets)
    if sizes.sum() <= total:
        return np.arange(sizes.sum())
    classes = np.zeros(len(sizes), np.int64)
    if labels is not None:
        classes = np.unique(np.asarray(labels), return_inverse=True)[1]
    if len(classes) != len(sizes):
        raise ValueError(f"{len(classes)} labels, but {len(sizes)} images")
    of_class = fair_shares(np.bincount(classes, weights=sizes).astype(np.int64), total)
    rows = []
    for c, share in enumerate(of_class):
        images = random.permutation(np.flatnonzero(classes == c))
        for image, m in zip(images, fair_shares(sizes[images], share)):
            rows.append(sets.offsets[image] + random.permutation(sizes[image])[:m])
    return np.sort(np.concatenate(rows))


def choose_rows(
    X: LocalFeatureSets | np.ndarray,
    labels: Labels,
    most: int | None,
    random: np.random.RandomState,
) -> np.ndarray | slice:
    """The rows to learn from, at most so many; of images as `balanced_rows` draws them."""
    n = len(X.descriptors) if isinstance(X, LocalFeatureSets) else len(X)
    if most is None or n <= most:
        return slice(None)
    if isinstance(X, LocalFeatureSets):
        return balanced_rows(X, labels, most, random)
    return np.sort(random.permutation(n)[:most])


def choose_seeds(
    n: int,
    n_words: int,
    random: np.random.RandomState,
    distances_among: Callable[[np.ndarray], Distances],
) -> np.ndarray:
    """Choose rows to begin with by k-means++.

    Each is drawn with a probability that grows with its squared distance to the rows chosen before,
    the best of a few draws [1]_, among a sample of 20 descriptors a word (at least 10,000).

    Parameters
    ----------
    n : int
        Number of descriptors, at least ``n_words``.
    n_words : int
    random : RandomState
    distances_among : function
        Takes rows (the sample) and returns a function from m positions in the sample to their
        squared distances to the whole sample, (m, sample size).

    Returns
    -------
    (n_words,) int64

    References
    ----------
    .. [1] D. Arthur, S. Vassilvitskii: k-means++: the advantages of careful seeding, SODA 2007.
    """
    sample = random.permutation(n)[: max(_SAMPLE * n_words, _LEAST)]
    distances = distances_among(sample)
    trials = 2 + int(np.log(n_words))
    chosen = np.empty(n_words, np.int64)
    chosen[0] = random.randint(len(sample))
    nearest = distances(chosen[:1])[0]
    for k in range(1, n_words):
        reach = np.cumsum(nearest, dtype=np.float64)
        if reach[-1] > 0:
            draws = np.searchsorted(reach, random.uniform(size=trials) * reach[-1], side="right")
        else:  # every descriptor is a word already
            draws = random.randint(len(sample), size=1)
        draws = np.minimum(draws, len(sample) - 1)
        candidates = np.minimum(distances(draws), nearest)
        best = candidates.sum(axis=1, dtype=np.float64).argmin()
        chosen[k], nearest = draws[best], candidates[best]
    return sample[chosen]


@contextmanager
def in_parts(X: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Yield the parts of an array for several calls of `map_parts`; each is sent once."""
    with within_reach([X[start : start + ROWS] for start in range(0, len(X), ROWS)]) as parts:
        yield parts


def map_parts(
    function: Callable[[np.ndarray], Any], parts: Sequence[np.ndarray], n_jobs: int | None
) -> list:
    """The results of a function for each part of the rows, in their order.

    Parameters
    ----------
    function : callable
        Takes the rows of a part. It may run in other processes of joblib's active backend, so it
        must be importable there: a function of a module, or a ``partial`` of one.
    parts : sequence
        From `in_parts`.
    n_jobs : int or None
        Threads, or workers of the active backend.

    Examples
    --------
    >>> with in_parts(np.zeros((70_000, 1))) as parts:
    ...     map_parts(len, parts, n_jobs=1)
    [65536, 4464]
    """
    return list(map_on_workers(function, ((part,) for part in parts), n_jobs=n_jobs))
