"""Which descriptors a codebook learns from: a fair share of every class and every image."""

from typing import Any

import numpy as np

from visualwords.features.local_features import LocalFeatureSets

__all__ = ["balanced_rows", "fair_shares"]


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
    sets: LocalFeatureSets, labels: Any, total: int, random: np.random.RandomState
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
