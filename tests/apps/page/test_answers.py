"""What the server says of real models: the same as the library, in plain values."""

import json
import os

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from tests.apps.conftest import COLORS, noisy
from tests.apps.detection.figures import scene
from tests.apps.page.conftest import matches
from visualwords import ImageClassifier
from visualwords.apps.page.answering import answers_of
from visualwords.apps.page.classifier_answers import MAP_SIDE
from visualwords.apps.page.detector_answers import MAX_SIDE, DetectorAnswers
from visualwords.apps.page.openapi import SCHEMAS
from visualwords.apps.page.questions import Question
from visualwords.apps.page.refusals import RefusedError
from visualwords.errors import ImageError, ModelFileError
from visualwords.images import encode_image, read_image


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Give a model of visual words with thumbnails, and its file."""
    rng = np.random.default_rng(2)
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(6)]
    labels = [name for name in COLORS for _ in range(6)]
    path = tmp_path_factory.mktemp("model") / "beach.vw"
    ImageClassifier("words", n_words=20, thumbnails=True).fit(images, labels).save(path)
    return path


@pytest.fixture(scope="module")
def answers(model):
    return answers_of(model, max_pixels=100_000)


@pytest.fixture
def image(rng):
    return encode_image(noisy(COLORS["wood"], rng, (90, 140)))


def test_a_prediction_is_the_models_own(answers, model, image):
    answer = answers.predict(image, Question(top=2))
    library = ImageClassifier.explain(answers.model, image)
    assert matches(SCHEMAS["Prediction"], answer)
    assert answer["label"] == library.label == "wood"
    assert answer["classes"][0]["label"] == "wood"
    assert len(answer["classes"]) == 2
    assert answer["classes"][0]["score"] == pytest.approx(library.scores.max(), abs=1e-5)
    assert answer["classes"][0]["probability"] == pytest.approx(
        library.probabilities.max(), abs=1e-5
    )


def test_map_and_offset_sum_to_the_score_of_every_class(answers, image):
    answer = answers.explain(image, 3, None)
    assert matches(SCHEMAS["Explanation"], answer)
    assert answer["exact"]
    assert len(answer["classes"]) == 3
    for one in answer["classes"]:
        evidence = np.array(one["map"])
        assert max(evidence.shape) == MAP_SIDE
        assert evidence.sum() + one["offset"] == pytest.approx(one["score"], abs=1e-4)
        sizes = [abs(word["evidence"]) for word in one["words"]]
        assert sizes == sorted(sizes, reverse=True)
        assert all(
            0 <= x <= 1 and 0 <= y <= 1 for word in one["words"] for x, y, *_ in word["patches"]
        )


def test_one_class_can_be_asked_for(answers, image):
    assert [c["label"] for c in answers.explain(image, 3, "sea")["classes"]] == ["sea"]
    with pytest.raises(RefusedError, match="no such class"):
        answers.explain(image, 3, "<script>")


def test_similar_training_images_come_with_pictures(answers, image):
    similar = answers.explain(image, 1, None)["similar"]
    assert similar[0]["label"] == "wood"
    assert similar[0]["thumbnail"].startswith("data:image/jpeg;base64,/9j/")


def test_a_model_without_training_images_or_calibration_still_answers(tmp_path, rng):
    images = [noisy(color, rng) for color in COLORS.values()]
    path = tmp_path / "few.vw"
    ImageClassifier("color", keep_training=False).fit(images, list(COLORS)).save(path)
    few = answers_of(path, max_pixels=100_000)
    answer = few.explain(encode_image(images[0]), 3, None)
    assert matches(SCHEMAS["Explanation"], answer)
    assert answer["similar"] == []
    bluish = next(
        w for w in answer["classes"][0]["words"] if w["name"].endswith("red0 green1 blue2")
    )
    assert bluish["color"] == "#2060a0"  # the middles of bins of 64 levels
    assert answer["classes"][0]["probability"] is None
    assert matches(SCHEMAS["Model"], few.about())


def test_two_classes_have_two_scores(tmp_path, rng):
    images = [noisy(COLORS[name], rng) for name in ("sea", "sand") for _ in range(4)]
    path = tmp_path / "two.vw"
    ImageClassifier("color").fit(images, ["sea"] * 4 + ["sand"] * 4).save(path)
    answer = answers_of(path, max_pixels=100_000).predict(encode_image(images[0]), Question())
    assert [c["label"] for c in answer["classes"]] == ["sea", "sand"]
    assert sum(c["probability"] for c in answer["classes"]) == pytest.approx(1)


def test_classes_of_any_name_are_shown_as_the_terminal_shows_them(tmp_path, rng):
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(2)]
    names = ["two\nlines", os.fsdecode(b"caf\xe9"), "\u202egnp.exe"]
    path = tmp_path / "odd.vw"
    ImageClassifier("color").fit(images, [name for name in names for _ in range(2)]).save(path)
    odd = answers_of(path, max_pixels=100_000)
    shown = [c["label"] for c in odd.about()["classes"]]
    assert sorted(shown) == sorted(["two\\nlines", "caf\\udce9", "\\u202egnp.exe"])
    for image, label in zip(images[::2], ("two\\nlines", "caf\\udce9", "\\u202egnp.exe")):
        assert odd.predict(encode_image(image), Question(top=1))["label"] == label
        explained = odd.explain(encode_image(image), 1, label)
        assert explained["classes"][0]["label"] == label
        json.dumps(explained, ensure_ascii=False).encode()


def test_what_is_no_usable_image_says_why(answers):
    for ask in (
        lambda d: answers.predict(d, Question(top=1)),
        lambda d: answers.explain(d, 1, None),
    ):
        with pytest.raises(ImageError, match=r"^not an image"):
            ask(b"garbage")
        with pytest.raises(ImageError, match=r"^[^i].*400"):
            ask(encode_image(np.zeros((400, 400, 3), np.uint8)))


def test_a_preview_is_a_jpeg(answers, image):
    assert read_image(answers.preview(image)).shape == (90, 140, 3)


def test_about_tells_what_the_model_is(answers):
    about = answers.about()
    assert matches(SCHEMAS["Model"], about)
    assert about["name"] == "beach"
    assert {c["label"]: c["images"] for c in about["classes"]} == dict.fromkeys(COLORS, 6)
    json.dumps(about)


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "no.vw").write_text("no model")
    with pytest.raises(ModelFileError):
        answers_of(tmp_path / "no.vw", 1000)


class TwoPeople(BaseEstimator):
    """Finds two people in every image, in the upper left of what it is shown."""

    def __init__(self, threshold=0.5, label="person"):
        self.threshold = threshold
        self.label = label

    def detect(self, image):
        assert image.shape[1] <= MAX_SIDE
        boxes, confidences = np.array([[1.0, 2, 11, 32], [20, 5, 30, 35]]), np.array([0.4, 0.9])
        kept = confidences >= self.threshold
        return boxes[kept], confidences[kept]


def test_boxes_are_in_pixels_of_the_image_as_it_was_sent():
    detector = DetectorAnswers(TwoPeople(), "people", 10_000_000)
    assert matches(SCHEMAS["Model"], detector.about())
    answer = detector.predict(encode_image(np.zeros((100, 2 * MAX_SIDE, 3), np.uint8)), Question())
    assert matches(SCHEMAS["Prediction"], answer)
    assert answer["boxes"] == [{"box": [40.0, 10.0, 60.0, 70.0], "confidence": 0.9}]
    assert (answer["width"], answer["height"]) == (2 * MAX_SIDE, 100)
    small = encode_image(np.zeros((100, 100, 3), np.uint8))
    assert [b["confidence"] for b in detector.predict(small, Question(least=0.2))["boxes"]] == [
        0.9,
        0.4,
    ]
    assert detector.model.threshold == 0.5
    with pytest.raises(RefusedError, match="no evidence map"):
        detector.explain(b"", 1, None)


def test_a_detector_says_what_it_finds():
    people = DetectorAnswers(TwoPeople(), "people", 10_000_000).about()
    assert people["classes"] == [{"label": "person", "images": None}]
    assert people["summary"].startswith("Detects people who stand or walk")
    mugs = DetectorAnswers(TwoPeople(label="mug"), "mugs", 10_000_000).about()
    assert mugs["classes"] == [{"label": "mug", "images": None}]
    assert mugs["summary"].startswith("Detects objects of class mug")


def test_a_trained_detector_gives_the_boxes_of_the_library(detector_file):
    figures = answers_of(detector_file, max_pixels=1_000_000)
    image = scene(np.random.default_rng(3), [[40, 60, 64, 132], [150, 30, 187, 141]])
    answer = figures.predict(encode_image(image), Question())
    boxes, confidences = figures.model.detect(image)
    assert len(boxes) >= 1
    np.testing.assert_allclose([b["box"] for b in answer["boxes"]], boxes, atol=0.051)
    np.testing.assert_allclose([b["confidence"] for b in answer["boxes"]], confidences, atol=1e-4)
    assert len(figures.predict(encode_image(image), Question(least=0.05))["boxes"]) >= len(boxes)
