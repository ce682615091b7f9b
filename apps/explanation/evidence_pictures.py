"""Evidence as pictures: an image under a map of what raises and lowers a score."""

import cv2
import numpy as np

from visualwords.apps.explanation.explanation import ChannelEvidence, Explanation

FOR = np.array([232, 72, 28], np.float32)  # orange-red and blue: distinct to colour-blind people
AGAINST = np.array([38, 98, 226], np.float32)
STRONGEST = 0.7  # opacity of the strongest evidence
BLUR = 0.012  # of the longer side: sharp edges of patches would hide the image
MOST_GAIN = 3.0  # of the contrast of patches


def evidence_limit(maps: list[np.ndarray]) -> float:
    """Return the evidence that is drawn strongest, so that several maps can share one scale."""
    values = np.abs(np.concatenate([heat.ravel() for heat in maps]))
    return max(float(np.percentile(values, 99)), 1e-12)


def overlay(image: np.ndarray, heat: np.ndarray, limit: float) -> np.ndarray:
    """Return an image in pale grey under its evidence.

    Parameters
    ----------
    image : (h, w, 3) uint8
    heat : (h, w) float, evidence of each pixel
    limit : float
        Evidence of this size, or more, is drawn strongest.

    Examples
    --------
    >>> image = np.full((2, 2, 3), 128, np.uint8)
    >>> heat = np.array([[1.0, 0.0], [0.0, -1.0]])
    >>> red, _, blue = overlay(image, heat, limit=1.0)[0, 0]
    >>> bool(red > blue)
    True
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    pale = 60 + 0.68 * grey[:, :, None]
    strength = np.clip(heat / limit, -1, 1)[:, :, None]
    opacity = STRONGEST * np.abs(strength) ** 0.8
    color = np.where(strength > 0, FOR, AGAINST)
    return np.rint((1 - opacity) * pale + opacity * color).astype(np.uint8)


def overlays(
    image: np.ndarray, explanation: Explanation, labels: list[str]
) -> tuple[list[np.ndarray], float]:
    """Return the image under the evidence for each label, on one scale, and the scale's limit."""
    maps = [_smooth(explanation.heat_map(label, image.shape[:2])) for label in labels]
    limit = evidence_limit(maps)
    return [overlay(image, heat, limit) for heat in maps], limit


def _smooth(heat: np.ndarray) -> np.ndarray:
    """Return a map with soft edges and the same sum."""
    sigma = max(BLUR * max(heat.shape), 0.1)
    return cv2.GaussianBlur(heat, (0, 0), sigma, borderType=cv2.BORDER_REFLECT)


def patches_of_word(
    image: np.ndarray, channel: ChannelEvidence, word: int, most: int
) -> list[np.ndarray]:
    """Return up to ``most`` patches of an image that were assigned to a word, evenly chosen."""
    if channel.words is None:
        return []
    found = np.flatnonzero(channel.words == word)
    chosen = found[np.linspace(0, len(found) - 1, min(most, len(found))).astype(int)]
    height, width = image.shape[:2]
    patches = []
    for i in chosen:
        (x, y), (w, h) = channel.positions[i], channel.sizes[i]
        x0, x1 = np.clip([round((x - w / 2) * width), round((x + w / 2) * width)], 0, width)
        y0, y1 = np.clip([round((y - h / 2) * height), round((y + h / 2) * height)], 0, height)
        if x1 - x0 > 1 and y1 - y0 > 1:
            patches.append(image[y0:y1, x0:x1])
    return patches


def most_typical(patches: list[np.ndarray], k: int, side: int = 48) -> list[np.ndarray]:
    """Return the ``k`` patches that look most like the mean of all, brought to one size.

    Brightness and contrast are ignored, as words ignore them; weak contrast is raised.
    """
    if not patches:
        return []
    squares = [cv2.resize(p, (side, side), interpolation=cv2.INTER_CUBIC) for p in patches]
    looks = np.stack([cv2.cvtColor(s, cv2.COLOR_RGB2GRAY).ravel() for s in squares]).astype(float)
    looks -= looks.mean(axis=1, keepdims=True)
    looks /= np.maximum(np.linalg.norm(looks, axis=1, keepdims=True), 1e-9)
    order = np.argsort(-(looks @ looks.mean(axis=0)), kind="stable")[:k]
    return [_raise_contrast(squares[i]) for i in order]


def _raise_contrast(patch: np.ndarray) -> np.ndarray:
    low, high = np.percentile(patch, [1, 99])
    gain = min(MOST_GAIN, 255 / max(high - low, 1.0))
    middle = (low + high) / 2
    return np.clip((patch - middle) * gain + 127.5, 0, 255).astype(np.uint8)
