"""A street drawn in code, so that the demo needs no photograph of people."""

import cv2
import numpy as np

__all__ = ["demo_picture"]

SIZE_HW = (360, 480)
FINE = 4  # drawn at this multiple of the size and reduced, for smooth outlines
PEOPLE = ((110, 150, 168), (265, 120, 215), (385, 165, 140))  # middle, top, height in pixels
COATS = ((52, 58, 82), (120, 44, 40), (40, 72, 60))


def demo_picture(seed: int = 0) -> np.ndarray:
    """Return a street with a wall, a pavement and people walking, (360, 480, 3) uint8.

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
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    light = 168 - 26 * rows / height + 12 * np.sin(columns / width * 5)
    rough = cv2.resize(
        rng.normal(0, 10, (height // 24, width // 24)).astype(np.float32), (width, height)
    )
    canvas = (light + rough)[:, :, None] * np.array([1.0, 0.96, 0.88], np.float32)
    ground = int(height * 0.86)
    canvas[ground:] = canvas[ground:] * 0.72
    cv2.line(canvas, (0, ground), (width, ground), (96, 92, 86), 3 * FINE)
    return canvas


def _person(
    canvas: np.ndarray, middle: int, top: int, height: int, coat: tuple[int, int, int]
) -> None:
    """Head, coat, arms, legs in mid-stride and shoes, with proportions of eight heads."""
    head = height / 8

    def at(x: float, y: float) -> tuple[int, int]:
        return round(middle + x * head), round(top + y * head)

    legs, skin, hair, shoes = (38, 40, 48), (196, 150, 126), (52, 40, 34), (28, 26, 26)
    thick = max(round(0.78 * head), 1)
    for side in (-1, 1):
        cv2.line(canvas, at(0.32 * side, 3.9), at(0.42 * side, 5.9), legs, thick)
        cv2.line(canvas, at(0.42 * side, 5.9), at(0.5 * side, 7.6), legs, round(0.6 * head))
        cv2.ellipse(
            canvas,
            at(0.6 * side, 7.75),
            (round(0.5 * head), round(0.22 * head)),
            0,
            0,
            360,
            shoes,
            -1,
        )
        cv2.line(canvas, at(0.95 * side, 1.75), at(1.1 * side, 3.9), coat, round(0.5 * head))
        cv2.circle(canvas, at(1.1 * side, 4.15), round(0.22 * head), skin, -1)
    body = np.array([at(-1, 1.5), at(1, 1.5), at(0.85, 4.4), at(-0.85, 4.4)])
    cv2.fillPoly(canvas, [body], coat)
    cv2.ellipse(canvas, at(0, 1.55), (round(0.98 * head), round(0.3 * head)), 0, 0, 360, coat, -1)
    cv2.line(canvas, at(0, 0.9), at(0, 1.5), skin, round(0.4 * head))
    cv2.ellipse(canvas, at(0, 0.55), (round(0.4 * head), round(0.52 * head)), 0, 0, 360, skin, -1)
    cv2.ellipse(canvas, at(0, 0.4), (round(0.42 * head), round(0.42 * head)), 0, 180, 360, hair, -1)
    shade = tuple(int(c * 0.7) for c in coat)
    cv2.line(canvas, at(0, 1.6), at(0, 4.3), shade, max(round(0.1 * head), 1))
