"""Drawings: detections in their image, and a street for the demo, which needs no photograph."""

from colorsys import hsv_to_rgb

import cv2
import numpy as np

__all__ = ["demo_picture", "draw_detections"]

SURE, UNSURE, WHITE = (31, 158, 61), (240, 160, 0), (255, 255, 255)
FONT = cv2.FONT_HERSHEY_SIMPLEX

SIZE_HW = (360, 480)
FINE = 4  # drawn at this multiple of the size and reduced, for smooth outlines
PEOPLE = ((110, 150, 168), (265, 120, 215), (385, 165, 140))  # middle, top, height in pixels
COATS = ((52, 58, 82), (120, 44, 40), (40, 72, 60))

Colour = tuple[int, int, int]
Point = tuple[float, float]


def draw_detections(
    image: np.ndarray,
    boxes_xyxy: np.ndarray,
    confidences: np.ndarray,
    tracks: np.ndarray | None = None,
) -> np.ndarray:
    """The image in colour with a box and its confidence in percent for every detection.

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


def demo_picture(seed: int = 0) -> np.ndarray:
    """A street with a wall, a pavement and people walking, (360, 480, 3) uint8.

    Examples
    --------
    >>> demo_picture().shape
    (360, 480, 3)
    """
    rng = np.random.default_rng(seed)
    canvas = _street(rng)
    for (middle, top, height), coat in zip(PEOPLE, COATS):
        _person(canvas, middle * FINE, top * FINE, height * FINE, coat)
    image = np.asarray(cv2.resize(canvas, SIZE_HW[::-1], interpolation=cv2.INTER_AREA))
    noise = np.asarray(rng.normal(0, 9, image.shape), np.float32)
    grain = cv2.GaussianBlur(noise, (0, 0), 0.7)
    return np.clip(image + grain, 0, 255).astype(np.uint8)


def _street(rng: np.random.Generator) -> np.ndarray:
    """A wall in soft light, rough as plaster, and a pavement in front of it."""
    height, width = (side * FINE for side in SIZE_HW)
    light = np.linspace(168, 142, height, dtype=np.float32)[:, None]
    rough = rng.normal(0, 10, (height // 24, width // 24)).astype(np.float32)
    wall = light + cv2.resize(rough, (width, height))
    canvas = wall[:, :, None] * np.array([1.0, 0.96, 0.88], np.float32)
    ground = int(height * 0.86)
    canvas[ground:] *= 0.72
    return canvas


def _person(canvas: np.ndarray, middle: int, top: int, height: int, coat: Colour) -> None:
    """Head, coat, arms, legs in mid-stride and shoes, with proportions of eight heads."""
    head = height / 8

    def at(x: float, y: float) -> tuple[int, int]:
        return round(middle + x * head), round(top + y * head)

    def line(start: Point, end: Point, colour: Colour, wide: float) -> None:
        cv2.line(canvas, at(*start), at(*end), colour, max(round(wide * head), 1))

    def disc(x: float, y: float, half: Point, colour: Colour, first: int = 0) -> None:
        half_wh = round(half[0] * head), round(half[1] * head)
        cv2.ellipse(canvas, at(x, y), half_wh, 0, first, 360, colour, -1)

    legs, skin, hair, shoes = (38, 40, 48), (196, 150, 126), (52, 40, 34), (28, 26, 26)
    for side in (-1, 1):
        line((0.32 * side, 3.9), (0.42 * side, 5.9), legs, 0.78)
        line((0.42 * side, 5.9), (0.5 * side, 7.6), legs, 0.6)
        disc(0.6 * side, 7.75, (0.5, 0.22), shoes)
        line((0.95 * side, 1.75), (1.1 * side, 3.9), coat, 0.5)
        disc(1.1 * side, 4.15, (0.22, 0.22), skin)
    body = np.array([at(-1, 1.5), at(1, 1.5), at(0.85, 4.4), at(-0.85, 4.4)])
    cv2.fillPoly(canvas, [body], coat)
    disc(0, 1.55, (0.98, 0.3), coat)
    line((0, 0.9), (0, 1.5), skin, 0.4)
    disc(0, 0.55, (0.4, 0.52), skin)
    disc(0, 0.4, (0.42, 0.42), hair, 180)
