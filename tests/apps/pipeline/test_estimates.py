"""What memory can't hold is refused before an image is read."""

import numpy as np
import pytest

from visualwords import ImageClassifier
from visualwords.apps.evaluation.checking import check_folder
from visualwords.apps.evaluation.comparing import compare
from visualwords.apps.pipeline import estimates, stage
from visualwords.apps.pipeline.costs import bytes_of_row, check_scores, check_training
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.feature_matrix import feature_matrix
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.apps.pipeline.stages import Environment
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder
from visualwords.parallel import free_memory
from visualwords.progress import Silent


@pytest.fixture
def little_memory(monkeypatch):
    """Give a machine of 10 kB on which no image may be read."""

    def refuse(*_):
        raise AssertionError("an image was read")

    monkeypatch.setattr(estimates, "FEW", 3)
    monkeypatch.setattr(estimates, "free_memory", lambda: 10_000)
    monkeypatch.setattr(stage, "run_stages", refuse)


def some_data(n):
    return Dataset.of([b"%d" % i for i in range(n)], ["a", "b"] * (n // 2))


@pytest.mark.parametrize(
    "work",
    [
        lambda photos: ImageClassifier("color").fit(photos),
        lambda photos: ImageClassifier("auto").fit(photos),
        lambda photos: check_folder(ImageFolder(photos), ImageClassifier(RECIPES["fast"])),
        lambda photos: feature_matrix(RECIPES["color"], Dataset.of(photos), Environment()),
    ],
    ids=["train", "auto", "check", "features"],
)
def test_it_is_refused_before_an_image_is_read(work, photos, little_memory):
    with pytest.raises(FolderError, match=r"24 images need about 0.6 GB of memory, and 0.0 GB"):
        work(photos)


def test_compare_and_evaluate_are_refused_before_training(photos, monkeypatch):
    model = ImageClassifier("color").fit(photos)
    monkeypatch.setattr(estimates, "FEW", 3)
    monkeypatch.setattr(estimates, "free_memory", lambda: 10_000)
    with pytest.raises(FolderError, match="color: 16 images need"):
        compare(photos, ["color", "texture"], folds=3)
    with pytest.raises(FolderError, match="test on fewer images"):
        check_scores(Dataset.of(photos), len(model.classes_))


def test_the_sentence_names_recipe_images_memory_and_remedy(monkeypatch):
    monkeypatch.setattr(estimates, "FEW", 3)
    monkeypatch.setattr(estimates, "free_memory", lambda: 16_000_000_000)
    monkeypatch.setattr(estimates, "OF_AN_IMAGE", 3e9)
    sentence = r"scene: 10 images need about 31 GB of memory, and 16 GB are free; use --memory 4GB"
    with pytest.raises(FolderError, match=sentence):
        check_training(RECIPES["scene"], some_data(10))
    check_training(RECIPES["scene"], some_data(4))


def test_rows_on_disk_need_only_the_memory_that_they_may_take(monkeypatch):
    monkeypatch.setattr(estimates, "FEW", 3)
    needed = estimates.FIXED + 10 * estimates.OF_AN_IMAGE + 3 * 10 * bytes_of_row(RECIPES["scene"])
    monkeypatch.setattr(estimates, "free_memory", lambda: needed - 1)
    with pytest.raises(FolderError):
        check_training(RECIPES["scene"], some_data(10))
    check_training(RECIPES["scene"], some_data(10), memory=1000)


@pytest.mark.parametrize("name", ["color", "texture", "fast", "words", "photo"])
def test_the_bytes_of_a_row_are_those_of_feature_vectors(name, monkeypatch):
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (64, 80, 3), dtype=np.uint8) for _ in range(30)]
    data = Dataset.of(images, ["a", "b"] * 15)
    rows = feature_matrix(RECIPES[name], data, Environment()).rows
    made = rows.shape[1] * rows.dtype.itemsize
    assert made <= bytes_of_row(RECIPES[name]) * 1.01  # few patches make few words
    if name in ("color", "texture", "fast"):
        assert made >= bytes_of_row(RECIPES[name]) * 0.99


def test_the_estimate_of_many_images_is_shown(monkeypatch):
    seen = []

    class Listener(Silent):
        def status(self, line):
            seen.append(line)

    monkeypatch.setattr(estimates, "FEW", 3)
    monkeypatch.setattr(estimates, "MANY", 10)
    check_training(RECIPES["color"], some_data(10), progress=Listener())
    assert seen[0].startswith("color: 10 images need about 0.6 GB and")
    assert seen[0].endswith("on two idle cores")


def test_free_memory_is_some_of_this_machine():
    found = free_memory()
    assert found is None or 10**7 < found < 10**15
