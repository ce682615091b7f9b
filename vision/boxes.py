"""Boxes in images: how much two of them share, which of many to keep, and scales to search at.

A box is ``x0, y0, x1, y1`` in pixels, the far edges exclusive.
"""

import math
import threading

import cv2
import numpy as np


def area(boxes_xyxy: np.ndarray) -> np.ndarray:
    """The areas of boxes (n, 4); 0 where a box is turned inside out.

    Examples
    --------
    >>> area(np.array([[0, 0, 2, 3], [5, 5, 4, 9]])).tolist()
    [6.0, 0.0]
    """
    boxes = _as_boxes(boxes_xyxy)
    return np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0), axis=1)


def intersection_over_union(boxes_xyxy: np.ndarray, others_xyxy: np.ndarray) -> np.ndarray:
    """|a ∩ b| / |a ∪ b| of every box with every other one, (n, m).

    Examples
    --------
    >>> intersection_over_union(np.array([[0, 0, 2, 2]]), np.array([[1, 0, 3, 2], [7, 7, 9, 9]]))
    array([[0.33333333, 0.        ]])
    """
    shared = _intersection(boxes_xyxy, others_xyxy)
    whole = area(boxes_xyxy)[:, None] + area(others_xyxy)[None] - shared
    return np.divide(shared, whole, out=np.zeros_like(shared), where=whole > 0)


def intersection_over_smaller(boxes_xyxy: np.ndarray, others_xyxy: np.ndarray) -> np.ndarray:
    """|a ∩ b| / min(|a|, |b|) of every box with every other one, (n, m).

    A small box inside a large one has 1, whatever their sizes.

    Examples
    --------
    >>> intersection_over_smaller(np.array([[0, 0, 8, 8]]), np.array([[2, 2, 4, 4]]))
    array([[1.]])
    """
    shared = _intersection(boxes_xyxy, others_xyxy)
    least = np.minimum(area(boxes_xyxy)[:, None], area(others_xyxy)[None])
    return np.divide(shared, least, out=np.zeros_like(shared), where=least > 0)


def intersection_over_own(boxes_xyxy: np.ndarray, others_xyxy: np.ndarray) -> np.ndarray:
    """|a ∩ b| / |a| of every box a with every other one b, (n, m).

    Examples
    --------
    >>> intersection_over_own(np.array([[0, 0, 8, 8]]), np.array([[0, 0, 4, 8], [0, 0, 9, 9]]))
    array([[0.5, 1. ]])
    """
    shared = _intersection(boxes_xyxy, others_xyxy)
    own = np.broadcast_to(area(boxes_xyxy)[:, None], shared.shape)
    return np.divide(shared, own, out=np.zeros_like(shared), where=own > 0)


def suppress(boxes_xyxy: np.ndarray, scores: np.ndarray, overlap: float = 0.5) -> np.ndarray:
    """Keep the best of boxes that show the same thing.

    The box with the highest score is kept and all that overlap it by more than ``overlap`` are
    dropped; then the best of the others, and so on. Of equal scores the first comes first.

    Parameters
    ----------
    boxes_xyxy : (n, 4)
    scores : (n,)
    overlap : float in 0…1
        The shared area, divided by the smaller of the two boxes.

    Returns
    -------
    (k,) int64
        Numbers of the boxes that are kept, best first.

    Examples
    --------
    >>> boxes = np.array([[0, 0, 10, 10], [1, 1, 11, 11], [50, 50, 60, 60]])
    >>> suppress(boxes, np.array([0.5, 0.9, 0.1])).tolist()
    [1, 2]
    """
    boxes = _as_boxes(boxes_xyxy)
    waiting = np.argsort(-np.asarray(scores), kind="stable")
    kept = []
    while waiting.size:
        best, waiting = waiting[0], waiting[1:]
        kept.append(best)
        shared = intersection_over_smaller(boxes[best : best + 1], boxes[waiting])[0]
        waiting = waiting[shared <= overlap]
    return np.array(kept, np.int64)


def fuse(
    boxes_xyxy: np.ndarray, scores: np.ndarray, kept: np.ndarray, softness: float
) -> tuple[np.ndarray, np.ndarray]:
    """Average each kept box with the boxes around it.

    All boxes that a kept box overlaps by half (intersection over union) weigh
    exp(score / softness). Their mean takes its place, and softness · log Σ exp(score / softness)
    is its score: what many windows agree on counts more than what a single one sees.

    Parameters
    ----------
    boxes_xyxy : (n, 4)
    scores : (n,)
    kept : (k,) int64
        Numbers of boxes, as `suppress` returns them.
    softness : float above 0

    Returns
    -------
    boxes_xyxy : (k, 4)
    scores : (k,) float64

    Examples
    --------
    >>> boxes = np.array([[0, 0, 10, 10], [2, 0, 12, 10], [50, 50, 60, 60]])
    >>> fused, scores = fuse(boxes, np.array([1.0, 1.0, 0.5]), np.array([0, 2]), softness=1)
    >>> fused.tolist(), scores.round(2).tolist()
    ([[1.0, 0.0, 11.0, 10.0], [50.0, 50.0, 60.0, 60.0]], [1.69, 0.5])
    """
    boxes, exponents = _as_boxes(boxes_xyxy), np.asarray(scores, np.float64) / softness
    fused, joint = np.empty((len(kept), 4)), np.empty(len(kept))
    for i, k in enumerate(kept):
        near = intersection_over_union(boxes[k : k + 1], boxes)[0] >= 0.5
        near[k] = True  # a box without area, too
        highest = exponents[near].max()
        weights = np.exp(exponents[near] - highest)
        fused[i] = (weights[:, None] * boxes[near]).sum(axis=0) / weights.sum()
        joint[i] = softness * (highest + np.log(weights.sum()))
    return fused, joint


def join(
    boxes_xyxy: np.ndarray, scores: np.ndarray, *, overlap: float = 0.5, softness: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """One box for each thing that boxes show, and its score, best first.

    The best boxes are kept (`suppress`); with a ``softness`` they are fused with those around them
    (`fuse`), and as they then may have moved closer, the best of them are kept.

    Examples
    --------
    >>> boxes = np.array([[0, 0, 10, 10], [2, 0, 12, 10], [50, 50, 60, 60]])
    >>> join(boxes, np.array([0.5, 0.9, 0.1]))[0].tolist()
    [[2.0, 0.0, 12.0, 10.0], [50.0, 50.0, 60.0, 60.0]]
    >>> join(boxes, np.array([0.9, 0.9, 0.1]), softness=0.5)[0].tolist()
    [[1.0, 0.0, 11.0, 10.0], [50.0, 50.0, 60.0, 60.0]]
    """
    kept = suppress(boxes_xyxy, scores, overlap)
    if not softness or not kept.size:
        return _as_boxes(boxes_xyxy)[kept], np.asarray(scores)[kept]
    boxes, fused = fuse(boxes_xyxy, scores, kept, softness)
    kept = suppress(boxes, fused, overlap)
    return boxes[kept], fused[kept]


def scaled(boxes_xyxy: np.ndarray, factor: float) -> np.ndarray:
    """Boxes (n, 4) of the same middles, ``factor`` times as wide and as high.

    Examples
    --------
    >>> scaled(np.array([[0, 0, 20, 100]]), 0.5).tolist()
    [[5.0, 25.0, 15.0, 75.0]]
    """
    boxes = _as_boxes(boxes_xyxy)
    center, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2 * factor
    return np.hstack([center - half, center + half])


def with_aspect(boxes_xyxy: np.ndarray, aspect: float) -> np.ndarray:
    """Boxes (n, 4) of the same middles and heights, ``aspect`` times as wide as high.

    Examples
    --------
    >>> with_aspect(np.array([[0, 0, 20, 100]]), 0.5).tolist()
    [[-15.0, 0.0, 35.0, 100.0]]
    """
    x0, y0, x1, y1 = _as_boxes(boxes_xyxy).T
    middle, half = (x0 + x1) / 2, aspect * (y1 - y0) / 2
    return np.stack([middle - half, y0, middle + half, y1], axis=1)


def _intersection(boxes_xyxy: np.ndarray, others_xyxy: np.ndarray) -> np.ndarray:
    a, b = _as_boxes(boxes_xyxy)[:, None], _as_boxes(others_xyxy)[None]
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    return np.prod(np.maximum(high - low, 0), axis=2)


def _as_boxes(boxes_xyxy: np.ndarray) -> np.ndarray:
    return np.asarray(boxes_xyxy, np.float64).reshape(-1, 4)


def pyramid_scales(
    size_wh: tuple[int, int],
    window_wh: tuple[int, int],
    factor: float,
    largest: float = 1.0,
    padding: int = 0,
) -> list[float]:
    """The scales at which a window still fits into the image, largest first.

    Parameters
    ----------
    size_wh, window_wh : (int, int)
        Of the image and of the window.
    factor : float above 1
        From one scale to the next.
    largest : float
        The first scale; above 1 the image is enlarged.
    padding : int
        Pixels that are added on each side of the scaled image.

    Examples
    --------
    >>> pyramid_scales((128, 256), (64, 128), factor=1.5)
    [1.0, 0.6666666666666666]
    """
    if not factor > 1:
        raise ValueError(f"scale factor {factor}; it must be above 1")
    scales = []
    scale = largest
    while all(
        round(side * scale) + 2 * padding >= window for side, window in zip(size_wh, window_wh)
    ) and all(round(side * scale) >= 1 for side in size_wh):
        scales.append(scale)
        scale /= factor
    return scales


class ScalePyramid:
    """The image at given scales, made one after the other; only halves are kept.

    A reduced image is interpolated from the image halved (areas averaged) as often as it can be:
    that costs a fraction of averaging areas at every scale, and never skips a pixel. Several
    threads may ask for levels at the same time.

    Parameters
    ----------
    image : (h, w, 3) or (h, w) uint8

    Examples
    --------
    >>> pyramid = ScalePyramid(np.zeros((100, 60), np.uint8))
    >>> [pyramid.level(scale).shape for scale in (2.0, 1.0, 0.3)]
    [(200, 120), (100, 60), (30, 18)]
    """

    def __init__(self, image: np.ndarray):
        self.image = image
        self._halves = [image]
        self._lock = threading.Lock()

    def level(self, scale: float) -> np.ndarray:
        """The image at one scale."""
        height, width = self.image.shape[:2]
        size_wh = round(width * scale), round(height * scale)
        if size_wh == (width, height):
            return self.image
        source = self._halved(max(0, math.floor(-math.log2(scale) + 1e-9)))
        return cv2.resize(source, size_wh, interpolation=cv2.INTER_LINEAR)

    def _halved(self, times: int) -> np.ndarray:
        with self._lock:
            while len(self._halves) <= times:
                last = self._halves[-1]
                size_wh = max(1, last.shape[1] // 2), max(1, last.shape[0] // 2)
                self._halves.append(cv2.resize(last, size_wh, interpolation=cv2.INTER_AREA))
            return self._halves[times]
