"""Text in pictures, in any script.

The fonts are bundled, so that a picture looks the same on every machine. DejaVu Sans draws Latin,
Greek, Cyrillic, Hebrew, Arabic and more; what it lacks comes from GNU Unifont, which has all
scripts of Unicode's basic plane, Chinese, Japanese and Korean among them.
"""

import unicodedata
import warnings
from functools import cache
from importlib.resources import files
from io import BytesIO
from itertools import groupby

from PIL import ImageDraw, ImageFont

__all__ = ["length_of", "shortened", "write"]

SIZES = {"DejaVuSans.ttf": 13, "unifont.pcf.gz": 16}  # the latter is a bitmap of one size
NO_CHARACTER = "\uffff"  # drawn as a font draws what it lacks
ELLIPSIS = "…"


def write(
    pen: ImageDraw.ImageDraw, place: tuple[int, int], text: str, color: tuple[int, int, int]
) -> None:
    """Write one line of text from its upper left corner on.

    A character that no font has is replaced by its name in brackets, with a warning.
    """
    text, missing = _spelled(text)
    if missing:
        warnings.warn(
            f"the bundled fonts lack {', '.join(missing)}; the picture has the name instead",
            stacklevel=2,
        )
    x, baseline = float(place[0]), place[1] + SIZES["DejaVuSans.ttf"]
    for name, run in _runs(text):
        font = _font(name)
        pen.text((x, baseline), run, fill=color, font=font, anchor="ls")
        x += font.getlength(run)


def length_of(text: str) -> float:
    """Return the width of a line of text in pixels.

    Examples
    --------
    >>> length_of("猫") > length_of("i") > 0
    True
    """
    return sum(_font(name).getlength(run) for name, run in _runs(_spelled(text)[0]))


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


def _spelled(text: str) -> tuple[str, list[str]]:
    """Return a text that the fonts can draw, and the characters that they lack."""
    text = unicodedata.normalize("NFC", text)  # file systems may separate accents from letters
    missing = dict.fromkeys(one for one in text if _font_of(one) is None)
    for one in missing:
        name = unicodedata.name(one, f"U+{ord(one):04X}").lower()
        text = text.replace(one, f"[{name}]")
    return text, [f"{one} (U+{ord(one):04X})" for one in missing]


def _runs(text: str) -> list[tuple[str, str]]:
    """Return pieces of a text, each with the font that draws all of it."""
    return [(str(name), "".join(run)) for name, run in groupby(text, _font_of)]


@cache
def _font_of(character: str) -> str | None:
    """Return the first font that has a character."""
    for name in SIZES:
        font = _font(name)
        if bytes(font.getmask(character)) != bytes(font.getmask(NO_CHARACTER)):
            return name
    return None


@cache
def _font(name: str) -> ImageFont.FreeTypeFont:
    content = (files("visualwords.apps.explanation") / "fonts" / name).read_bytes()
    return ImageFont.truetype(BytesIO(content), SIZES[name])
