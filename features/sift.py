"""SIFT: descriptors of patches on a regular grid, at several scales, of grey or colour; and of
keypoints, by OpenCV's detector and descriptor or upright at Harris corners.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import cv2
import numpy as np

from visualwords.estimator import check_choices
from visualwords.features._sift import describe_as_bytes, describe_as_floats, pool_cells, vote
from visualwords.features.extractor import Extractor
from visualwords.features.local_features import LocalFeatures, check_cells, grid_positions
from visualwords.features.pixels import COLORS, as_grey, color_planes

_SIDE = 6.0  # a descriptor's 4 × 4 cells span 4 × 3/2 diameters of its keypoint, in OpenCV
_NO_SMOOTHING = 0.5  # the smoothing that OpenCV assumes an image to have
_LARGEST_BIN = 100  # the sums of _sift.py fit 32 bits up to 107


@dataclass(eq=False, repr=False)
class DenseSIFT(Extractor):
    """SIFT descriptors of square patches on a grid, upright and at fixed scales.

    A patch has 4 × 4 cells of ``bin_size`` pixels. Each cell is the mean, under a triangle of
    twice its width, of the gradients in 8 directions, shared linearly between neighbouring
    directions. Cells are weighted by a Gaussian of σ = 2 cells around the patch's centre; the 128
    numbers are brought to length 1, cut at 0.2 and brought to length 1 again [1]_.

    Parameters
    ----------
    bin_size : int or several, default 4
        Width of a cell in pixels, 1 to 100. Several give a grid of patches for each.
    step : int, default 8
        Distance of neighbouring patches in pixels.
    contrast_threshold : float, default 0, keyword only
        Patches whose contrast is not above this are 0: the root mean square of the cells'
        gradients, in grey levels a pixel. Flat patches are always 0.
    dtype : {"uint8", "float32"}, default "uint8"
        Bytes hold 512 times the number, at most 255, as is usual; floats are of length 1.
    root : bool, default False
        RootSIFT: bring the descriptor to sum 1 and take square roots, so that Euclidean distance
        compares as Hellinger's does.
    color : {"grey", "rgb", "opponent", "c"}, default "grey"
        Planes the descriptor is computed on, each of 128 columns; see
        :func:`visualwords.features.pixels.color_planes`.
    sobel : bool, default False
        Describe the Sobel magnitude of the planes instead of the planes.

    Notes
    -----
    The numbers are in OpenCV's order: cells row by row, in each the directions counter-clockwise
    from the right. Patches follow each other scale by scale, row by row. They lie inside the
    image, which is not smoothed; an image smaller than a patch has none.

    Deviations from the paper: no orientation is assigned; the Gaussian is taken at the centres of
    cells, not at every pixel, so that neighbouring patches share their cells. The cosine with
    OpenCV's descriptors of the same patches is 0.998 on average.

    References
    ----------
    .. [1] D. G. Lowe: Distinctive image features from scale-invariant keypoints, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((32, 40), np.uint8)
    >>> image[:, 20:] = 200
    >>> found = DenseSIFT(bin_size=4, step=8).extract(image)
    >>> found.descriptors.shape, found.sizes[0].item()
    ((12, 128), 16.0)
    >>> found.descriptors[1].reshape(4, 4, 8)[1, 2]  # gradients to the right
    array([187,   0,   0,   0,   0,   0,   0,   0], dtype=uint8)
    """

    bin_size: int | Sequence[int] = 4
    step: int = 8
    _: KW_ONLY
    contrast_threshold: float = 0.0
    dtype: str = "uint8"
    root: bool = False
    color: str = "grey"
    sobel: bool = False

    version = 1
    is_local = True

    @property
    def color_mode(self) -> str:
        return "grey" if self.color == "grey" else "rgb"

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where a parameter can't be used."""
        self._bin_sizes()
        if not self.contrast_threshold >= 0:
            raise ValueError(f"contrast_threshold={self.contrast_threshold} must not be negative")
        check_choices(self, dtype=("uint8", "float32"), color=COLORS)

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """The descriptors of all patches.

        Parameters
        ----------
        image : (h, w, 3) RGB or (h, w) grey, uint8

        Returns
        -------
        LocalFeatures
            descriptors : (n, 128 × planes) uint8 or float32; sizes are 4 ``bin_size``.
        """
        self.check_parameters()
        planes = color_planes(image, self.color, self.sobel)
        layout = _layout(*planes[0].shape, self._bin_sizes(), int(self.step))
        descriptors = [self._describe_plane(plane, layout) for plane in planes]
        return LocalFeatures(
            descriptors[0] if len(descriptors) == 1 else np.hstack(descriptors),
            layout.positions.copy(),
            layout.sizes.copy(),
        )

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Name the columns like ``cell1.3_direction45``, with ``plane0_`` in front if several."""
        self.check_parameters()
        names = [
            f"cell{i}.{j}_direction{45 * o}" for i in range(4) for j in range(4) for o in range(8)
        ]
        if self.color != "grey":
            names = [f"plane{k}_{name}" for k in range(3) for name in names]
        return np.array(names, dtype=object)

    def _bin_sizes(self) -> tuple[int, ...]:
        return check_cells(self.bin_size, self.step, 1, _LARGEST_BIN)

    def _describe_plane(self, plane: np.ndarray, layout: "_Layout") -> np.ndarray:
        out = np.empty((len(layout.sizes), 128), self.dtype)
        if not layout.scales:
            return out
        low, (first, second) = (
            np.zeros(plane.shape, np.uint8),
            np.zeros((2, *plane.shape), np.uint32),
        )
        vote(plane, low, first, second)
        cells = np.zeros(layout.n_cells, np.float32)
        with np.errstate(over="ignore"):  # sums may wrap around; only uncompiled code would warn
            pool_cells(low, first, second, layout.plans, layout.norms, layout.extent, cells)
        describe = describe_as_bytes if self.dtype == "uint8" else describe_as_floats
        threshold = np.float32(self.contrast_threshold * _LENGTH_OF_WEIGHTS)
        for scale in layout.scales:
            found = cells[scale.cells].reshape(scale.shape)
            part = out[scale.patches]
            describe(found, _WEIGHTS, *scale.steps, scale.columns, threshold, bool(self.root), part)
        return out


class _Scale(NamedTuple):
    """Where the patches of one size are.

    cells : the part of all cells, of this shape
    patches : the part of all patches
    steps : cells of one run between two of a patch, and between two patches
    columns : (n,) int64, the first cells of patches in a row
    """

    cells: slice
    shape: tuple[int, int]
    patches: slice
    steps: tuple[int, int]
    columns: np.ndarray


class _Layout(NamedTuple):
    """Where all patches of images of one size are; not to be changed.

    positions : (n, 2) float32      sizes : (n,) float32      scales : those that have patches
    plans, norms, extent : what `pool_cells` takes      n_cells : what it fills
    """

    positions: np.ndarray
    sizes: np.ndarray
    scales: list[_Scale]
    plans: np.ndarray
    norms: np.ndarray
    extent: np.ndarray
    n_cells: int


@lru_cache(maxsize=4)
def _layout(h: int, w: int, bin_sizes: tuple[int, ...], step: int) -> _Layout:
    """Lay patches out, once for images of one size: it takes a tenth of their description."""
    positions, sizes = [np.zeros((0, 2), np.float32)], [np.zeros(0, np.float32)]
    scales, plans, norms, extents, n_patches, n_cells = [], [], [], [], 0, 0
    for b in bin_sizes:
        x, y = (_first_bins(length, b, step) for length in (w, h))
        n = len(x) * len(y)
        middle = 1.5 * b + 0.5  # from the first cell's centre pixel to the patch's centre
        positions.append(grid_positions((x + middle) / w, (y + middle) / h))
        sizes.append(np.full(n, 4 * b, np.float32))
        if not n:
            continue
        g = math.gcd(b, step)
        runs = b // g
        nx, ny = ((len(v) - 1) * (step // g) + 3 * runs + 1 for v in (x, y))
        per = -(-(nx + 2 * runs) // runs)
        largest = math.hypot(255, 255) / 2 * 1024 * b**4
        shift = max(0, math.ceil(math.log2(largest / 2**31)))
        plans.append((b, g, x[0], y[0], ny, per, shift, n_cells))
        norms.append(2.0**shift / (1024 * b**4))
        reach = max(0, b - x[0]) + max(w, x[0] - b + runs * per * g)
        extents.append((2 * b + 1, b - y[0], y[0] + (ny - 1) * g + b, reach, runs * per))
        shape = int(ny), 8 * runs * per
        point = np.arange(len(x)) * (step // g)
        columns = point % runs * per + point // runs
        cells = slice(n_cells, n_cells + math.prod(shape))
        patches = slice(n_patches, n_patches + n)
        scales.append(_Scale(cells, shape, patches, (runs, step // g), columns))
        n_patches, n_cells = patches.stop, cells.stop
    extent = np.max(extents, axis=0) if extents else np.zeros(5, np.int64)
    extent[1] = min(0, -extent[1])
    return _Layout(
        np.concatenate(positions),
        np.concatenate(sizes),
        scales,
        np.array(plans),
        np.array(norms, np.float32),
        extent,
        n_cells,
    )


def _first_bins(length: int, b: int, step: int) -> np.ndarray:
    """Pixels of the first cells' centres along one axis of the image."""
    return b // 2 + step * np.arange(max(0, (length - 4 * b) // step + 1), dtype=np.int64)


# Of the 4 × 4 cells of a descriptor and 8 directions: a Gaussian around its middle.
_LINE = np.exp(-((np.arange(4) - 1.5) ** 2) / 8)
_WEIGHTS = np.repeat(np.outer(_LINE, _LINE).ravel(), 8).astype(np.float32)
_LENGTH_OF_WEIGHTS = np.linalg.norm(_WEIGHTS[::8])


@dataclass(eq=False, repr=False)
class KeypointSIFT(Extractor):
    """SIFT descriptors where the image is distinctive instead of on a grid.

    Parameters
    ----------
    max_keypoints : int or None, default None
        Keep only the strongest.
    detector : {"sift", "harris"}, default "sift", keyword only
        - sift: extrema of differences of Gaussians, each with its scale and its main
          orientations [1]_, all by OpenCV.
        - harris: corners, the local maxima of det M − 0.04 trace² M of the gradients' second
          moments M in 3×3 pixels; described upright at the fixed ``patch_size``.
    threshold : float or None, default None
        Least strength. For "sift" OpenCV's contrast threshold (None: 0.04), for "harris" a
        fraction of the strongest corner (None: 0.01).
    patch_size : int, default 16
        Side of the patches around Harris corners, in pixels.
    dtype : {"uint8", "float32"}, default "uint8"
        Bytes hold 512 times the number, at most 255; floats are those bytes brought to length 1.
    root : bool, default False
        RootSIFT: sum 1 and square roots.

    Notes
    -----
    Columns are in the order of :class:`DenseSIFT`. The features of a detector are OpenCV's and may
    change with its version.

    References
    ----------
    .. [1] D. G. Lowe: Distinctive image features from scale-invariant keypoints, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((64, 64), np.uint8)
    >>> image[20:40, 24:44] = 200
    >>> found = KeypointSIFT(detector="harris").extract(image)
    >>> found.descriptors.shape, (found.positions[0] * 64).astype(int).tolist()
    ((4, 128), [24, 20])
    """

    max_keypoints: int | None = None
    _: KW_ONLY
    detector: str = "sift"
    threshold: float | None = None
    patch_size: int = 16
    dtype: str = "uint8"
    root: bool = False

    version = 1
    color_mode = "grey"
    is_local = True

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where a parameter can't be used."""
        most = self.max_keypoints
        if most is not None and not (isinstance(most, int | np.integer) and most >= 1):
            raise ValueError(f"max_keypoints={most!r} must be at least 1, or None for all")
        if self.threshold is not None and not self.threshold >= 0:
            raise ValueError(f"threshold={self.threshold!r} must not be negative")
        if not self.patch_size >= 4:
            raise ValueError(f"patch_size={self.patch_size!r} must be at least 4")
        check_choices(self, detector=("sift", "harris"), dtype=("uint8", "float32"))

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """The descriptors of all keypoints; an image may have none.

        Parameters
        ----------
        image : (h, w, 3) RGB or (h, w) grey, uint8
        """
        self.check_parameters()
        grey = as_grey(image)
        if self.detector == "sift":
            least = 0.04 if self.threshold is None else float(self.threshold)  # OpenCV's default
            sift: Any = cv2.SIFT.create(nfeatures=self.max_keypoints or 0, contrastThreshold=least)
            points, raw = sift.detectAndCompute(grey, None)
        else:
            points = self._find_corners(grey)
            raw = cv2.SIFT.create(sigma=_NO_SMOOTHING).compute(grey, points)[1] if points else None
        if raw is None:
            raw = np.zeros((0, 128), np.float32)
        height, width = grey.shape
        places = np.array([p.pt for p in points], np.float64).reshape(-1, 2)
        return LocalFeatures(
            self._convert(raw),
            np.clip((places + 0.5) / (width, height), 0, 1).astype(np.float32),
            np.array([_SIDE * p.size for p in points], np.float32),
        )

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Name the columns as :class:`DenseSIFT` does."""
        return DenseSIFT().get_feature_names_out()

    def _find_corners(self, grey: np.ndarray) -> list[Any]:
        """Local maxima of Harris' measure, the strongest first, then row by row."""
        strength = cv2.cornerHarris(grey, 3, 3, 0.04)
        highest = cv2.dilate(strength, np.ones((3, 3), np.uint8))
        fraction = 0.01 if self.threshold is None else self.threshold
        least = max(fraction * float(strength.max()), 1e-30)
        y, x = np.nonzero((strength == highest) & (strength >= least))
        order = np.lexsort((x, y, -strength[y, x]))[: self.max_keypoints]
        size = self.patch_size / _SIDE
        return [cv2.KeyPoint(float(x[i]), float(y[i]), size, 0) for i in order]

    def _convert(self, raw: np.ndarray) -> np.ndarray:
        values = raw.astype(np.float32)
        if self.root:
            values = np.sqrt(values / np.maximum(values.sum(axis=1, keepdims=True), 1))
        elif self.dtype == "float32":
            values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1)
        if self.dtype == "float32":
            return values
        return np.minimum(np.rint(values * (512 if self.root else 1)), 255).astype(np.uint8)
