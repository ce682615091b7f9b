"""Text in pictures: most scripts are drawn, and a line keeps to its width."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from visualwords.apps.explanation.pictures import length_of, shortened, write


def drawn(text):
    page = Image.new("L", (400, 24), 255)
    write(ImageDraw.Draw(page), (4, 3), text, 0)
    return np.asarray(page)


@pytest.mark.parametrize("text", ["Größe", "кошка", "γάτα", "עברית", "قطة"])
def test_a_name_is_drawn_without_boxes_in_the_scripts_of_the_font(text):
    assert (drawn(text) < 128).sum() > 10 * len(text)
    letters = set(text)
    assert len({drawn(one).tobytes() for one in letters}) == len(letters)  # boxes would be alike


def test_a_character_that_the_font_lacks_is_a_box():
    assert np.array_equal(drawn("x猫"), drawn("x\uffff"))
    assert (drawn("猫") < 128).sum() > 10


def test_an_accent_that_is_a_character_of_its_own_makes_no_difference():
    assert np.array_equal(drawn("Gr\u00f6\u00dfe"), drawn("Gro\u0308\u00dfe"))


def test_a_long_name_is_cut_to_the_width():
    name = "Donaudampfschifffahrtsgesellschaftskapitän" * 4
    assert length_of(shortened(name, 300)) <= 300 < length_of(shortened(name, 300) + "mm")
    assert shortened("猫" * 40, 300).endswith("…")
