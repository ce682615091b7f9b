"""Sharing a Fisher vector's score among patches.

A column is g = Σ g_i over the patches of a window, then a signed root and a division by the
window's length. The model is linear in that, but roots are not sums, so no division among patches
is the only right one. Here a column's value v is divided in proportion to what each patch gave to
g, as the gradient of the root does, with the lengths held fixed:

    v_i = v g g_i / (g² + δ²)   and   v δ² / (g² + δ²) in proportion to the responsibilities q_ik.

δ = 1/√n is the size that g has by chance in a window of n patches: a column that is no larger
has no information about its patches, and dividing by it would amplify noise. All parts add up to v,
so the evidence adds up to the score.
"""

import numpy as np

from visualwords.codebook import FisherVectors
from visualwords.codebook.fisher import LEAST
from visualwords.codebook.spatial_pyramid import as_pyramid
from visualwords.features.local_features import LocalFeatures

CLASSES_AT_A_TIME = 8


def share(
    encoder: FisherVectors, features: LocalFeatures, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Share values of an image's columns among its patches.

    Parameters
    ----------
    encoder : FisherVectors
    features : LocalFeatures
        Descriptors as the encoder takes them.
    values : (n_columns, n_classes)

    Returns
    -------
    evidence : (n_patches, n_classes) float64
    gaussians : (n_patches,) int32
        The most responsible Gaussian of each patch.
    """
    x = encoder.projection_.apply(features.descriptors).astype(np.float64)
    q = responsibilities(encoder, x)
    pyramid = as_pyramid(encoder.pyramid)
    member = pyramid.membership.astype(np.float64)
    cells = pyramid.cells(features.positions)
    evidence = np.zeros((len(x), values.shape[1]))
    known = np.concatenate([x, x**2, np.ones((len(x), 1))], axis=1)
    sums = _window_sums(q, x, member[:, cells])
    for start in range(0, values.shape[1], CLASSES_AT_A_TIME):
        classes = slice(start, start + CLASSES_AT_A_TIME)
        per_window = _coefficients(encoder, *sums, values[:, classes])
        for cell in np.unique(cells):
            inside = cells == cell
            factors = np.tensordot(member[:, cell], per_window, axes=1)
            each = np.tensordot(known[inside], factors, axes=(1, 1))
            evidence[inside, classes] = np.einsum("ik,ikc->ic", q[inside], each)
    return evidence, q.argmax(axis=1).astype(np.int32)


def responsibilities(encoder: FisherVectors, x: np.ndarray) -> np.ndarray:
    """Return how much each Gaussian is responsible for projected descriptors, (n, k)."""
    logits = encoder.mixture_.log_probabilities(x.astype(np.float32)).astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    q = np.exp(logits)
    q[q < LEAST] = 0
    return q / q.sum(axis=1, keepdims=True)


def _window_sums(
    q: np.ndarray, x: np.ndarray, inside: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Number of patches, Σ q, Σ q x and Σ q x² of every window."""
    zeroth = inside @ q
    first = np.stack([(q * window[:, None]).T @ x for window in inside])
    second = np.stack([(q * window[:, None]).T @ x**2 for window in inside])
    return inside.sum(axis=1), zeroth, first, second


def _coefficients(
    encoder: FisherVectors,
    n: np.ndarray,
    zeroth: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    values: np.ndarray,
) -> np.ndarray:
    """Return what x, x² and 1 of a patch are multiplied with, (windows, k, 2 d + 1, classes)."""
    mixture = encoder.mixture_
    means, variances, root = mixture.means, mixture.variances, np.sqrt(mixture.weights)[:, None]
    of_mean, of_spread = 1 / (root * np.sqrt(variances)), 1 / (np.sqrt(2) * root * variances)
    share = 1 / np.maximum(n, 1)[:, None, None]
    mass = zeroth[:, :, None]
    g_mean = (first - mass * means) * of_mean * share
    spread = second - 2 * means * first + mass * (means**2 - variances)
    g_spread = spread * of_spread * share
    chance = share  # δ² = 1 / n
    v = values.reshape(len(n), 2, *means.shape, values.shape[1])
    a = v[:, 0] * (g_mean / (g_mean**2 + chance) * of_mean * share)[..., None]
    b = v[:, 1] * (g_spread / (g_spread**2 + chance) * of_spread * share)[..., None]
    rest = v[:, 0] * (chance / (g_mean**2 + chance))[..., None]
    rest += v[:, 1] * (chance / (g_spread**2 + chance))[..., None]
    constant = rest.sum(axis=2) / np.maximum(mass, 1e-300)
    constant += (b * (means**2 - variances)[..., None] - a * means[..., None]).sum(axis=2)
    return np.concatenate([a - 2 * b * means[..., None], b, constant[:, :, None]], axis=2)
