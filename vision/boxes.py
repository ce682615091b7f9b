"""Boxes in images: how much two of them share, and which of many to keep.

A box is ``x0, y0, x1, y1`` in pixels, the far edges exclusive.
"""

import numpy as np

__all__ = [
    "OVERLAPS",
    "area",
    "intersection_over_own",
    "intersection_over_smaller",
    "intersection_over_union",
    "suppress",
    "with_aspect",
]


def area(boxes_xyxy: np.ndarray) -> np.ndarray:
    """Return the areas of boxes (n, 4); 0 where a box is turned inside out.

    Examples
    --------
    >>> area(np.array([[0, 0, 2, 3], [5, 5, 4, 9]])).tolist()
    [6.0, 0.0]
    """
    boxes = _as_boxes(boxes_xyxy)
    return np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0), axis=1)


def intersection_over_union(boxes_xyxy: np.ndarray, others_xyxy: np.ndarray) -> np.ndarray:
    """Return |a ∩ b| / |a ∪ b| of every box with every other one, (n, m).

    Examples
    --------
    >>> intersection_over_union(np.array([[0, 0, 2, 2]]), np.array([[1, 0, 3, 2], [7, 7, 9, 9]]))
    array([[0.33333333, 0.        ]])
    """
    shared = _intersection(boxes_xyxy, others_xyxy)
    whole = area(boxes_xyxy)[:, None] + area(others_xyxy)[None] - shared
    return np.divide(shared, whole, out=np.zeros_like(shared), where=whole > 0)


def intersection_over_smaller(boxes_xyxy: np.ndarray, others_xyxy: np.ndarray) -> np.ndarray:
    """Return |a ∩ b| / min(|a|, |b|) of every box with every other one, (n, m).

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
    """Return |a ∩ b| / |a| of every box a with every other one b, (n, m).

    Examples
    --------
    >>> intersection_over_own(np.array([[0, 0, 8, 8]]), np.array([[0, 0, 4, 8], [0, 0, 9, 9]]))
    array([[0.5, 1. ]])
    """
    shared = _intersection(boxes_xyxy, others_xyxy)
    own = np.broadcast_to(area(boxes_xyxy)[:, None], shared.shape)
    return np.divide(shared, own, out=np.zeros_like(shared), where=own > 0)


OVERLAPS = {"smaller": intersection_over_smaller, "union": intersection_over_union}


def suppress(
    boxes_xyxy: np.ndarray, scores: np.ndarray, overlap: float = 0.5, measure: str = "smaller"
) -> np.ndarray:
    """Keep the best of boxes that show the same thing.

    The box with the highest score is kept and all that overlap it by more than ``overlap`` are
    dropped; then the best of the others, and so on. Of equal scores the first comes first.

    Parameters
    ----------
    boxes_xyxy : (n, 4)
    scores : (n,)
    overlap : float in 0…1
    measure : {"smaller", "union"}
        What the shared area is divided by: the smaller of the two boxes, or their union.

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
    if measure not in OVERLAPS:
        raise ValueError(f"measure={measure!r}; choose one of {', '.join(OVERLAPS)}")
    boxes = _as_boxes(boxes_xyxy)
    waiting = np.argsort(-np.asarray(scores), kind="stable")
    kept = []
    while waiting.size:
        best, waiting = waiting[0], waiting[1:]
        kept.append(best)
        shared = OVERLAPS[measure](boxes[best : best + 1], boxes[waiting])[0]
        waiting = waiting[shared <= overlap]
    return np.array(kept, np.int64)


def with_aspect(boxes_xyxy: np.ndarray, aspect: float) -> np.ndarray:
    """Return boxes (n, 4) of the same middles and heights, ``aspect`` times as wide as high.

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
