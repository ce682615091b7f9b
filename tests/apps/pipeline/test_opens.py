"""Every file is opened once a run, and twice only where `contents` says so."""

from collections import Counter

import pytest

from tests.apps.conftest import noisy, write_png
from visualwords import ImageClassifier, images, load
from visualwords.apps.classify_images.main import main
from visualwords.apps.evaluation.checking import check_folder
from visualwords.apps.evaluation.trial import cross_validate
from visualwords.apps.pipeline import contents
from visualwords.folders import ImageFolder


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


@pytest.mark.parametrize("recipe", ["color", "words"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_training_opens_a_file_once_whatever_is_in_the_cache(
    photos, opens, tmp_path, recipe, n_jobs
):
    for cache in (None, tmp_path / "cache", tmp_path / "cache"):
        model = ImageClassifier(recipe, cache_dir=cache, n_jobs=n_jobs, thumbnails=True)
        model.fit(photos)
        assert_opened(opens, photos)


def test_rows_that_are_cached_need_no_file_again(photos, opens, tmp_path):
    ImageClassifier("words", cache_dir=tmp_path).fit(photos)
    opens.clear()
    ImageClassifier("words", cache_dir=tmp_path, C=0.5).fit(photos)
    assert_opened(opens, photos)


@pytest.mark.parametrize("cached", [False, True])
def test_several_recipes_open_a_file_once(photos, opens, tmp_path, cached):
    cache = tmp_path / "cache" if cached else None
    model = ImageClassifier("auto", representation="histogram", cache_dir=cache).fit(photos)
    assert len(model.tried_) == 4
    assert_opened(opens, photos)


def test_folds_and_checks_open_a_file_once(photos, opens, tmp_path):
    model = ImageClassifier("color", cache_dir=tmp_path / "cache")
    cross_validate(model, ImageFolder(photos), 3)
    assert_opened(opens, photos)
    check_folder(ImageFolder(photos), model, n_folds=3)
    assert_opened(opens, photos)


def test_commands_open_a_file_once(photos, opens, tmp_path):
    cache = ["--cache", str(tmp_path / "cache"), "--quiet"]
    model = str(tmp_path / "m.vw")
    for _ in range(2):
        command = ["train", str(photos), "-o", model, "--recipe", "words", "--test-size", "0.3"]
        assert main([*command, *cache]) == 0
        assert_opened(opens, photos)
    cache[1] = str(tmp_path / "another")
    for _ in range(2):
        assert main(["evaluate", model, str(photos), *cache]) == 0
        assert_opened(opens, photos)
    assert main(["predict", model, str(photos), *cache]) == 0
    assert_opened(opens, photos)


def test_predicting_opens_a_file_once_and_keeps_nothing(photos, opens, tmp_path):
    ImageClassifier("color").fit(photos).save(tmp_path / "m.vw")
    opens.clear()
    load(tmp_path / "m.vw").predict(ImageFolder(photos).paths)
    assert_opened(opens, photos)


def test_files_that_there_is_no_room_for_are_opened_once_a_stage(
    photos, opens, tmp_path, monkeypatch
):
    monkeypatch.setattr(contents, "MOST_BYTES", 0)
    ImageClassifier("color").fit(photos)
    assert_opened(opens, photos, 2)  # near copies and appearance, and the encoding
    ImageClassifier("words").fit(photos)
    assert_opened(opens, photos, 3)  # and the sample of patches
    ImageClassifier("words", cache_dir=tmp_path).fit(photos)
    assert_opened(opens, photos, 3)


def test_a_file_that_is_missing_is_looked_for_once(photos, opens, rng, tmp_path):
    paths, labels = ImageFolder(photos).paths, ImageFolder(photos).labels
    gone = write_png(tmp_path / "gone.png", noisy((1, 2, 3), rng))
    gone.unlink()
    model = ImageClassifier("words", cache_dir=tmp_path / "cache")
    with pytest.warns(UserWarning, match="left out"):
        model.fit([*paths, str(gone)], [*labels, "sea"])
    assert [(one.source, one.kind) for one in model.skipped_] == [(str(gone), "missing")]
    assert set(opens.values()) == {1}
