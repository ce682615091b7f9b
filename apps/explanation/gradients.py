"""Sharing the score of Fisher vectors and second moments among patches, by gradients.

The model is linear in the encoded numbers, but these are no sums over patches: a Fisher vector's
columns are signed roots divided by lengths, second moments are logarithms of matrices. No division
among patches is the only right one; here the gradient decides, with powers and lengths held fixed,
and what it leaves is shared such that all parts add up to the score.

**Fisher vectors.** A column is g = Σ g_i over the patches of a window, then a signed root. Its
value v is divided in proportion to what each patch gave to g:

    v_i = v g g_i / (g² + δ²)   and   v δ² / (g² + δ²) in proportion to the responsibilities q_ik.

**Second moments.** The numbers of a window are those of L = log(M + ε I), M = Σ x_i x_iᵀ / n.
Where its columns have values v, they are ⟨A, L⟩ with A = v L / (L² + δ²) + rest, and a patch gives

    v_i = x_iᵀ B x_i / n,   B = V (Γ ∘ Vᵀ A V) Vᵀ,

where M + ε I = V diag(λ) Vᵀ and Γ_kl = (log λ_k − log λ_l) / (λ_k − λ_l), or 1 / λ_k where they are
equal (Daleckii and Krein). What is left of the window's value is shared equally.

δ = 1/√n is the size that a number has by chance in a window of n patches: one that is no larger has
no information about its patches, and dividing by it would amplify noise.
"""

import numpy as np

from visualwords.codebook import FisherVectors, SecondOrderPooling
from visualwords.codebook.fisher import LEAST
from visualwords.codebook.spatial_pyramid import as_pyramid
from visualwords.features.local_features import LocalFeatures

CLASSES_AT_A_TIME = 8


def share_fisher(
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
    """Factors of x, x² and 1 of a patch, (windows, k, 2 d + 1, classes)."""
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


def share_second_order(
    encoder: SecondOrderPooling, features: LocalFeatures, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Share values of an image's columns among its patches.

    Parameters
    ----------
    encoder : SecondOrderPooling
    features : LocalFeatures
    values : (n_columns, n_classes)

    Returns
    -------
    evidence : (n_patches, n_classes) float64
    of_components : (d, n_classes) float64
        What each principal component has in the score; pairs of them count half for both.
    """
    pyramid = as_pyramid(encoder.pyramid)
    x = encoder.whitened(features.descriptors).astype(np.float64)
    moments, n = encoder.moments(features)
    lambdas, vectors = encoder.eigen(moments.astype(np.float64))
    n_windows, d, n_classes = len(n), x.shape[1], values.shape[1]
    v = values.reshape(n_windows, -1, n_classes).astype(np.float64)
    row, column = np.triu_indices(d)
    evidence = np.zeros((len(x), n_classes))
    inside = pyramid.membership[:, pyramid.cells(features.positions)] > 0
    for window in np.flatnonzero(n):
        members = np.flatnonzero(inside[window])
        log_matrix = (vectors[window] * np.log(lambdas[window])) @ vectors[window].T
        numbers = encoder.unfold(log_matrix[None])[0]
        slopes = v[window] * (numbers / (numbers**2 + 1 / n[window]))[:, None]
        gammas = _divided_differences(lambdas[window])
        for k in range(n_classes):
            a = np.zeros((d, d))
            a[row, column] = slopes[:, k] * np.where(row == column, 1.0, np.sqrt(0.5))
            a = np.triu(a) + np.triu(a, 1).T
            turned = vectors[window].T @ a @ vectors[window]
            b = vectors[window] @ (gammas * turned) @ vectors[window].T
            parts = np.einsum("ij,ij->i", x[members] @ b, x[members]) / n[window]
            rest = v[window][:, k].sum() - parts.sum()
            evidence[members, k] += parts + rest / len(members)
    total = v.sum(axis=0)
    of_components = np.zeros((d, n_classes))
    np.add.at(of_components, row, total / 2)
    np.add.at(of_components, column, total / 2)
    return evidence, of_components


def _divided_differences(values: np.ndarray) -> np.ndarray:
    """Return (log a − log b) / (a − b) of all pairs of values, the derivative where a = b."""
    logs, apart = np.log(values), values[:, None] - values
    near = np.abs(apart) < 1e-9 * values.max()
    middle = (values[:, None] + values) / 2
    return np.where(near, 1 / middle, (logs[:, None] - logs) / np.where(near, 1.0, apart))
