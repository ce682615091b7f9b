"""Dense filters: responses to a bank of cosine filters in the cells of patches on a grid."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache

import cv2
import numpy as np

from visualwords.estimator import check_choices
from visualwords.features._filters import describe_patches, pool_responses
from visualwords.features.extractor import Extractor
from visualwords.features.local_features import LocalFeatures, check_cells, grid_positions
from visualwords.features.pixels import COLORS, color_planes

_CELLS = 4  # in each direction
_CELL = 4  # pixels, in the shrunk image
_SIDE = _CELLS * _CELL
_TAPS = 5  # pixels of a filter in each direction
_UNIT = 64.0  # 1-D cosines are rounded to multiples of its inverse
_LARGEST_BIN = 100
_SUMS = _UNIT * 16 * 16  # what the sums of `pool_responses` are of means: 16 is a triangle's sum
_FAINT = 5.0  # grey levels: the length of responses at which contrast begins to count


@dataclass(eq=False, repr=False)
class DenseFilters(Extractor):
    """Mean responses to cosine filters in 4 × 4 cells of patches, at fixed scales.

    The image is shrunk until a cell has 4 × 4 pixels, and filtered with the two-dimensional
    cosines of 5 × 5 pixels [1]_ whose frequencies add up to at most ``order``: edges, bars, spots,
    saddles and finer stripes, where SIFT has edges in eight directions. Of each response, a cell
    has the means of what is above 0 and of what is below, under a triangle of twice its width. The
    numbers v of a patch become 255 √(v / (‖v‖ + 5)), rounded: flat patches are 0, and far above
    five grey levels contrast hardly counts. Filters learned from small patches of photographs
    [2]_ look much like cosines; nothing is learned here.

    Parameters
    ----------
    bin_size : int or several, default 4
        Width of a cell in pixels, 4 to 100. Several give a grid of patches for each.
    step : int, default 8
        Distance of neighbouring patches in pixels, rounded to pixels of the shrunk image.
    order : int, default 3, keyword only
        Largest sum of the two frequencies, 1 to 4: 2, 5, 9 or 14 filters.
    signs : bool, default True
        False: means of magnitudes, half the numbers; bright on dark is then as dark on bright.
    color : {"grey", "rgb", "opponent", "c"}, default "grey"
        Planes that are filtered, see :func:`visualwords.features.pixels.color_planes`; the numbers
        of all of them are divided by one length.

    Notes
    -----
    Columns: cells row by row, in each the planes, in each the filters by the sum of their
    frequencies, then by the horizontal one; first all that are above 0, then all below.
    One-dimensional cosines are rounded to multiples of 1/64, so that sums are of whole numbers.
    Borders are mirrored. Patches lie inside the image, from its top left corner on, and follow
    each other scale by scale, row by row; an image smaller than a patch has none.

    References
    ----------
    .. [1] N. Ahmed, T. Natarajan, K. R. Rao: Discrete cosine transform, 1974.
    .. [2] T.-H. Chan et al.: PCANet: a simple deep learning baseline for image classification?,
       2015.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((16, 24), np.uint8)
    >>> image[:, 12:] = 200
    >>> found = DenseFilters(order=1).extract(image)
    >>> found.descriptors.shape  # 2 patches, 16 cells, 2 filters, above and below
    (2, 64)
    >>> found.descriptors[0].reshape(4, 4, 4)[1].tolist()  # an upright edge on the right
    [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 171], [0, 0, 0, 133]]
    """

    bin_size: int | Sequence[int] = 4
    step: int = 8
    _: KW_ONLY
    order: int = 3
    signs: bool = True
    color: str = "grey"

    version = 1
    is_local = True

    @property
    def color_mode(self) -> str:
        return "grey" if self.color == "grey" else "rgb"

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where a parameter can't be used."""
        self._bin_sizes()
        if self.order not in range(1, _TAPS):
            raise ValueError(f"order={self.order}; choose 1, 2, 3 or 4")
        check_choices(self, color=COLORS)

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """The descriptors of all patches.

        Parameters
        ----------
        image : (h, w, 3) RGB or (h, w) grey, uint8

        Returns
        -------
        LocalFeatures
            descriptors : (n, 32 × filters × planes) uint8, half of it without ``signs``; sizes
            are 4 ``bin_size``.
        """
        self.check_parameters()
        planes = color_planes(image, self.color)
        found = [self._of_scale(planes, b) for b in self._bin_sizes()]
        return LocalFeatures(*(np.concatenate(part) for part in zip(*found)))

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Name the columns like ``cell1.3_filter0.2``: the frequencies along x and y.

        ``plane0_`` is in front if there are several, and ``_above`` or ``_below`` behind if signs
        are kept.
        """
        self.check_parameters()
        signs = ("_above", "_below") if self.signs else ("",)
        planes = [""] if self.color == "grey" else [f"plane{k}_" for k in range(3)]
        names = [
            f"{plane}cell{i}.{j}_filter{u}.{v}{sign}"
            for i in range(_CELLS)
            for j in range(_CELLS)
            for plane in planes
            for sign in signs
            for u, v in self._pairs()
        ]
        return np.array(names, dtype=object)

    def _bin_sizes(self) -> tuple[int, ...]:
        return check_cells(self.bin_size, self.step, _CELL, _LARGEST_BIN)

    def _pairs(self) -> np.ndarray:
        """The frequencies (u, v) of the filters, along x and y."""
        sums = range(1, self.order + 1)
        return np.array([(u, total - u) for total in sums for u in range(total + 1)])

    def _of_scale(
        self, planes: Sequence[np.ndarray], b: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Descriptors, positions and sizes of the patches with cells of b pixels."""
        small = [_shrunk(plane, b) for plane in planes]
        height, width = small[0].shape
        step = max(1, round(self.step * _CELL / b))
        x, y = (np.arange(0, length - _SIDE + 1, step) for length in (width, height))
        spacing = math.gcd(step, _CELL)
        cells = self._cells(small if len(x) * len(y) else [plane[:0] for plane in small], spacing)
        out = np.empty((len(x) * len(y), _CELLS**2 * cells.shape[2]), np.uint8)
        steps = _CELL // spacing, step // spacing
        describe_patches(cells, *steps, _FAINT * _SUMS, max(1, len(x)), out)
        middle = _SIDE / 2 + 0.5  # cells are around pixels, half a pixel right of their middle
        positions = grid_positions((x + middle) / width, (y + middle) / height)
        return out, positions, np.full(len(out), _CELLS * b, np.float32)

    def _cells(self, planes: Sequence[np.ndarray], spacing: int) -> np.ndarray:
        """Sums of responses around all points of a lattice whose cells lie inside."""
        pairs, cosines = self._pairs(), _cosines()[: self.order + 1]
        rows, columns = (max(0, (length - _CELL) // spacing + 1) for length in planes[0].shape)
        n_maps = (1 + bool(self.signs)) * len(pairs)
        cells = np.zeros((rows, columns, n_maps * len(planes)), np.int32)
        for k, plane in enumerate(planes if rows * columns else ()):
            n = _TAPS // 2
            padded = cv2.copyMakeBorder(plane, n, n, n, n, cv2.BORDER_REFLECT_101)
            first, stop = k * n_maps, (k + 1) * n_maps
            pool_responses(padded, cosines, pairs, spacing, first, stop, cells)
        return cells


def _shrunk(plane: np.ndarray, b: int) -> np.ndarray:
    """An image in which cells of b pixels have 4."""
    if b == _CELL:
        return plane
    height, width = (max(1, round(length * _CELL / b)) for length in plane.shape)
    return cv2.resize(plane, (width, height), interpolation=cv2.INTER_AREA)


@cache
def _cosines() -> np.ndarray:
    """The one-dimensional cosines of 5 pixels, of length `_UNIT`, rounded."""
    x, u = np.arange(_TAPS) + 0.5, np.arange(_TAPS)[:, None]
    lengths = np.where(u == 0, 1, math.sqrt(2)) / math.sqrt(_TAPS)
    return np.rint(_UNIT * lengths * np.cos(math.pi * u * x / _TAPS)).astype(np.int32)
