"""Every file is opened once a run while there is room; a file that changes is left out."""

from collections import Counter

import numpy as np
import pytest

from tests.apps.conftest import noisy, write_png
from visualwords import ImageClassifier, images, load
from visualwords.apps.classify_images.main import main
from visualwords.apps.evaluation.checking import check_folder
from visualwords.apps.evaluation.trial import cross_validate
from visualwords.apps.pipeline import contents
from visualwords.apps.pipeline.contents import Contents, OpenedImage
from visualwords.apps.pipeline.view import View
from visualwords.folders import ImageFolder
from visualwords.progress import Silent


@pytest.fixture
def opens(monkeypatch):
    """Count how often each file is opened by the one function that opens image files."""
    counts = Counter()
    really_open = images.open_regular

    def counted(path):
        counts[str(path)] += 1
        return really_open(path)

    monkeypatch.setattr(images, "open_regular", counted)
    return counts


def assert_opened(opens, folder, times=1):
    assert opens == dict.fromkeys(ImageFolder(folder).paths, times)
    opens.clear()


@pytest.mark.parametrize(("recipe", "n_jobs"), [("tiny", 1), ("fast", 3), ("auto", 2)])
def test_training_opens_a_file_once_whatever_is_in_the_cache(
    photos, opens, tmp_path, recipe, n_jobs
):
    for cache in (None, tmp_path / "cache", tmp_path / "cache"):
        ImageClassifier(recipe, cache_dir=cache, n_jobs=n_jobs, thumbnails=True, budget=0.1).fit(
            photos
        )
        assert_opened(opens, photos)


def test_folds_checks_and_commands_open_a_file_once(photos, opens, tmp_path):
    model = ImageClassifier("tiny", cache_dir=tmp_path / "cache")
    cross_validate(model, ImageFolder(photos), 3)
    assert_opened(opens, photos)
    check_folder(ImageFolder(photos), model, n_folds=3)
    assert_opened(opens, photos)
    target, cache = str(tmp_path / "m.vw"), ["--cache", str(tmp_path / "another"), "--quiet"]
    flags = ["--recipe", "fast", "--test-size", "0.3"]
    assert main(["train", str(photos), "-o", target, *flags, *cache]) == 0
    assert_opened(opens, photos)
    for verb in "evaluate", "predict":
        assert main([verb, target, str(photos), *cache]) == 0
        assert_opened(opens, photos)
    load(target).predict(ImageFolder(photos).paths)
    assert_opened(opens, photos)


def test_files_that_there_is_no_room_for_are_opened_once_a_pass(photos, opens, monkeypatch):
    kept = ImageClassifier("fast").fit(photos).decision_function(photos)
    opens.clear()
    monkeypatch.setattr(contents.Contents.__init__, "__defaults__", (0,))
    model = ImageClassifier("fast").fit(photos)
    assert_opened(opens, photos, 2)  # for the sample of patches, and for the encoding
    np.testing.assert_array_equal(model.decision_function(photos), kept)


def test_a_file_that_is_missing_is_looked_for_once(photos, opens, tmp_path):
    paths, labels = ImageFolder(photos).paths, ImageFolder(photos).labels
    gone = str(tmp_path / "gone.png")
    model = ImageClassifier("fast", cache_dir=tmp_path / "cache")
    with pytest.warns(UserWarning, match="1 of 25 images were left out, the first is"):
        model.fit([*paths, gone], [*labels, "sea"])
    assert [(one.source, one.kind) for one in model.skipped_] == [(gone, "missing")]
    assert set(opens.values()) == {1}


class Replacing(Silent):
    """Writes another content to a file once all have been looked at."""

    def __init__(self, path, content):
        self.path, self.content = path, content

    def start(self, stage, total):
        if stage == "reading images":
            self.path.write_bytes(self.content)


def test_a_file_that_changes_meanwhile_is_learned_as_it_was(photos, tmp_path):
    changing = photos / "sea" / "0.png"
    before, other = changing.read_bytes(), changing.with_name("1.png").read_bytes()
    model = ImageClassifier("fast", cache_dir=tmp_path / "cache")
    model.fit(photos, progress=Replacing(changing, other))
    changing.write_bytes(before)
    expected = ImageClassifier("fast").fit(photos).decision_function(photos)
    np.testing.assert_array_equal(model.decision_function(photos), expected)


@pytest.mark.parametrize("content", ["another image", "no image"])
def test_a_file_that_changes_and_was_not_kept_is_left_out_and_learned_when_it_is_back(
    photos, tmp_path, monkeypatch, content
):
    monkeypatch.setattr(contents.Contents.__init__, "__defaults__", (0,))
    changing, cache = photos / "sea" / "0.png", tmp_path / "cache"
    before = changing.read_bytes()
    other = changing.with_name("1.png").read_bytes() if content == "another image" else b"none"
    model = ImageClassifier("fast", cache_dir=cache)
    with pytest.warns(UserWarning, match="1 of 24 images were left out"):
        model.fit(photos, progress=Replacing(changing, other))
    assert [(one.source, one.kind) for one in model.skipped_] == [(str(changing), "changed")]
    changing.write_bytes(before)
    again = ImageClassifier("fast", cache_dir=cache).fit(photos)
    assert again.skipped_ == []
    assert again.class_counts_.sum() == 24


def test_files_and_pixels_that_are_kept_are_bounded(tmp_path, rng):
    paths = [write_png(tmp_path / f"{i}.png", noisy((9, 9, 9), rng)) for i in range(4)]
    size, pixels = sum(path.stat().st_size for path in paths), 48 * 64 * 3
    room = Contents(size + 2 * pixels)
    found = [room.of(str(path), i) for i, path in enumerate(paths)]
    for _ in range(3):  # what is kept already takes no more room
        first = [OpenedImage(c, 10**6, keep=True).pixels("rgb", View()) for c in found]
    assert not room.reserve(1)
    again = [OpenedImage(c, 10**6).pixels("rgb", View()) for c in found]
    assert room.of(str(paths[0]), 9) is found[0]  # two images of one path share their content
    assert room.reserve(2 * pixels)  # the next pass gave back what was kept for it
    assert not room.reserve(1)
    np.testing.assert_array_equal(again, first)
