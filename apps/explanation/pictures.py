"""Pictures of evidence: maps over an image, patches of words, and all of an explanation in one.

The font is bundled, so that a picture looks the same on every machine. DejaVu Sans draws Latin,
Greek, Cyrillic, Hebrew and Arabic; a character that it lacks is an empty box. It is reduced
to these scripts, without hints for small screens, by ``fontTools.subset``. Reports and pages are
HTML, where the browser's fonts draw every script.
"""

import unicodedata
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from visualwords.apps.command_line.terminal import printable

if TYPE_CHECKING:
    from visualwords.apps.explanation.explanation import ChannelEvidence, Explanation, Word

__all__ = ["draw_explanation", "most_typical", "overlay", "overlays", "patches_of_word"]

FOR = np.array([232, 72, 28], np.float32)  # orange-red and blue: distinct to colour-blind people
AGAINST = np.array([38, 98, 226], np.float32)
STRONGEST = 0.7  # opacity of the strongest evidence
BLUR = 0.012  # of the longer side: sharp edges of patches would hide the image
MOST_GAIN = 3.0  # of the contrast of patches
PANEL = 300  # pixels of the longer side of the image and of each map
GAP = 20
LINE = 18  # pixels between lines of text
PATCH = 40
N_WORDS = 6
LETTERS, ELLIPSIS = 13, "…"  # pixels of a letter, what marks a shortened text
INK, SOFT, PAPER, TRACK = (28, 33, 38), (110, 118, 126), (255, 255, 255), (232, 230, 226)


def draw_explanation(
    image: np.ndarray, explanation: "Explanation", labels: list[str] | None = None
) -> np.ndarray:
    """Draw an image, evidence maps of some classes, and discriminative words of the first.

    Parameters
    ----------
    image : (h, w, 3) uint8 array
    explanation : Explanation
        Of the image.
    labels : list of str, optional
        Classes whose evidence is drawn; default: the three with the highest scores.

    Returns
    -------
    (h, w, 3) uint8 array
    """
    if labels is None:
        labels = explanation.ranked[:3]
    maps, limit = overlays(_panel_size(image), explanation, labels)
    height = maps[0].shape[0]
    words = explanation.discriminative_words(labels[0], N_WORDS)
    width = max(2 * GAP + (PANEL + GAP) * (1 + len(labels)), 760)
    below = 3 * LINE + 60 + len(words) * (PATCH + 8)
    page = Image.new("RGB", (width, 2 * GAP + height + below), PAPER)
    pen = ImageDraw.Draw(page)
    for number, pixels in enumerate([_panel_size(image), *maps]):
        left = GAP + number * (PANEL + GAP)
        page.paste(Image.fromarray(pixels), (left, GAP))
        lines = ["the image", ""] if number == 0 else _caption(explanation, labels[number - 1])
        for i, line in enumerate(lines):
            write(pen, (left, GAP + height + 6 + i * LINE), line, INK if i == 0 else SOFT)
    top = GAP + height + 3 * LINE + 6
    _draw_key(pen, (GAP, top), limit)
    _draw_words(page, pen, top + 44, image, explanation, words, labels[0])
    return np.asarray(page)


def _panel_size(image: np.ndarray) -> np.ndarray:
    """The image at the size it is drawn in; small ones are enlarged."""
    height, width = image.shape[:2]
    scale = PANEL / max(height, width)
    size_wh = max(1, round(width * scale)), max(1, round(height * scale))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    return cv2.resize(image, size_wh, interpolation=how)


def _caption(explanation: "Explanation", label: str) -> list[str]:
    column = explanation.column_of(label)
    score, offset = explanation.scores[column], explanation.offsets[column].round(6) + 0.0
    chances = explanation.probabilities
    probability = "" if chances is None else f", {chances[column]:.1%}"
    room = PANEL - length_of(probability)
    return [
        f"{shortened(printable(label), room)}{probability}",
        f"{score:+.3f} = {offset:+.3f} offset {score - offset:+.3f} evidence",
    ]


def _draw_key(pen: ImageDraw.ImageDraw, place: tuple[int, int], limit: float) -> None:
    left, top = place
    colors = [tuple(int(v) for v in color) for color in (FOR, AGAINST)]
    for color, words, x in ((colors[0], "raises the score", 0), (colors[1], "lowers it", 170)):
        pen.rounded_rectangle((left + x, top + 3, left + x + 14, top + 15), 3, fill=color)
        write(pen, (left + x + 20, top), words, SOFT)
    note = f"strongest colour: {limit:.2g} of the score per pixel; one scale for all"
    write(pen, (left + 280, top), note, SOFT)


def _draw_words(
    page: Image.Image,
    pen: ImageDraw.ImageDraw,
    top: int,
    image: np.ndarray,
    explanation: "Explanation",
    words: "list[Word]",
    label: str,
) -> None:
    name = shortened(printable(label), page.width // 2)
    title = f"most discriminative for {name}, with patches in raised contrast"
    write(pen, (GAP, top - 16), title, INK)
    largest = max((abs(one.value) for one in words), default=1.0) or 1.0
    for row, one in enumerate(words):
        y = top + 8 + row * (PATCH + 8)
        write(pen, (GAP, y + 12), shortened(printable(one.name), 164), INK)
        color = tuple(int(v) for v in (FOR if one.value > 0 else AGAINST))
        pen.rectangle((GAP + 170, y + 14, GAP + 270, y + 26), fill=TRACK)
        length = round(100 * abs(one.value) / largest)
        pen.rectangle((GAP + 170, y + 14, GAP + 170 + length, y + 26), fill=color)
        write(pen, (GAP + 280, y + 12), f"{one.value:+.3f}", INK)
        found = patches_of_word(image, explanation.channels[one.channel], one.word, most=40)
        for i, patch in enumerate(most_typical(found, k=8, side=PATCH)):
            page.paste(Image.fromarray(patch), (GAP + 350 + i * (PATCH + 4), y))


def write(
    pen: ImageDraw.ImageDraw, place: tuple[int, int], text: str, color: tuple[int, int, int]
) -> None:
    """Write one line of text from its upper left corner on."""
    left, top = place
    pen.text((left, top + LETTERS), _composed(text), fill=color, font=_font(), anchor="ls")


def length_of(text: str) -> float:
    """The width of a line of text in pixels.

    Examples
    --------
    >>> length_of("m") > length_of("i") > 0
    True
    """
    return _font().getlength(_composed(text))


def shortened(text: str, width: float) -> str:
    """A text that fits a width, its end cut off where it does not.

    Examples
    --------
    >>> shortened("cat", 300), shortened("Donaudampfschifffahrt", 60)
    ('cat', 'Donau…')
    """
    if length_of(text) <= width:
        return text
    kept = len(text)
    while kept and length_of(text[:kept].rstrip() + ELLIPSIS) > width:
        kept -= 1
    return text[:kept].rstrip() + ELLIPSIS


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)  # file systems may separate accents from letters


@cache
def _font() -> ImageFont.FreeTypeFont:
    content = (files("visualwords.apps.explanation") / "fonts" / "DejaVuSans.ttf").read_bytes()
    return ImageFont.truetype(BytesIO(content), LETTERS)


def overlay(image: np.ndarray, heat: np.ndarray, limit: float) -> np.ndarray:
    """An image in pale grey under its evidence.

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
    image: np.ndarray, explanation: "Explanation", labels: list[str]
) -> tuple[list[np.ndarray], float]:
    """The image under the evidence for each label, on one scale, and the scale's limit.

    Maps have soft edges and the sum that they had; their strongest percent is drawn alike.
    """
    shape = image.shape[:2]
    sigma = max(BLUR * max(shape), 0.1)
    heats = [explanation.heat_map(label, shape) for label in labels]
    edge = cv2.BORDER_REFLECT
    maps = [cv2.GaussianBlur(heat, (0, 0), sigma, borderType=edge) for heat in heats]
    limit = max(float(np.percentile(np.abs(maps), 99)), 1e-12)
    return [overlay(image, heat, limit) for heat in maps], limit


def patches_of_word(
    image: np.ndarray, channel: "ChannelEvidence", word: int, most: int
) -> list[np.ndarray]:
    """Up to ``most`` patches of an image that were assigned to a word, evenly chosen."""
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
    """The ``k`` patches that look most like the mean of all, brought to one size.

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
