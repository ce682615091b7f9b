"""SIFT at keypoints: OpenCV's detector and descriptor, or upright SIFT at Harris corners."""

from typing import Any

import cv2
import numpy as np

from visualwords.features.extractor import Extractor, check_choices
from visualwords.features.local_features import LocalFeatures
from visualwords.features.pixels import as_grey, as_rgb
from visualwords.features.sift import DenseSIFT

_SIDE = 6.0  # a descriptor's 4 × 4 cells span 4 × 3/2 diameters of its keypoint, in OpenCV
_NO_SMOOTHING = 0.5  # the smoothing that OpenCV assumes an image to have


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

    version = 1
    color_mode = "grey"
    is_local = True

    def __init__(
        self,
        max_keypoints: int | None = None,
        *,
        detector: str = "sift",
        threshold: float | None = None,
        patch_size: int = 16,
        dtype: str = "uint8",
        root: bool = False,
    ) -> None:
        self.max_keypoints = max_keypoints
        self.detector = detector
        self.threshold = threshold
        self.patch_size = patch_size
        self.dtype = dtype
        self.root = root

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
        """Return the descriptors of all keypoints; an image may have none.

        Parameters
        ----------
        image : (h, w, 3) RGB or (h, w) grey, uint8
        """
        self.check_parameters()
        grey = as_grey(image)
        if self.detector == "sift":
            points, raw = self._sift().detectAndCompute(grey, None)
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

    def visualize(self, image: np.ndarray) -> np.ndarray:
        """Return the image with a circle around each keypoint, half as wide as its patch."""
        picture = as_rgb(image).copy()
        found = self.extract(image)
        centers = np.rint(found.positions * picture.shape[1::-1] - 0.5).astype(int)
        for center, size in zip(centers, found.sizes):
            cv2.circle(picture, center.tolist(), max(1, round(size / 4)), (255, 220, 0))
        return picture

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns as :class:`DenseSIFT` does."""
        return DenseSIFT().get_feature_names_out()

    def _sift(self) -> Any:
        least = 0.04 if self.threshold is None else float(self.threshold)  # OpenCV's default
        return cv2.SIFT.create(nfeatures=self.max_keypoints or 0, contrastThreshold=least)

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
