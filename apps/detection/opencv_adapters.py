"""OpenCV 4's people and cascade detectors, over ours: the calls that OpenCV 5 no longer has."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logit

from visualwords.apps.detection.detector import PedestrianDetector
from visualwords.apps.pipeline.loading import load
from visualwords.errors import ModelFileError, VisualWordsError

__all__ = ["CascadeClassifier", "HOGDescriptor", "HOGDescriptor_getDefaultPeopleDetector"]

PEOPLE = "pedestrian"  # the shipped model
Rectangles = np.ndarray | tuple[()]


def HOGDescriptor_getDefaultPeopleDetector() -> str:  # noqa: N802  (OpenCV's name)
    """Return what `HOGDescriptor.setSVMDetector` takes for people: the shipped model's name."""
    return PEOPLE


class HOGDescriptor:
    """``cv2.HOGDescriptor`` as it is used to find people.

    Parameters
    ----------
    _winSize : any
        Taken and not used: the model decides its window.

    Notes
    -----
    Differences from OpenCV: boxes enclose the person, without the margin of OpenCV's window;
    weights are log odds of the confidence, 0 at the model's own threshold, so that
    ``hitThreshold=0`` means that threshold; ``groupThreshold`` and ``useMeanshiftGrouping`` are
    taken and not used, as overlapping detections are always suppressed.

    Examples
    --------
    >>> hog = HOGDescriptor()
    >>> hog.setSVMDetector(HOGDescriptor_getDefaultPeopleDetector())
    >>> hog.detectMultiScale(np.zeros((240, 320, 3), np.uint8), winStride=(8, 8))
    ((), ())
    """

    def __init__(self, _winSize: Any = None, *_: Any) -> None:
        self._detector: PedestrianDetector | None = None

    getDefaultPeopleDetector = staticmethod(HOGDescriptor_getDefaultPeopleDetector)  # noqa: N815

    def setSVMDetector(self, svmdetector: Any) -> None:  # noqa: N802
        """Choose the model: a name, a file, or a detector; OpenCV's weights can't be used."""
        self._detector = _as_detector(svmdetector)

    def detectMultiScale(  # noqa: N802
        self,
        img: np.ndarray,
        hitThreshold: float = 0.0,
        winStride: Sequence[int] | None = None,
        padding: Sequence[int] | None = None,
        scale: float = 1.05,
        groupThreshold: float = 2.0,
        useMeanshiftGrouping: bool = False,
    ) -> tuple[Rectangles, Rectangles]:
        """Find people in a BGR or grey image.

        Parameters
        ----------
        img : (h, w, 3) BGR or (h, w) uint8
        hitThreshold : float
            Least weight; 0 is the model's threshold.
        winStride : (int, int), optional
            The larger number is used, as a multiple of 8, or 4; by default the model's stride.
        padding : (int, int), optional
            The larger number is used; by default the model's padding.
        scale : float
            From one size of people to the next.
        groupThreshold, useMeanshiftGrouping : any
            Not used.

        Returns
        -------
        rectangles : (n, 4) int32, x, y, width, height; an empty tuple if there are none
        weights : (n,) float64; likewise
        """
        if self._detector is None:
            raise VisualWordsError(
                "no model; call setSVMDetector(HOGDescriptor_getDefaultPeopleDetector())"
            )
        usual = self._detector.threshold
        changes: dict[str, Any] = {"scale_factor": float(scale)}
        changes["threshold"] = _shifted(usual, hitThreshold)
        if winStride is not None and max(winStride) > 0:
            largest = int(max(winStride))
            changes["stride"] = 4 if largest <= 4 else max(largest // 8, 1) * 8
        if padding is not None:
            changes["padding"] = int(max(padding))
        boxes, confidences = _detect(self._detector, img, changes)
        if not len(boxes):
            return (), ()
        return _as_rectangles(boxes), logit(confidences) - logit(usual)


class CascadeClassifier:
    """``cv2.CascadeClassifier`` as it is used to find objects; it takes a model file (``.vw``).

    Parameters
    ----------
    filename : path-like, optional
        A model of ``detect-pedestrians train``, or "pedestrian". Haar and LBP cascades (``.xml``)
        can't be read: `empty` then returns True, as OpenCV's does for files it can't read.

    Examples
    --------
    >>> people = CascadeClassifier("pedestrian")
    >>> people.empty(), people.detectMultiScale(np.zeros((240, 320), np.uint8), 1.1, 3)
    (False, ())
    """

    def __init__(self, filename: str | os.PathLike[str] = "") -> None:
        self._detector: PedestrianDetector | None = None
        if os.fspath(filename):
            self.load(filename)

    def load(self, filename: str | os.PathLike[str]) -> bool:
        """Read a model; return whether it could be read."""
        try:
            self._detector = _as_detector(filename)
        except (VisualWordsError, OSError):
            self._detector = None
        return self._detector is not None

    def empty(self) -> bool:
        """Return whether there is no model."""
        return self._detector is None

    def detectMultiScale(  # noqa: N802
        self,
        image: np.ndarray,
        scaleFactor: float = 1.1,
        minNeighbors: int = 3,
        flags: int = 0,
        minSize: Sequence[int] | None = None,
        maxSize: Sequence[int] | None = None,
    ) -> Rectangles:
        """Find objects in a BGR or grey image.

        Parameters
        ----------
        image : (h, w, 3) BGR or (h, w) uint8
        scaleFactor : float
            From one size of objects to the next.
        minNeighbors, flags : any
            Not used; the model's threshold decides.
        minSize, maxSize : (int, int), optional
            Width and height that objects have at least, or at most.

        Returns
        -------
        (n, 4) int32, x, y, width, height; an empty tuple if there are none
        """
        return self.detectMultiScale3(
            image, scaleFactor, minNeighbors, flags, minSize, maxSize, True
        )[0]

    def detectMultiScale2(  # noqa: N802
        self, image: np.ndarray, *args: Any, **kwargs: Any
    ) -> tuple[Rectangles, Rectangles]:
        """Return rectangles, and for each the number 1 of windows that OpenCV would have joined."""
        found = self.detectMultiScale(image, *args, **kwargs)
        return found, np.ones(len(found), np.int32) if len(found) else ()

    def detectMultiScale3(  # noqa: N802
        self,
        image: np.ndarray,
        scaleFactor: float = 1.1,
        minNeighbors: int = 3,
        flags: int = 0,
        minSize: Sequence[int] | None = None,
        maxSize: Sequence[int] | None = None,
        outputRejectLevels: bool = False,
    ) -> tuple[Rectangles, Rectangles, Rectangles]:
        """Return rectangles, a level of 1 and a weight for each: the confidence's log odds."""
        if self._detector is None:
            raise VisualWordsError("no model; load one with CascadeClassifier('faces.vw')")
        changes: dict[str, Any] = {"scale_factor": float(scaleFactor)}
        if minSize is not None and minSize[1] > 0:
            changes["min_height"] = max(float(minSize[1]), 8.0)
        boxes, confidences = _detect(self._detector, image, changes)
        sizes = boxes[:, 2:] - boxes[:, :2]
        kept = np.ones(len(boxes), bool)
        if minSize is not None:
            kept &= (sizes >= np.asarray(minSize)).all(axis=1)
        if maxSize is not None and max(maxSize) > 0:
            kept &= (sizes <= np.asarray(maxSize)).all(axis=1)
        if not kept.any():
            return (), (), ()
        weights = logit(confidences[kept]) - logit(self._detector.threshold)
        return _as_rectangles(boxes[kept]), np.ones(int(kept.sum()), np.int32), weights


def _as_detector(model: Any) -> PedestrianDetector:
    if isinstance(model, PedestrianDetector):
        return model
    if not isinstance(model, str | os.PathLike):
        raise VisualWordsError(
            f"a {type(model).__name__} is no model; give the name of a model file, as OpenCV's "
            "weights can't be used here"
        )
    detector = load(model)
    if not isinstance(detector, PedestrianDetector):
        raise ModelFileError(f"{os.fspath(model)}: an image classifier, not a detector")
    return detector


def _detect(
    detector: PedestrianDetector, image: np.ndarray, changes: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Search a BGR or grey image with some parameters changed for this call."""
    usual = {name: getattr(detector, name) for name in changes}
    rgb = image if image.ndim == 2 else np.ascontiguousarray(image[:, :, ::-1])
    try:
        return detector.set_params(**changes).detect(rgb)
    finally:
        detector.set_params(**usual)


def _shifted(threshold: float, by: float) -> float:
    """Return the confidence whose log odds are higher than a threshold's."""
    odds = logit(threshold) + float(np.clip(by, -30, 30))
    return float(np.clip(1 / (1 + np.exp(-odds)), 1e-6, 1 - 1e-6))


def _as_rectangles(boxes_xyxy: np.ndarray) -> np.ndarray:
    """Return x, y, width, height in whole pixels, inside the same image."""
    low, high = np.rint(boxes_xyxy[:, :2]), np.rint(boxes_xyxy[:, 2:])
    return np.hstack([low, high - low]).astype(np.int32)
