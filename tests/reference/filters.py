"""Dense filters by their definition, in double precision, one patch at a time."""

import numpy as np
from scipy.signal import correlate2d

TRIANGLE = np.array([1, 2, 3, 4, 3, 2, 1]) / 16


def cosines():
    """The orthonormal one-dimensional cosines of 5 pixels."""
    x, u = np.arange(5) + 0.5, np.arange(5)[:, None]
    return np.where(u == 0, 1, np.sqrt(2)) / np.sqrt(5) * np.cos(np.pi * u * x / 5)


def responses(plane, order, signs=False, basis=None):
    """Means of responses around every pixel, (h, w, maps)."""
    basis = cosines() if basis is None else basis
    padded = np.pad(plane.astype(float), 2, mode="reflect")
    found = [
        correlate2d(padded, np.outer(basis[total - u], basis[u]), mode="valid")
        for total in range(1, order + 1)
        for u in range(total + 1)
    ]
    maps = [np.maximum(r, 0) for r in found] + [np.maximum(-r, 0) for r in found]
    maps = maps if signs else [np.abs(r) for r in found]
    weights = np.outer(TRIANGLE, TRIANGLE)
    return np.stack([correlate2d(m, weights, mode="same") for m in maps], axis=2)


def descriptor(maps, x, y):
    """The numbers of the patch whose upper left pixel is (x, y)."""
    cells = maps[y + 2 : y + 16 : 4, x + 2 : x + 16 : 4].ravel()
    return 255 * np.sqrt(cells / (np.linalg.norm(cells) + 5))
