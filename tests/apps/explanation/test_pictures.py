"""The picture of an explanation and the text in it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tests.apps.conftest import COLORS, noisy
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main
from visualwords.apps.explanation.pictures import (
    draw_explanation,
    length_of,
    most_typical,
    overlay,
    patches_of_word,
    shortened,
    write,
)
from visualwords.images import read_image


@pytest.fixture(scope="module")
def words_model():
    rng = np.random.default_rng(1)
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(6)]
    labels = [name for name in COLORS for _ in range(6)]
    return ImageClassifier("words", n_words=10, pyramid=1).fit(images, labels)


def test_evidence_for_is_red_against_is_blue_and_none_is_grey():
    image = np.full((1, 3, 3), 100, np.uint8)
    yes, no, none = overlay(image, np.array([[2.0, -2.0, 0.0]]), limit=2.0)[0].astype(int)
    assert yes[0] > yes[2]
    assert no[2] > no[0]
    assert none[0] == none[1] == none[2]


@pytest.mark.parametrize("color", [(38, 98, 226), (232, 72, 28), (0, 0, 0), (255, 255, 255)])
def test_evidence_stays_visible_on_images_of_its_own_colours(color):
    image = np.full((1, 3, 3), color, np.uint8)
    drawn = overlay(image, np.array([[0.5, -0.5, 0.0]]), limit=1.0)[0].astype(int)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert np.abs(drawn[one] - drawn[other]).max() >= 40


def test_patches_of_a_word_are_cut_where_the_word_is(words_model, rng):
    image = noisy(COLORS["sea"], rng)
    channel = words_model.explain(image).channels[0]
    word = int(np.bincount(channel.words).argmax())
    patches = patches_of_word(image, channel, word, most=5)
    assert 1 <= len(patches) <= 5
    wide, high = channel.sizes[0] * (image.shape[1], image.shape[0])
    assert all(abs(p.shape[0] - high) <= 1 and abs(p.shape[1] - wide) <= 1 for p in patches)
    assert patches_of_word(image, channel, 10_000, most=5) == []


def test_the_most_typical_patches_leave_the_odd_one_out(rng):
    alike = [np.clip(noisy(COLORS["sea"], rng)[:16, :16], 0, 255) for _ in range(5)]
    odd = alike[0][::-1].transpose(1, 0, 2)
    with_odd, without = most_typical([odd, *alike], 5, side=16), most_typical(alike, 5, side=16)
    assert {p.tobytes() for p in with_odd} == {p.tobytes() for p in without}
    assert most_typical([], k=5) == []


@pytest.mark.parametrize("shape", [(48, 64), (300, 40), (700, 900)])
def test_the_picture_has_room_for_everything(words_model, rng, shape):
    image = noisy(COLORS["sea"], rng, shape)
    picture = draw_explanation(image, words_model.explain(image), ["sea", "wood"])
    assert picture.dtype == np.uint8
    assert picture.shape[1] >= 3 * 300
    assert (picture[-5:] == 255).all()  # nothing runs over the edge
    assert (picture[:, -5:] == 255).all()


def test_names_of_any_script_and_length_are_in_the_picture(words_model, rng):
    image = noisy(COLORS["sea"], rng)
    explanation = words_model.explain(image)
    pictures = []
    for name in ("sea", "море", "大海", "𐀀", "Donaudampfschifffahrt" * 9):
        named = replace(explanation, classes=np.array([name, *explanation.classes[1:]]))
        pictures.append(draw_explanation(image, named, [name, "wood"]))
    assert len({picture.tobytes() for picture in pictures}) == len(pictures)
    right = [picture[:, 2 * 320 : 2 * 320 + 18] for picture in pictures]  # the gap of the panels
    assert all((strip[:-340] == right[0][:-340]).all() for strip in right)


def test_explain_prints_sums_that_add_up_and_draws(words_model, photos, tmp_path, capsys):
    model, heat = tmp_path / "m.vw", tmp_path / "heat.png"
    words_model.save(model)
    image = photos / "sea" / "0.png"
    arguments = ["explain", str(model), str(image), "-o", str(heat)]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    for word in ("DenseSIFT word", "= offset", "+ Centrist", "Exact."):
        assert word in shown
    assert read_image(heat).shape[1] > 900
    assert main([*arguments, "--json", "--label", "wood"]) == 0
    (wood,) = json.loads(capsys.readouterr().out)["classes"].values()
    assert abs(wood["offset"] + wood["evidence"] - wood["score"]) < 1e-9
    assert abs(wood["score"] - words_model.decision_function([str(image)])[0, 2]) < 1e-6


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
    assert np.array_equal(drawn("Gr\u00f6\u00dfe"), drawn("Gro\u0308\u00dfe"))  # one letter


def test_a_long_name_is_cut_to_the_width():
    name = "Donaudampfschifffahrtsgesellschaftskapitän" * 4
    assert length_of(shortened(name, 300)) <= 300 < length_of(shortened(name, 300) + "mm")
    assert shortened("猫" * 40, 300).endswith("…")
