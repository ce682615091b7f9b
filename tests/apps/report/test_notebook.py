"""What results show of themselves in a notebook: harmless HTML, and pictures."""

import numpy as np

from tests.apps.conftest import COLORS, noisy
from tests.apps.report.test_report import HOSTILE, Tags
from visualwords import ImageClassifier, PedestrianDetector, compare
from visualwords.apps.evaluation.figures import compare as figures_of
from visualwords.apps.explanation.pictures import draw_explanation
from visualwords.apps.report.notebook import (
    classifier_html,
    comparison_html,
    detections_png,
    evaluation_html,
)
from visualwords.images import read_image


def is_harmless(shown):
    found = Tags(shown)
    return not found.addresses and not found.links and "script" not in found.tags


def test_a_classifier_shows_its_recipe_and_classes_and_an_image_its_evidence(rng):
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(3)]
    model = ImageClassifier("tiny").fit(images, np.repeat(["sea", "sand", HOSTILE], 3))
    shown = classifier_html(model)
    assert model._repr_html_() == shown
    assert is_harmless(shown)
    assert "tiny" in shown
    assert "9 images of 3 classes" in shown
    assert "ImageClassifier(" in classifier_html(ImageClassifier("tiny"))
    explanation = model.explain(images[0])
    drawn = draw_explanation(images[0], explanation)
    assert (read_image(explanation._repr_png_()) == drawn).all()


def test_an_evaluation_shows_its_interval_and_classes():
    figures = figures_of(["a", "a", HOSTILE], ["a", "a", "a"], ["a", HOSTILE])
    shown = evaluation_html(figures)
    assert figures._repr_html_() == shown
    assert is_harmless(shown)
    assert "2 of 3 right" in shown
    assert "never predicted" in shown


def test_a_comparison_shows_every_recipe(photos):
    compared = compare(photos, ["tiny", "fast"], folds=2)
    shown = comparison_html(compared)
    assert compared._repr_html_() == shown
    assert is_harmless(shown)
    assert "<svg" in shown
    assert all(name in shown for name in ("tiny", "fast", "best"))


def test_detections_show_their_boxes():
    image = np.zeros((90, 120, 3), np.uint8)
    drawn = read_image(detections_png(image, np.array([[9.0, 9, 40, 80]]), np.array([0.9])))
    assert drawn.shape == image.shape
    assert read_image(PedestrianDetector.load().detect(image)._repr_png_()).shape == image.shape
    assert drawn[40, 9].any()
    assert not drawn[40, 60].any()
