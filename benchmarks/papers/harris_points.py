"""SIFT at Harris corners, as the ETH-80 experiment of [Grauman06] has it; a kernel of sets."""

from collections.abc import Iterable

import cv2
import numpy as np

from visualwords.features.local_features import LocalFeatures, LocalFeatureSets

QUALITY = 2e-4  # of the strongest corner: some 100 points an image; 153 in [Grauman06, Sec. 4.2]
APART, PATCH = 2, 16.0  # pixels between corners; diameter of a key point
RIDGE = 0.3  # of the mean variance, added to every covariance


def harris_features(images: Iterable[np.ndarray], most: int = 400) -> LocalFeatureSets:
    """Return upright SIFT descriptors at the strongest corners of every image."""
    return LocalFeatureSets.concatenate(_describe(image, most) for image in images)


def _describe(image: np.ndarray, most: int) -> LocalFeatures:
    corners = cv2.goodFeaturesToTrack(image, most, QUALITY, APART, useHarrisDetector=True)
    places = np.zeros((0, 2)) if corners is None else corners.reshape(-1, 2)
    points = [cv2.KeyPoint(float(x), float(y), PATCH, 0.0) for x, y in places]
    described, found = cv2.SIFT.create().compute(image, points)
    descriptors = np.zeros((0, 128), np.uint8) if found is None else found.astype(np.uint8)
    size_wh = np.array(image.shape[1::-1])
    positions = (np.array([p.pt for p in described]).reshape(-1, 2) + 0.5) / size_wh
    sizes = np.full(len(described), PATCH, np.float32)
    return LocalFeatures(descriptors, positions.astype(np.float32), sizes)


def bhattacharyya(sets: Iterable[np.ndarray], ridge: float = RIDGE) -> np.ndarray:
    """Return the affinity ∫ √p √q of Gaussians fitted to sets of points (Kondor, Jebara 2003).

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
    points = [np.asarray(one, float) for one in sets]
    d = points[0].shape[1]
    means = np.array([one.mean(axis=0) if len(one) else np.zeros(d) for one in points])
    spreads = np.array([_covariance(one) for one in points])
    spreads = spreads + ridge * np.trace(spreads, axis1=1, axis2=2).mean() / d * np.eye(d)
    volumes = np.linalg.slogdet(spreads)[1]
    gram = np.empty((len(points), len(points)))
    for i, (mean, spread) in enumerate(zip(means, spreads)):
        between = (spreads + spread) / 2
        apart = means - mean
        far = np.einsum("nd,nd->n", apart, np.linalg.solve(between, apart[..., None])[..., 0])
        log = (volumes + volumes[i]) / 4 - np.linalg.slogdet(between)[1] / 2 - far / 8
        gram[i] = np.exp(log)
    return (gram + gram.T) / 2


def _covariance(points: np.ndarray) -> np.ndarray:
    d = points.shape[1]
    return np.cov(points.T, bias=True).reshape(d, d) if len(points) > 1 else np.zeros((d, d))
