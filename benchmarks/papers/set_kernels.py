"""Kernels of sets of points that [Grauman06], Table 1, compares with, and points at Harris corners.

Match (Wallraven et al., 2003), exponent (Lyu, 2005), Bhattacharyya (Kondor and Jebara, 2003) and
Kullback–Leibler (Moreno et al., 2003), as the paper describes them. Its greedy matching and
principal angles are not here.
"""

from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np

from benchmarks.papers import _loops as loops
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets

QUALITY = 2e-4  # of the strongest corner: some 100 points an image; 153 in [Grauman06, Sec. 4.2]
APART, PATCH = 2, 16.0  # pixels between corners; diameter of a key point
RIDGE = 0.3  # of the mean variance, added to every covariance
EXPONENT = 9.0  # of a similarity in Lyu's kernel


def harris_features(images: Iterable[np.ndarray], most: int = 400) -> LocalFeatureSets:
    """Return upright SIFT descriptors at the strongest corners of every image."""
    return LocalFeatureSets.concatenate(_describe(image, most) for image in images)


def _describe(image: np.ndarray, most: int) -> LocalFeatures:
    corners = cv2.goodFeaturesToTrack(image, most, QUALITY, APART, useHarrisDetector=True)
    places = np.zeros((0, 2)) if corners is None else corners.reshape(-1, 2)
    points = [cv2.KeyPoint(float(x), float(y), PATCH, 0.0) for x, y in places]
    described, computed = cv2.SIFT.create().compute(image, points)
    descriptors = np.zeros((0, 128), np.uint8) if computed is None else computed.astype(np.uint8)
    size_wh = np.array(image.shape[1::-1])
    positions = (np.array([p.pt for p in described]).reshape(-1, 2) + 0.5) / size_wh
    sizes = np.full(len(described), PATCH, np.float32)
    return LocalFeatures(descriptors, positions.astype(np.float32), sizes)


def match(sets: Iterable[np.ndarray]) -> np.ndarray:
    """Return the Gram matrix of the match kernel: every point and its best partner, O(dm²).

    The similarity of two points is exp(−‖x − y‖² / s), s the mean total variance of a set.

    Examples
    --------
    >>> match([[[0.0], [1.0]], [[0.0], [1.0], [9.0]]]).round(2)
    array([[1.  , 0.83],
           [0.83, 1.  ]])
    """
    return _over_pairs(loops.best_partners, sets, 1.0)


def exponent(sets: Iterable[np.ndarray]) -> np.ndarray:
    """Return the Gram matrix of Lyu's kernel: the mean similarity to the power 9 of all pairs.

    It is divided by √(K(x, x) K(y, y)).

    Examples
    --------
    >>> exponent([[[0.0], [1.0]], [[0.0], [1.0], [9.0]]]).round(2)
    array([[1.  , 0.85],
           [0.85, 1.  ]])
    """
    gram = _over_pairs(loops.sums_over_pairs, sets, EXPONENT)
    norms = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    return gram / np.outer(norms, norms)


def _over_pairs(loop: Any, sets: Iterable[np.ndarray], power: float) -> np.ndarray:
    points = [np.asarray(one, float) for one in sets]
    bounds = np.concatenate([[0], np.cumsum([len(one) for one in points])])
    scale = float(np.mean([np.var(one, axis=0).sum() for one in points if len(one)]))
    gram = np.zeros((len(points), len(points)))
    loop(np.concatenate(points), bounds, scale / power, gram)
    return gram


def bhattacharyya(sets: Iterable[np.ndarray], ridge: float = RIDGE) -> np.ndarray:
    """Return the affinity ∫ √p √q of Gaussians fitted to sets of points.

    In the space of the points itself, not in a kernel's: linear in the number of points. A share
    ``ridge`` of the mean variance is added to every covariance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.normal(0, 1, (2, 50, 3)), rng.normal(9, 1, (50, 3))
    >>> gram = bhattacharyya([*near, far])
    >>> bool(np.isclose(gram[0, 0], 1)), bool(gram[0, 1] > 0.5), bool(gram[0, 2] < 0.01)
    (True, True, True)
    """
    means, spreads = _gaussians(sets, ridge)
    volumes = np.linalg.slogdet(spreads)[1]
    gram = np.empty((len(means), len(means)))
    for i, (mean, spread) in enumerate(zip(means, spreads)):
        between = (spreads + spread) / 2
        apart = means - mean
        far = np.einsum("nd,nd->n", apart, np.linalg.solve(between, apart[..., None])[..., 0])
        log = (volumes + volumes[i]) / 4 - np.linalg.slogdet(between)[1] / 2 - far / 8
        gram[i] = np.exp(log)
    return (gram + gram.T) / 2


def kullback_leibler(sets: Iterable[np.ndarray], ridge: float = RIDGE) -> np.ndarray:
    """Return exp(−(KL(p‖q) + KL(q‖p)) / s) of Gaussians fitted to sets, s the median of the sums.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.normal(0, 1, (2, 50, 3)), rng.normal(9, 1, (50, 3))
    >>> gram = kullback_leibler([*near, far])
    >>> bool(np.isclose(gram[0, 0], 1)), bool(gram[0, 1] > gram[0, 2])
    (True, True)
    """
    means, spreads = _gaussians(sets, ridge)
    inverses = np.linalg.inv(spreads)
    d = means.shape[1]
    traces = np.einsum("nij,mji->nm", inverses, spreads)  # tr(Σₙ⁻¹ Σₘ)
    apart = means[:, None] - means[None]
    far = np.einsum("nmi,nij,nmj->nm", apart, inverses, apart)
    sums = (traces + traces.T + far + far.T) / 2 - d  # the determinants cancel
    return np.exp(-sums / np.median(sums[sums > 1e-9]))


def _gaussians(sets: Iterable[np.ndarray], ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances; a share of the mean variance is added to every covariance."""
    points = [np.asarray(one, float) for one in sets]
    d = points[0].shape[1]
    means = np.array([one.mean(axis=0) if len(one) else np.zeros(d) for one in points])
    spreads = np.array([_covariance(one) for one in points])
    return means, spreads + ridge * np.trace(spreads, axis1=1, axis2=2).mean() / d * np.eye(d)


def _covariance(points: np.ndarray) -> np.ndarray:
    d = points.shape[1]
    return np.cov(points.T, bias=True).reshape(d, d) if len(points) > 1 else np.zeros((d, d))
