"""Drawn figures among other drawn shapes: an object class that a test can learn in seconds."""

import cv2
import numpy as np

from visualwords import PedestrianDetector

WINDOW = (48, 96)  # width, height
SHARE = (0.5, 0.75)


def background(rng, height, width, n_shapes=0):
    """Patches of grey with noise, and discs, boxes and lines that are no figures."""
    coarse = rng.integers(60, 180, (height // 24 + 2, width // 24 + 2)).astype(np.uint8)
    image = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)
    noisy = image[:, :, None] + rng.normal(0, 8, (height, width, 3))
    image = np.clip(noisy, 0, 255).astype(np.uint8)
    for k in range(n_shapes):
        x, y = (int(v) for v in (rng.integers(0, width), rng.integers(0, height)))
        w, h = (int(v) for v in rng.integers(6, 50, 2))
        if k % 3 == 0:
            cv2.circle(image, (x, y), w // 2, shade(rng), -1)
        elif k % 3 == 1:
            cv2.rectangle(image, (x, y), (x + w, y + h), shade(rng), -1)
        else:
            cv2.line(image, (x, y), (x + w // 2, y + 2 * h), shade(rng), max(w // 8, 2))
    return image


def shade(rng):
    """A dark or a light colour."""
    low, high = (0, 35) if rng.random() < 0.5 else (215, 255)
    return tuple(int(v) for v in rng.integers(low, high, 3))


def draw_figure(rng, image, box):
    """Draw a head, a body and two legs into a box x0, y0, x1, y1."""
    x0, y0, x1, y1 = (int(v) for v in box)
    width, height = x1 - x0, y1 - y0
    color, middle = shade(rng), (x0 + x1) // 2
    cv2.circle(image, (middle, y0 + height // 9), height // 9, color, -1)
    body = (x0 + width // 5, y0 + height // 4), (x1 - width // 5, y0 + height // 2)
    cv2.rectangle(image, *body, color, -1)
    for side in (-1, 1):
        hip = middle + side * width // 8, y0 + height // 2
        cv2.line(image, hip, (middle + side * width // 3, y1), color, max(width // 5, 1))


def crop(rng):
    """A figure in the middle of a window with 8 pixels around it."""
    width, height = WINDOW
    image = background(rng, height + 16, width + 16)
    w, h = round(width * SHARE[0]), round(height * SHARE[1])
    x, y = 8 + (width - w) // 2 + rng.integers(-1, 2), 8 + (height - h) // 2 + rng.integers(-1, 2)
    draw_figure(rng, image, (x, y, x + w, y + h))
    return image


def scene(rng, boxes=(), height=200, width=260, n_shapes=9):
    """Figures in boxes; without any, shapes that are no figures."""
    image = background(rng, height, width, n_shapes if not len(boxes) else 0)
    for box in boxes:
        draw_figure(rng, image, box)
    return image


def train(**parameters):
    rng = np.random.default_rng(7)
    crops = [crop(rng) for _ in range(40)]
    photographs = [scene(rng, height=150, width=200, n_shapes=20) for _ in range(9)]
    settings = {"window": WINDOW, "object_share": SHARE, "min_height": 60, "n_rounds": 2}
    settings |= {"scale_factor": 1.1, "n_trees": 64}
    return PedestrianDetector(**(settings | parameters)).fit(crops, photographs)
