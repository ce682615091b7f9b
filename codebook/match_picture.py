"""A picture of a pyramid match: two images, and lines between the patches that were matched."""

import colorsys
from typing import Any

import cv2
import numpy as np

from visualwords.codebook.correspondences import Matches
from visualwords.features.extractor import as_rgb

__all__ = ["draw_matches", "level_colors"]

_GAP = 12  # pixels between the images
_LEGEND = 26  # pixels of the line that names the colours
_LIGHT = (235, 235, 235)
_COLDEST_HUE = 0.6111  # blue; 0 is red


def draw_matches(
    first_image: np.ndarray,
    second_image: np.ndarray,
    first_features: Any,
    second_features: Any,
    matches: Matches,
    *,
    max_matches: int | None = 60,
    coarsest: int | None = None,
    height: int = 320,
) -> np.ndarray:
    """Draw two images side by side, with matched patches joined by lines coloured by level.

    Warm colours are fine levels, where patches look alike and are in like places; cold ones are
    coarse levels. Pairs of the top level, which have no bin in common but the one for everything,
    are not drawn.

    Parameters
    ----------
    first_image, second_image : (h, w, 3) RGB or (h, w) grey, uint8
    first_features, second_features : LocalFeatures
        Of the matched points, in their order: without those that an encoder left out (see
        :meth:`visualwords.codebook.FeatureSetEncoder.kept`).
    matches : Matches
        From :func:`visualwords.codebook.match_points`.
    max_matches : int or None, default 60, keyword only
        The finest pairs; of those of the last level drawn, evenly spaced ones. None: all.
    coarsest : int, optional
        Draw no level above this one.
    height : int, default 320
        To which both images are scaled.

    Returns
    -------
    (height + legend, width, 3) uint8
        RGB.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.codebook import match_points
    >>> from visualwords.features.local_features import LocalFeatures
    >>> one = LocalFeatures(np.array([[3.0]]), np.array([[0.5, 0.5]]), np.array([8.0]))
    >>> grey = np.zeros((20, 20), np.uint8)
    >>> matches = match_points(one.descriptors, one.descriptors)
    >>> draw_matches(grey, grey, one, one, matches, height=40).shape
    (66, 92, 3)
    """
    images = [_scaled(as_rgb(image), height) for image in (first_image, second_image)]
    widths = [image.shape[1] for image in images]
    picture = np.full((height + _LEGEND, widths[0] + _GAP + widths[1], 3), 40, np.uint8)
    picture[:height, : widths[0]] = images[0]
    picture[:height, widths[0] + _GAP :] = images[1]
    chosen = _choose(matches, max_matches, coarsest)
    colors = level_colors(matches)
    first = _squares(first_features, matches.first[chosen], images[0], first_image, 0)
    second_left = widths[0] + _GAP
    second = _squares(second_features, matches.second[chosen], images[1], second_image, second_left)
    for i in range(len(chosen) - 1, -1, -1):  # finest last, on top
        color = colors[int(matches.levels[chosen[i]])]
        for x, y, half in (first[i], second[i]):
            cv2.rectangle(picture, (x - half, y - half), (x + half, y + half), color, 1)
        cv2.line(picture, first[i][:2], second[i][:2], color, 1, cv2.LINE_AA)
    _draw_legend(picture[height:], matches, chosen, colors)
    return picture


def level_colors(matches: Matches) -> dict[int, tuple[int, int, int]]:
    """Return an RGB colour for every level below the top that occurs, red (fine) to blue (coarse).

    Examples
    --------
    >>> import numpy as np
    >>> three = Matches(np.zeros(3), np.zeros(3), np.array([0, 2, 4]), np.ones(3), 4)
    >>> level_colors(three)
    {0: (255, 51, 51), 2: (51, 119, 255)}
    """
    levels = sorted({int(level) for level in matches.levels if level < matches.top_level})
    colors = {}
    for level in levels:
        share = (level - levels[0]) / max(levels[-1] - levels[0], 1)
        red, green, blue = colorsys.hsv_to_rgb(share * _COLDEST_HUE, 0.8, 1.0)
        colors[level] = (round(255 * red), round(255 * green), round(255 * blue))
    return colors


def _choose(matches: Matches, most: int | None, coarsest: int | None) -> np.ndarray:
    """The pairs to draw, finest first; of the last level an even choice."""
    limit = matches.top_level - 1 if coarsest is None else min(coarsest, matches.top_level - 1)
    shown = np.flatnonzero(matches.levels <= limit)
    if most is None or len(shown) <= most:
        return shown
    if most < 1:
        return shown[:0]
    last = matches.levels[shown[most - 1]]
    finer = shown[matches.levels[shown] < last]
    of_last = shown[matches.levels[shown] == last]
    step = np.linspace(0, len(of_last) - 1, most - len(finer)).round().astype(int)
    return np.concatenate([finer, of_last[step]])


def _scaled(image: np.ndarray, height: int) -> np.ndarray:
    """The image at a height."""
    width = max(round(image.shape[1] * height / image.shape[0]), 1)
    smaller = image.shape[0] > height
    return cv2.resize(
        image, (width, height), interpolation=cv2.INTER_AREA if smaller else cv2.INTER_CUBIC
    )


def _squares(
    features: Any, numbers: np.ndarray, drawn: np.ndarray, image: np.ndarray, left: int
) -> list[tuple[int, int, int]]:
    """Centre and half the side of patches, in pixels of the picture."""
    height, width = drawn.shape[:2]
    squares = []
    for i in numbers:
        x, y = features.positions[i]
        half = features.sizes[i] * height / image.shape[0] / 2
        squares.append(
            (left + round(float(x) * width), round(float(y) * height), round(float(half)))
        )
    return squares


def _draw_legend(
    strip: np.ndarray, matches: Matches, chosen: np.ndarray, colors: dict[int, tuple]
) -> None:
    """Name the level, and how many of its pairs are drawn, in each colour."""
    x = 6
    for level, color in colors.items():
        drawn = int((matches.levels[chosen] == level).sum())
        if not drawn:
            continue
        text = f"{drawn} of {int((matches.levels == level).sum())} at level {level}"
        cv2.circle(strip, (x + 4, 13), 4, color, -1, cv2.LINE_AA)
        cv2.putText(
            strip, text, (x + 13, 17), cv2.FONT_HERSHEY_SIMPLEX, 0.38, _LIGHT, 1, cv2.LINE_AA
        )
        x += 30 + 7 * len(text)
