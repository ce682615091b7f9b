"""Pixel arithmetic after decoding: bit depth, transparency, grey and colour, orientation."""

import cv2
import numpy as np

from visualwords.errors import DamagedImageError

DEPTHS = (8, 10, 12, 14, 16, 24, 32)  # bits that cameras and scanners fill


def to_eight_bits(pixels: np.ndarray) -> np.ndarray:
    """Bring samples of any type to uint8, by the rules in `visualwords.images`."""
    if pixels.dtype == np.uint8:
        return pixels
    if pixels.dtype == np.bool_:
        return pixels.astype(np.uint8) * 255
    if np.issubdtype(pixels.dtype, np.floating):
        return _from_float(pixels)
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):  # alpha fills its range, unlike colours
        alpha = _scale(pixels[:, :, -1:], np.iinfo(pixels.dtype).max)
        return np.concatenate([to_eight_bits(pixels[:, :, :-1]), alpha], axis=2)
    if pixels.min(initial=0) < 0:
        raise DamagedImageError(f"negative samples (down to {pixels.min()}) are not colours")
    largest = int(pixels.max(initial=0))
    bits = next((depth for depth in DEPTHS if largest < 1 << depth), 64)
    return _scale(pixels, (1 << bits) - 1)


def _scale(pixels: np.ndarray, white: int) -> np.ndarray:
    """Scale integers so that ``white`` becomes 255."""
    if pixels.dtype.itemsize > 2:
        return np.rint(pixels * (255.0 / white)).astype(np.uint8)
    levels = np.minimum(np.rint(np.arange(1 << 16) * (255.0 / white)), 255).astype(np.uint8)
    return levels[pixels]


def _from_float(pixels: np.ndarray) -> np.ndarray:
    if not np.isfinite(pixels).all():
        raise DamagedImageError("NaN or infinite samples are not colours")
    low, high = float(pixels.min()), float(pixels.max())
    if low < 0 or high > 255:
        raise DamagedImageError(
            f"float samples from {low:g} to {high:g}; they must lie in 0 to 1 or in 0 to 255"
        )
    return np.rint(pixels * (255.0 if high <= 1 else 1.0)).astype(np.uint8)


def rgb_of(pixels: np.ndarray) -> np.ndarray:
    """Return ``(h, w, 3)`` of grey, grey + alpha, RGB or RGBA pixels."""
    pixels = _over_white(pixels)
    return np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 else pixels


def grey_of(pixels: np.ndarray) -> np.ndarray:
    """Return ``(h, w)`` of grey, grey + alpha, RGB or RGBA pixels."""
    pixels = _over_white(pixels)
    if pixels.ndim == 2:
        return pixels
    return cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2GRAY)


def _over_white(pixels: np.ndarray) -> np.ndarray:
    """Lay pixels with an alpha channel over white; a single channel loses its axis."""
    if pixels.ndim == 2:
        return pixels
    if pixels.shape[2] in (2, 4):
        alpha = pixels[:, :, -1:].astype(np.uint32)
        blend = pixels[:, :, :-1] * alpha + 255 * (255 - alpha)
        pixels = ((blend + 127) // 255).astype(np.uint8)
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


def upright(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Undo an EXIF orientation (1–8; anything else counts as 1)."""
    if orientation in (2, 5, 7):
        pixels = pixels[:, ::-1]
    elif orientation == 4:
        pixels = pixels[::-1]
    turns = {3: 2, 5: 1, 6: 3, 7: 3, 8: 1}.get(orientation, 0)  # quarter turns anticlockwise
    return np.rot90(pixels, turns)


def shrink(image: np.ndarray, max_side: int | None) -> np.ndarray:
    """Scale an image down, by area averaging, until its longer side is at most ``max_side``."""
    height, width = image.shape[:2]
    if max_side is None or max(height, width) <= max_side:
        return image
    scale = max_side / max(height, width)
    size_wh = max(1, round(width * scale)), max(1, round(height * scale))
    return cv2.resize(image, size_wh, interpolation=cv2.INTER_AREA)
