"""Where in an image the columns of its vector come from, so that scores can be explained."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

__all__ = ["ColumnPlaces", "places_of_pixels"]

BLOCK = 8  # pixels; single pixels are summed in blocks of this side
PIXELS = "each bin's value is shared equally among the pixels counted in it"


@dataclass(frozen=True)
class ColumnPlaces:
    """The places of an image that each column of its vector was computed from.

    Attributes
    ----------
    positions : (n, 2) float32
        Centres (x, y) of the places in the unit square of the image.
    sizes : (n, 2) float32
        Width and height of the places in the unit square.
    shares : (n, n_columns) CSR matrix
        Share of each place in each column: a column sums to 1, or to 0 where nothing was counted.
    names : list of str
        What columns count, whatever the window: bins, codes or angles.
    name_of : (n_columns,) int
        The name of each column, as a position in ``names``.
    method : str
        How columns are shared among places, as a clause for people.
    """

    positions: np.ndarray
    sizes: np.ndarray
    shares: csr_matrix
    names: list[str]
    name_of: np.ndarray
    method: str


def places_of_pixels(codes: np.ndarray, bounds: np.ndarray, names: Sequence[str]) -> ColumnPlaces:
    """Return the places of a histogram that counts pixels in windows, in blocks of pixels.

    Parameters
    ----------
    codes : (h, w) integers
        The bin of each pixel.
    bounds : (n_windows, 4)
        Pixels x0, y0, x1, y1 of the windows; columns are window-major.
    names : sequence of str
        Of the bins.

    Examples
    --------
    >>> codes = np.zeros((8, 16), int)
    >>> codes[:, 12:] = 1
    >>> places = places_of_pixels(codes, np.array([[0, 0, 16, 8]]), ["dark", "light"])
    >>> places.shares.toarray().round(2).tolist()
    [[0.67, 0.0], [0.33, 1.0]]
    """
    (height, width), n_bins = codes.shape, len(names)
    rows, columns = -(-height // BLOCK), -(-width // BLOCK)
    block = (np.arange(height) // BLOCK)[:, None] * columns + np.arange(width) // BLOCK
    places, used, shares = [], [], []
    for k, (x0, y0, x1, y1) in enumerate(bounds):
        inside = codes[y0:y1, x0:x1].ravel().astype(np.int64)
        pairs = block[y0:y1, x0:x1].ravel() * n_bins + inside
        found, times = np.unique(pairs, return_counts=True)
        bins = found % n_bins
        places.append(found // n_bins)
        used.append(k * n_bins + bins)
        shares.append(times / np.bincount(inside, minlength=n_bins)[bins])
    left, top = np.meshgrid(np.arange(columns) * BLOCK, np.arange(rows) * BLOCK)
    low = np.stack([left.ravel(), top.ravel()], axis=1)
    high = np.minimum(low + BLOCK, (width, height))
    entries = np.concatenate(shares), (np.concatenate(places), np.concatenate(used))
    return ColumnPlaces(
        positions=((low + high) / (2.0 * width, 2.0 * height)).astype(np.float32),
        sizes=((high - low) / (width, height)).astype(np.float32),
        shares=csr_matrix(entries, shape=(rows * columns, len(bounds) * n_bins)),
        names=list(names),
        name_of=np.tile(np.arange(n_bins), len(bounds)),
        method=PIXELS,
    )
