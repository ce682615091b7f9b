"""Answers of real models: the same as the library's, in plain values, within a request's rules."""

import json
import os

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from tests.apps.conftest import COLORS, noisy
from tests.apps.detection.figures import scene
from visualwords import ImageClassifier
from visualwords.apps.page.answers import MAP_SIDE, MAX_SIDE, DetectorAnswers
from visualwords.apps.page.guards import RefusedError
from visualwords.apps.page.questions import Question
from visualwords.apps.page.served_models import answers_of, served_models
from visualwords.errors import FolderError, ImageError, ModelFileError
from visualwords.images import encode_image


@pytest.fixture(scope="module")
def answers(model):
    return answers_of(model, max_pixels=100_000)


@pytest.fixture
def image(rng):
    return encode_image(noisy(COLORS["wood"], rng, (90, 140)))


def test_a_prediction_is_the_models_own(answers, image):
    answer = answers.predict(image, Question(top=2))
    library = ImageClassifier.explain(answers.model, image)
    assert (answer["label"], answer["unknown"]) == (library.label, False) == ("wood", False)
    assert [c["label"] for c in answer["classes"]] == library.ranked[:2]
    best = answer["classes"][0]
    assert best["score"] == pytest.approx(library.scores.max(), abs=1e-5)
    assert best["probability"] == pytest.approx(library.probabilities.max(), abs=1e-5)
    assert answer["novelty"] == pytest.approx(library.novelty, abs=1e-5)


def test_a_request_may_have_a_rule_of_its_own(answers, image):
    sure = answers.predict(image, Question())["classes"][0]["probability"]
    noise = np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)

    def label(**rule):
        found = answers.predict(image, Question(**rule))
        assert found["unknown"] == (found["label"] == "unknown")
        return found["label"]

    assert label(thresholds=(("sea", 0.0),)) == "sea"
    assert label(thresholds=(("wood", 1.0),)) != "wood"
    assert label(min_confidence=sure + (1 - sure) / 2) == "unknown"
    assert answers.predict(encode_image(noise), Question(unknown=0.2))["label"] == "unknown"
    with pytest.raises(RefusedError, match="no such class"):
        label(thresholds=(("fog", 0.5),))


def test_map_and_offset_sum_to_the_score_of_every_class(answers, image):
    answer = answers.explain(image, 3, None)
    assert answer["exact"]
    assert len(answer["classes"]) == 3
    for one in answer["classes"]:
        evidence = np.array(one["map"])
        assert max(evidence.shape) == MAP_SIDE
        assert evidence.sum() + one["offset"] == pytest.approx(one["score"], abs=1e-4)


def test_reasons_are_the_strongest_visual_words_with_their_patches(answers, image):
    (one,) = answers.explain(image, 3, "wood")["classes"]
    sizes = [abs(reason["evidence"]) for reason in one["words"]]
    assert sizes == sorted(sizes, reverse=True)
    library = ImageClassifier.explain(answers.model, image)
    expected = [word.value for word in library.discriminative_words("wood", len(sizes))]
    np.testing.assert_allclose([reason["evidence"] for reason in one["words"]], expected, atol=1e-5)
    for reason in one["words"]:
        assert reason["name"] in ("edges like these", "texture like these")
        assert reason["patches"]
        assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y, *_ in reason["patches"])


def test_reasons_without_words_are_colours_and_kinds_of_structure(rng, tmp_path):
    images = [noisy(color, rng) for color in COLORS.values()]
    ImageClassifier("tiny", keep_training=False).fit(images, list(COLORS)).save(tmp_path / "t.vw")
    tiny = answers_of(tmp_path / "t.vw", max_pixels=100_000)
    answer = tiny.explain(encode_image(images[0]), 3, None)
    assert answer["similar"] == []
    assert answer["classes"][0]["probability"] is None  # a single image of each class
    reasons = answer["classes"][0]["words"]
    names = {reason["name"] for reason in reasons}
    assert names <= {"this colour", "texture of the whole image", "texture, most of all here"}
    assert "this colour" in names
    assert len(names) == 2
    colors = [reason["color"] for reason in reasons if reason["name"] == "this colour"]
    assert "#2060a0" in colors  # the middles of bins of 64 levels


def test_one_class_can_be_asked_for_and_similar_images_come_with_pictures(answers, image):
    answer = answers.explain(image, 3, "sea")
    assert [c["label"] for c in answer["classes"]] == ["sea"]
    assert answer["similar"][0]["label"] == "wood"
    assert answer["similar"][0]["thumbnail"].startswith("data:image/jpeg;base64,/9j/")
    with pytest.raises(RefusedError, match="no such class"):
        answers.explain(image, 3, "<script>")
    about = answers.about()
    assert about["name"] == "coast"
    assert {c["label"]: c["images"] for c in about["classes"]} == dict.fromkeys(COLORS, 8)
    json.dumps([about, answer])


def test_two_classes_of_any_name_are_shown_as_the_terminal_shows_them(tmp_path, rng):
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(2)][:4]
    names = ["two\nlines", os.fsdecode(b"caf\xe9")]
    path = tmp_path / "odd.vw"
    ImageClassifier("tiny").fit(images, [name for name in names for _ in range(2)]).save(path)
    odd = answers_of(path, max_pixels=100_000)
    shown = ["two\\nlines", "caf\\udce9"]
    assert sorted(c["label"] for c in odd.about()["classes"]) == sorted(shown)
    for picture, label in zip(images[::2], shown):
        answer = odd.predict(encode_image(picture), Question())
        assert [c["label"] for c in answer["classes"]] == [label, *(set(shown) - {label})]
        explained = odd.explain(encode_image(picture), 1, label)
        assert explained["classes"][0]["label"] == label
        json.dumps([answer, explained], ensure_ascii=False).encode()


def test_what_is_no_usable_image_or_model_says_why(answers, model, tmp_path):
    for ask in (lambda d: answers.predict(d, Question()), lambda d: answers.explain(d, 1, None)):
        with pytest.raises(ImageError, match="not an image"):
            ask(b"garbage")
        with pytest.raises(ImageError, match="400"):
            ask(encode_image(np.zeros((400, 400, 3), np.uint8)))
    (tmp_path / "no.vw").write_text("no model")
    with pytest.raises(ModelFileError):
        served_models([str(tmp_path / "no.vw")], 1000)
    with pytest.raises(FolderError, match="two models are called coast"):
        served_models([str(model), "elsewhere/coast.vw"], 1000)


class TwoPeople(BaseEstimator):
    """Detects a person in the upper left of every image that it is shown, and a doubtful one."""

    def __init__(self, threshold=0.5, label="person"):
        self.threshold = threshold
        self.label = label

    def detect(self, image):
        assert image.shape[1] <= MAX_SIDE
        boxes, confidences = np.array([[1.0, 2, 11, 32], [20, 5, 30, 35]]), np.array([0.4, 0.95])
        kept = confidences >= self.threshold
        return boxes[kept], confidences[kept]


def test_boxes_are_in_pixels_of_the_image_as_it_was_sent():
    detector = DetectorAnswers(TwoPeople(), "people", 10_000_000)
    answer = detector.predict(encode_image(np.zeros((100, 2 * MAX_SIDE, 3), np.uint8)), Question())
    assert answer["boxes"] == [{"box": [40.0, 10.0, 60.0, 70.0], "confidence": 0.95}]
    assert (answer["width"], answer["height"]) == (2 * MAX_SIDE, 100)
    small = encode_image(np.zeros((100, 100, 3), np.uint8))
    found = detector.predict(small, Question(least=0.2))["boxes"]
    assert [box["confidence"] for box in found] == [0.95, 0.4]
    assert detector.model.threshold == 0.5
    with pytest.raises(RefusedError, match="no evidence map"):
        detector.explain(b"", 1, None)
    assert detector.about()["classes"] == [{"label": "person", "images": None}]
    for label, shown in (("person", "people who stand or walk"), ("mug", "objects of class mug")):
        about = DetectorAnswers(TwoPeople(label=label), "found", 10_000_000).about()
        assert about["summary"].startswith(f"Detects {shown}")


def test_a_trained_detector_gives_the_boxes_of_the_library(detector_file):
    figures = answers_of(detector_file, max_pixels=1_000_000)
    image = scene(np.random.default_rng(3), [[40, 60, 64, 132], [150, 30, 187, 141]])
    answer = figures.predict(encode_image(image), Question())
    boxes, confidences = figures.model.detect(image)
    assert len(boxes) >= 1
    np.testing.assert_allclose([b["box"] for b in answer["boxes"]], boxes, atol=0.051)
    np.testing.assert_allclose([b["confidence"] for b in answer["boxes"]], confidences, atol=1e-4)
