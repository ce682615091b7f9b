"""Text in pictures: every script is drawn, and what can't be drawn is spelled out."""

import unicodedata

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from visualwords.apps.explanation import lettering
from visualwords.apps.explanation.lettering import length_of, shortened, write


def drawn(text):
    page = Image.new("L", (400, 24), 255)
    write(ImageDraw.Draw(page), (4, 3), text, 0)
    return np.asarray(page)


def boxes(text):
    """Return a text drawn as a font draws characters that it lacks."""
    return drawn_with_one_font("DejaVuSans.ttf", "\uffff" * len(text))


def drawn_with_one_font(name, text):
    page = Image.new("L", (400, 24), 255)
    font: ImageFont.FreeTypeFont = lettering._font(name)
    ImageDraw.Draw(page).text((4, 16), text, fill=0, font=font, anchor="ls")
    return np.asarray(page)


@pytest.mark.parametrize(
    "text",
    [
        *["Größe", "кошка", "γάτα", "猫", "中文", "日本語", "ネコ"],
        *["한국어", "ไทย", "हिन्दी", "עברית", "قطة", "🐱"],
    ],
)
def test_a_name_in_any_script_is_drawn_without_boxes(text, recwarn):
    pixels = drawn(text)
    assert (pixels < 128).sum() > 10 * len(text)
    assert not np.array_equal(pixels, boxes(text))
    letters = {one for one in text if not unicodedata.combining(one) and one.isalpha()}
    assert len({drawn(one).tobytes() for one in letters}) == len(letters)  # boxes would be alike
    assert len(recwarn) == 0


def test_a_name_of_several_scripts_is_drawn_in_one_line():
    mixed = drawn("Katze 猫 кошка")
    assert length_of("Katze 猫 кошка") == pytest.approx(
        sum(map(length_of, ["Katze ", "猫", " кошка"])), abs=2
    )
    assert np.array_equal(mixed[:, :40], drawn("Katze")[:, :40])


def test_an_accent_that_is_a_character_of_its_own_makes_no_difference():
    assert np.array_equal(drawn("Gr\u00f6\u00dfe"), drawn("Gro\u0308\u00dfe"))


def test_a_character_that_no_font_has_is_named_and_said():
    with pytest.warns(UserWarning, match=r"lack 𐀀 \(U\+10000\); the picture has the name"):
        pixels = drawn("x𐀀")
    assert np.array_equal(pixels, drawn("x[linear b syllable b008 a]"))


def test_a_long_name_is_cut_to_the_width():
    name = "Donaudampfschifffahrtsgesellschaftskapitän" * 4
    assert length_of(shortened(name, 300)) <= 300 < length_of(shortened(name, 300) + "mm")
    assert shortened("猫" * 40, 300).endswith("…")
