"""The report is one harmless, self-contained page of bounded size."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords import ImageClassifier
from visualwords.apps.evaluation.trial import Trial, run_trial
from visualwords.apps.report import write_report
from visualwords.apps.report.examples import MOST_MISTAKES
from visualwords.apps.report.markup import (
    MOST_THUMBNAIL_BYTES,
    MOST_THUMBNAILS,
    Thumbnails,
    percent,
)
from visualwords.apps.report.trial_curves import calibrate
from visualwords.folders import ImageFolder

HOSTILE = "<script>alert(1)</script>\"'"


class Tags(HTMLParser):
    """Collects the tags and addresses of a page, and where its links lead."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses, self.names, self.links = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        attributes = dict(attributes)
        self.names.add(attributes.get("id"))
        if "src" in attributes:
            self.addresses.append(attributes["src"])
        if "href" in attributes:
            self.links.append(attributes["href"])


def made_up_trial(paths, classes, rng, wrong=0.3):
    """A trial in which a share of images was predicted as another class."""
    truth = [classes[i % len(classes)] for i in range(len(paths))]
    guesses = [
        classes[rng.integers(len(classes))] if rng.random() < wrong else label for label in truth
    ]
    scores = rng.normal(size=(len(paths), len(classes)))
    chances = rng.dirichlet(np.ones(len(classes)), len(paths))
    return Trial(classes, paths, truth, guesses, scores, chances, [])


@pytest.fixture
def model(rng):
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(3)]
    labels = [name for name in ("sea", "sand", HOSTILE) for _ in range(3)]
    return ImageClassifier("tiny").fit(images, labels)


def written(folder, model, trial, **about):
    """Write the report of a trial; return its text."""
    write_report(folder / "r.html", model, trial, **about)
    return (folder / "r.html").read_text(encoding="utf-8")


def test_a_page_is_complete_and_harmless_whatever_the_names_are(tmp_path, rng, model):
    image = noisy(COLORS["sea"], rng)
    paths = [str(write_png(tmp_path / f"<b>{i}&\"'", image)) for i in range(40)]
    paths[-1] = str(tmp_path / "gone.png")
    trial = made_up_trial(paths, model.classes_.tolist(), rng, wrong=1.0)
    about = {"title": HOSTILE, "command": f"train {HOSTILE}"}
    page = written(tmp_path, model, trial, **about, seconds={"reading": 2.0, HOSTILE: 1.0})
    tags = Tags(page)
    assert not {"script", "b>0", "iframe"} & set(tags.tags)
    assert page.count("&lt;script&gt;") > 5
    assert all(address.startswith("data:image/jpeg") for address in tags.addresses)
    assert all(link.startswith("#") for link in tags.links)
    assert {link[1:] for link in tags.links} <= tags.names
    assert not re.search(r"<script|url\(|@import|https?://", page)
    assert "default-src 'none'" in page
    for words in (
        *("95 % confidence interval", "mean per class", "Recall", "Precision", "predicted as"),
        *("Discriminative words", "accuracy</text>", "reading", "2.0 s", "How to reproduce it"),
        *("train &lt;script", "scikit-learn"),
    ):
        assert words in page, words


def test_folds_and_images_of_no_class_are_told(tmp_path, rng, model):
    paths = [str(write_png(tmp_path / f"{i}.png", noisy(COLORS["sea"], rng))) for i in range(12)]
    known = model.classes_.tolist()
    trial = made_up_trial(paths, known, rng, wrong=0.0)
    truth = [*trial.truth[:10], "unknown", "unknown"]  # a folder of images that are no class
    guesses = [*trial.guesses[:8], *["unknown"] * 3, known[0]]
    trial = replace(trial, truth=truth, guesses=guesses, n_folds=3)
    page = written(tmp_path, model, trial)
    assert "predicted as none of the classes" not in page  # here "unknown" is a class of the test
    assert "3-fold cross-validation" in page
    assert "explain the final model" in page
    page = written(tmp_path, model, trial.part(range(10)))
    tags = Tags(page)
    assert {link[1:] for link in tags.links} <= tags.names
    assert page.count("predicted as none of the classes") >= 2
    assert "no class</span>" in page
    assert f"for {known[2]}: " in page.replace("&lt;", "<")  # what it would have been


def test_a_perfect_trial_with_two_classes_and_no_probabilities(tmp_path, rng):
    images = [noisy(COLORS[name], rng) for name in ("sea", "sand")]
    model = ImageClassifier("tiny").fit(images, ["sea", "sand"])  # too few for probabilities
    for name, image in zip(("sea", "sand"), images):
        write_png(tmp_path / "p" / name / "0.png", image)
    trial = run_trial(model, ImageFolder(tmp_path / "p"))
    assert trial.probabilities is None
    text = written(tmp_path, model, trial)
    assert "no probabilities" in text
    assert "<p class=lead>None.</p>" in text


def test_ten_thousand_images_of_a_hundred_classes_fit(tmp_path, rng):
    classes = [f"class {i:03}" for i in range(100)]
    images = [noisy(tuple(rng.integers(0, 256, 3)), rng) for _ in classes]
    model = ImageClassifier("tiny").fit(images * 4, classes * 4)
    files = [str(write_png(tmp_path / f"{i}.png", image)) for i, image in enumerate(images)]
    paths = [files[i % 100] for i in range(10_000)]
    text = written(tmp_path, model, made_up_trial(paths, classes, rng))
    tags = Tags(text)
    assert tags.tags.count("img") <= MOST_THUMBNAILS
    assert len(text) < 1.4 * MOST_THUMBNAIL_BYTES + 4_000_000
    assert f"the {MOST_MISTAKES} most confident shown" in text
    assert text.count("40 better classes") == 2
    assert "The 60 of 100 classes with the most mistakes are shown." in text
    assert {link[1:] for link in tags.links} <= tags.names
    matrix = text[text.index('<table class="confusion compact">') :]
    assert matrix[: matrix.index("</table>")].count("<tr>") == 61


def test_pictures_end_with_their_number_or_their_bytes(rng):
    image = rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)
    few = Thumbnails(most=2)
    assert [few.of_pixels(image) is None for _ in range(3)] == [False, False, True]
    small = Thumbnails(most_bytes=100)
    assert small.of_pixels(image) is None
    assert small.of_pixels(image[:1, :1]) is None  # the end is the end
    assert Thumbnails().of_file("no such file") is None


def test_calibration_compares_what_is_stated_with_what_is_observed():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0, 1, 20_000)
    right = rng.uniform(size=20_000) < confidence**2  # too sure of itself
    curve = calibrate(confidence, right)
    assert curve.counts.sum() == 20_000
    np.testing.assert_allclose(curve.observed, curve.stated**2, atol=0.04)
    np.testing.assert_allclose(curve.error, np.mean(confidence - confidence**2), atol=0.01)
    assert calibrate(np.ones(3), np.ones(3, bool)).error == 0


def test_shares_are_not_rounded_to_all_or_nothing():
    shown = [percent(share) for share in (1.0, 0.99999, 0.0, 0.0001)]
    assert shown == ["100.0 %", "99.9 %", "0.0 %", "<0.1 %"]
