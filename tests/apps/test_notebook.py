"""What a notebook shows: short representations, and no warnings."""

import subprocess
import sys

import numpy as np
import pytest

import visualwords
from visualwords import ImageClassifier, Recipe, compare
from visualwords.apps.detection.detector_figures import DetectionFigures
from visualwords.apps.evaluation.trial import run_trial
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.codebook import FeatureSets
from visualwords.features import DenseSIFT


@pytest.fixture
def model(photos):
    return ImageClassifier("fast").fit(photos)


def test_importing_everything_public_warns_of_nothing():
    code = "import visualwords; [getattr(visualwords, name) for name in visualwords.__all__]"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert {"ImageClassifier", "compare", "load"} <= set(dir(visualwords))  # for the Tab key


def test_an_estimator_shows_its_parameters_in_text_and_markup(model):
    assert repr(model) == "ImageClassifier(recipe='fast')"
    assert "ImageClassifier" in model._repr_html_()
    assert repr(visualwords.load("pedestrian")).startswith("PedestrianDetector(")


def test_a_recipe_shows_its_channels_and_classifier(model):
    assert repr(model.recipe_) == (
        "<Recipe fast: DenseSIFT(bin_size=4, step=8) in 200 words; icd()>"
    )
    text = 'name = "mine"\n[[channels]]\nextractor = "DenseSIFT"\nwords = { n_words = 100 }'
    assert repr(Recipe.from_toml(text)).startswith("<Recipe mine: DenseSIFT() in 100 words; ")
    assert "in Fisher vectors of 64 Gaussians" in repr(RECIPES["fisher"])
    assert "in sets of points" in repr(RECIPES["pyramid-match"])


def test_results_show_what_they_say(model, photos):
    data = Dataset.of(photos)
    assert repr(data) == f"<Dataset {photos}: {len(data)} images of 3 classes>"
    trial = run_trial(model, data)
    n = len(data)
    assert repr(trial).startswith(f"<Trial: {n} of {n} right: 100.0% (95 % interval ")
    assert repr(trial.evaluation).endswith("mean per class 100.0%>")
    explanation = model.explain(trial.paths[0])
    assert repr(explanation).startswith("<Explanation: sand ")
    assert repr(explanation).endswith("%; exact evidence of DenseSIFT>")
    assert repr(explanation.channels[0]) == "<ChannelEvidence DenseSIFT: 35 places, 3 classes>"
    assert repr(model.gallery_) == f"<Gallery: signatures of {n} images>"
    row, _ = compare(photos, ["fast", "tiny"], folds=2)
    assert repr(row) == "<ComparedRecipe fast: 100.0% ± 0.0%>"


def test_arrays_in_values_are_counted_and_not_printed():
    found = DenseSIFT().extract(np.zeros((32, 40, 3), np.uint8))
    assert repr(found) == f"<LocalFeatures: {len(found)} descriptors of 128 uint8>"
    sets = DenseSIFT().transform([np.zeros((32, 40, 3), np.uint8)] * 2)
    assert repr(sets).startswith("<LocalFeatureSets: 2 images, ")
    points = FeatureSets.from_arrays([np.array([[1, 2], [3, 4]]), np.array([[1, 2]])])
    assert repr(points) == "<FeatureSets: 2 sets, 3 points of 2 coordinates>"
    figures = DetectionFigures(np.array([2.0, 1.0]), np.array([True, False]), 2, 3)
    assert repr(figures) == ("<DetectionFigures: 2 objects in 3 images, average precision 0.500>")
