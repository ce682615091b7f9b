"""The report is one harmless, self-contained page."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords import ImageClassifier
from visualwords.apps.evaluation import compare
from visualwords.apps.report import MOST_MISTAKES, write_report

HOSTILE = "<script>alert(1)</script>"


class Tags(HTMLParser):
    """Collects the tags and addresses of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.addresses = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]


@pytest.fixture
def page(tmp_path, rng):
    """Give the parsed report of a test with many mistakes and hostile names, and its text."""
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(3)]
    labels = [name for name in ("sea", "sand", HOSTILE) for _ in range(3)]
    model = ImageClassifier("color").fit(images, labels)
    paths = [
        str(write_png(tmp_path / f"<b>{i}</b>".replace("/", "_"), images[0])) for i in range(40)
    ]
    truth, guesses = [HOSTILE] * 40, ["sea"] * 40
    write_report(
        tmp_path / "r.html",
        model,
        compare(truth, guesses, model.classes_.tolist()),
        [*paths[:-1], str(tmp_path / "gone.png")],
        truth,
        guesses,
        np.ones((40, 3)),
    )
    text = (tmp_path / "r.html").read_text()
    tags = Tags()
    tags.feed(text)
    return tags, text


def test_names_are_escaped(page):
    tags, text = page
    assert "script" not in tags.tags
    assert "b" not in tags.tags
    assert "&lt;script&gt;" in text


def test_nothing_is_fetched(page):
    tags, text = page
    assert all(address.startswith("data:") for address in tags.addresses)
    assert not re.search(r"url\(|@import|https?://", text)


def test_mistakes_are_bounded_and_a_vanished_image_does_no_harm(page):
    tags, text = page
    assert tags.tags.count("img") == MOST_MISTAKES
    assert "40 in all" in text


def test_the_figures_are_there(page):
    _, text = page
    assert "0 of 40 right" in text
    assert text.count("<tr>") >= 3
