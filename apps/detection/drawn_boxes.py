"""Detections drawn into their image."""

from colorsys import hsv_to_rgb

import cv2
import numpy as np

__all__ = ["draw_detections"]

SURE, UNSURE, WHITE = (31, 158, 61), (240, 160, 0), (255, 255, 255)
FONT = cv2.FONT_HERSHEY_SIMPLEX


def draw_detections(
    image: np.ndarray,
    boxes_xyxy: np.ndarray,
    confidences: np.ndarray,
    tracks: np.ndarray | None = None,
) -> np.ndarray:
    """Return the image in colour with a box and its confidence in percent for every detection.

    Tracked objects have their number instead, and a colour of their own.

    Examples
    --------
    >>> picture = draw_detections(np.zeros((90, 90), np.uint8), np.array([[9, 9, 40, 80]]), [0.9])
    >>> picture.shape, tuple(picture[40, 9].tolist()) == SURE
    ((90, 90, 3), True)
    """
    picture = cv2.cvtColor(image, cv2.COLOR_GRAY2RGB) if image.ndim == 2 else image.copy()
    shorter = min(picture.shape[:2])
    thickness, size = max(1, round(shorter / 240)), max(0.4, shorter / 900)
    numbers = np.zeros(len(boxes_xyxy), int) if tracks is None else tracks
    for box, confidence, number in zip(boxes_xyxy, confidences, numbers):
        x0, y0, x1, y1 = (int(v) for v in np.rint(box))
        text, color = f"{100 * confidence:.0f}", SURE if confidence >= 0.5 else UNSURE
        if number:
            hue = 0.618034 * number % 1  # successive numbers get hues far apart
            red, green, blue = (int(255 * part) for part in hsv_to_rgb(hue, 0.9, 0.65))
            text, color = f"#{number}", (red, green, blue)
        cv2.rectangle(picture, (x0, y0), (x1, y1), color, thickness)
        (width, height), _ = cv2.getTextSize(text, FONT, size, 1)
        x, y = max(x0, 0), max(y0, height + 5)
        cv2.rectangle(picture, (x, y - height - 5), (x + width + 4, y), color, -1)
        cv2.putText(picture, text, (x + 2, y - 3), FONT, size, WHITE, 1, cv2.LINE_AA)
    return picture
