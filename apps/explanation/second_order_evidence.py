"""Sharing the score of second moments among patches.

The numbers of a window are those of L = log(M + ε I), M = Σ x_i x_iᵀ / n, raised to a power and
divided by their length. The model is linear in that, but a logarithm is no sum over patches, so no
division among them is the only right one. Here the gradient of the logarithm decides, with powers
and lengths held fixed: where the columns of a window have values v, they are ⟨A, L⟩ with
A = v L / (L² + δ²) + rest, and a patch gives

    v_i = x_iᵀ B x_i / n,   B = V (Γ ∘ Vᵀ A V) Vᵀ,

where M + ε I = V diag(λ) Vᵀ and Γ_kl = (log λ_k − log λ_l) / (λ_k − λ_l), or 1 / λ_k where they are
equal (Daleckii and Krein). δ = 1/√n is the size that a number has by chance in a window of n
patches. What the gradient leaves of the window's value is shared equally among its patches, so that
all parts add up to the score.
"""

import numpy as np

from visualwords.codebook import SecondOrderPooling
from visualwords.codebook.spatial_pyramid import as_pyramid
from visualwords.features.local_features import LocalFeatures


def share(
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
