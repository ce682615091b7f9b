"""From counts of words to comparable numbers: rarity, sums, powers and weights."""

import numpy as np

from visualwords.codebook._moments import signed_roots
from visualwords.codebook.spatial_pyramid import SpatialPyramid

__all__ = ["NORMS", "SCOPES", "inverse_document_frequency", "normalize", "signed_power"]

NORMS = (None, "l1", "l2")
SCOPES = ("window", "level", "image")


def inverse_document_frequency(counts: np.ndarray) -> np.ndarray:
    """Return ln((1 + n) / (1 + n_k)) + 1 of every word, where n_k of n images have word k.

    Parameters
    ----------
    counts : (n, n_words) array
        Of whole images.

    Returns
    -------
    (n_words,) float32

    Examples
    --------
    >>> inverse_document_frequency(np.array([[1, 0, 2], [1, 0, 0]])).round(2)
    array([1.  , 2.1 , 1.41], dtype=float32)
    """
    present = (counts > 0).sum(axis=0)
    return (np.log((1 + len(counts)) / (1 + present)) + 1).astype(np.float32)


def signed_power(values: np.ndarray, power: float) -> np.ndarray:
    """Return sign(v) |v|^power, computed in place.

    Examples
    --------
    >>> signed_power(np.array([-4.0, 9.0]), 0.5).tolist()
    [-2.0, 3.0]
    """
    if power == 1:
        return values
    if power == 0.5 and values.flags.c_contiguous:
        signed_roots(values.reshape(-1))
        return values
    signs = np.sign(values)
    np.abs(values, out=values)
    np.power(values, power, out=values)
    values *= signs
    return values


def normalize(
    values: np.ndarray, pyramid: SpatialPyramid, norm: str | None, scope: str, power: float
) -> np.ndarray:
    """Bring histograms to comparable size: L1 before the power, L2 after it, weights last.

    Parameters
    ----------
    values : (n_images, n_windows, m) float32
        Changed in place.
    pyramid : SpatialPyramid
        Its weights multiply the windows.
    norm : {None, "l1", "l2"}
    scope : {"window", "level", "image"}
        What has norm 1: each window; each level of the pyramid, counted once; or the whole.
    power : float
    """
    if norm == "l1":
        values /= _sizes(np.abs(values).sum(axis=2), pyramid, scope)[:, :, None]
    signed_power(values, power)
    if norm == "l2":
        squares = _sizes(np.einsum("iwk,iwk->iw", values, values), pyramid, scope)
        values /= np.sqrt(squares)[:, :, None]
    if pyramid.weights is not None:
        values *= pyramid.window_weights[:, None]
    return values


def _sizes(of_windows: np.ndarray, pyramid: SpatialPyramid, scope: str) -> np.ndarray:
    """What each window is divided by, (n_images, n_windows); 1 where there is nothing."""
    sizes = of_windows
    if scope == "level":
        level = pyramid.level_of_window
        same = (level[:, None] == level).astype(of_windows.dtype)
        sizes = of_windows @ same
    elif scope == "image":
        sizes = np.repeat(of_windows.sum(axis=1, keepdims=True), of_windows.shape[1], axis=1)
    return np.where(sizes > 0, sizes, 1).astype(of_windows.dtype)
