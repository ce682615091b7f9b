"""What memory can't hold is refused before an image is read."""

import numpy as np
import pytest

from visualwords import ImageClassifier, images
from visualwords.apps.evaluation.checking import check_folder
from visualwords.apps.evaluation.comparing import compare
from visualwords.apps.pipeline import costs
from visualwords.apps.pipeline.costs import (
    Images,
    bytes_of_row,
    check_scores,
    check_training,
    cost_of,
)
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.feature_matrix import feature_matrix
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.apps.pipeline.stages import Environment
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder
from visualwords.progress import Silent


def some_data(n):
    return Dataset.of([b"%d" % i for i in range(n)], ["a", "b"] * (n // 2))


@pytest.mark.parametrize(
    "work",
    [
        lambda photos: ImageClassifier("tiny").fit(photos),
        lambda photos: ImageClassifier("auto").fit(photos),
        lambda photos: check_folder(ImageFolder(photos), ImageClassifier(RECIPES["fast"])),
        lambda photos: feature_matrix(RECIPES["tiny"], Dataset.of(photos), Environment()),
        lambda photos: check_scores(Dataset.of(photos), 3),
    ],
    ids=["train", "auto", "check", "features", "evaluate"],
)
def test_it_is_refused_before_an_image_is_read(work, photos, monkeypatch):
    def refuse(*_):
        raise AssertionError("an image was read")

    monkeypatch.setattr(costs, "FEW", 3)
    monkeypatch.setattr(costs, "free_memory", lambda: 10_000)
    monkeypatch.setattr(images, "open_regular", refuse)
    with pytest.raises(FolderError, match=r"images need about 0.6 GB of memory, and 0.0 GB"):
        work(photos)


def test_compare_is_refused_before_training(photos, monkeypatch):
    monkeypatch.setattr(costs, "FEW", 3)
    monkeypatch.setattr(costs, "free_memory", lambda: 10_000)
    with pytest.raises(FolderError, match="tiny: 16 images need"):
        compare(photos, ["tiny", "fast"], folds=3)


class Listener(Silent):
    def status(self, line):
        self.line = line


def test_the_sentence_names_recipe_images_memory_and_remedy(monkeypatch):
    monkeypatch.setattr(costs, "FEW", 3)
    monkeypatch.setattr(costs, "free_memory", lambda: 16_000_000_000)
    monkeypatch.setattr(costs, "OF_AN_IMAGE", 3e9)
    sentence = "fisher: 10 images need about 31 GB of memory, and 16 GB are free; use --memory 4GB"
    with pytest.raises(FolderError, match=sentence):
        check_training(RECIPES["fisher"], some_data(10))
    monkeypatch.setattr(costs, "MANY", 4)
    listener = Listener()
    check_training(RECIPES["fisher"], some_data(4), progress=listener)
    assert listener.line.startswith("fisher: 4 images need about 13 GB and")
    assert listener.line.endswith("on two idle cores")


def test_rows_on_disk_need_only_the_memory_that_they_may_take(monkeypatch):
    recipe, n = RECIPES["rich-words"], 100_000
    needed = costs.FIXED + n * costs.OF_AN_IMAGE + n * bytes_of_row(recipe)
    monkeypatch.setattr(costs, "free_memory", lambda: needed)
    with pytest.raises(FolderError):
        check_training(recipe, some_data(n))
    check_training(recipe, some_data(n), memory=1000)


@pytest.mark.parametrize("name", ["tiny", "fast", "fisher"])
def test_the_bytes_of_a_row_are_those_of_feature_vectors(name):
    rng = np.random.default_rng(0)
    pixels = [rng.integers(0, 256, (64, 80, 3), dtype=np.uint8) for _ in range(30)]
    rows = feature_matrix(RECIPES[name], Dataset.of(pixels, ["a", "b"] * 15), Environment()).rows
    made = rows.shape[1] * rows.dtype.itemsize
    assert 0.99 <= made / bytes_of_row(RECIPES[name]) <= 1.01


def test_costs_grow_with_images_sizes_views_and_channels():
    few, many = Images(100), Images(1000)
    large = Images(100, ((1200, 1000),))
    for name, recipe in RECIPES.items():
        assert cost_of(recipe, few) < cost_of(recipe, many), name
        assert cost_of(recipe, few) < cost_of(recipe, large), name
    assert cost_of(RECIPES["tiny"], few) < cost_of(RECIPES["rich-words"], few)
