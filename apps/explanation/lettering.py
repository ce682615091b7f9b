"""Text in pictures.

The font is bundled, so that a picture looks the same on every machine. DejaVu Sans draws Latin,
Greek, Cyrillic, Hebrew, Arabic and more; a character that it lacks is an empty box. Reports and
pages are HTML, where the browser's fonts draw every script.
"""

import unicodedata
from functools import cache
from importlib.resources import files
from io import BytesIO

from PIL import ImageDraw, ImageFont

__all__ = ["length_of", "shortened", "write"]

SIZE = 13
ELLIPSIS = "…"


def write(
    pen: ImageDraw.ImageDraw, place: tuple[int, int], text: str, color: tuple[int, int, int]
) -> None:
    """Write one line of text from its upper left corner on."""
    left, top = place
    pen.text((left, top + SIZE), _composed(text), fill=color, font=_font(), anchor="ls")


def length_of(text: str) -> float:
    """Return the width of a line of text in pixels.

    Examples
    --------
    >>> length_of("m") > length_of("i") > 0
    True
    """
    return _font().getlength(_composed(text))


def shortened(text: str, width: float) -> str:
    """Return a text that fits a width, its end cut off where it does not.

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
    return ImageFont.truetype(BytesIO(content), SIZE)
