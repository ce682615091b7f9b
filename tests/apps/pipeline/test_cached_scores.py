"""Scores of files are kept for the same model and the same files, and no other."""

import os
import shutil

import numpy as np
import pytest

from visualwords import ImageClassifier, load
from visualwords.apps.pipeline import contents
from visualwords.apps.pipeline.cached_scores import score_files
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.folders import ImageFolder
from visualwords.progress import Silent


@pytest.fixture
def model(photos, tmp_path):
    return ImageClassifier("color", cache_dir=tmp_path / "cache").fit(photos)


def scored(model, paths, monkeypatch, progress=None):
    """Return the scores of files, and whether they were computed for that."""
    calls = []
    score_images = ImageClassifier.score_images

    def spy(self, X, **options):
        calls.append(len(X))
        return score_images(self, X, **options)

    data = Dataset.of(paths, paths)
    with monkeypatch.context() as patched:
        patched.setattr(ImageClassifier, "score_images", spy)
        found = score_files(model, data, model.environment(progress))
    return found, calls == [len(paths)]


def test_the_same_files_are_scored_once_also_by_the_saved_model(
    model, photos, tmp_path, monkeypatch
):
    paths = ImageFolder(photos).paths
    first, anew = scored(model, paths, monkeypatch)
    assert anew
    model.save(tmp_path / "m.vw")
    loaded = load(tmp_path / "m.vw").set_params(cache_dir=tmp_path / "cache")
    for same in (model, loaded):
        again, anew = scored(same, paths, monkeypatch)
        assert not anew
        np.testing.assert_array_equal(again.values, first.values)
        assert again.kept.tolist() == first.kept.tolist() == list(range(24))
        assert again.skipped == []


def test_a_file_that_changed_is_noticed_whatever_its_size_and_date(model, photos, monkeypatch):
    paths = ImageFolder(photos).paths
    scored(model, paths, monkeypatch)
    *_, smaller, file = sorted(photos.rglob("*.png"), key=lambda path: path.stat().st_size)
    before = file.stat()
    # What follows the end of a PNG is nothing.
    file.write_bytes(smaller.read_bytes().ljust(before.st_size, b"\0"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed, anew = scored(model, paths, monkeypatch)
    assert anew
    np.testing.assert_array_equal(changed.values, model.score_images(paths).values)


def test_other_files_and_another_order_are_scored_anew(model, photos, monkeypatch):
    paths = ImageFolder(photos).paths
    first, _ = scored(model, paths, monkeypatch)
    turned, anew = scored(model, paths[::-1], monkeypatch)
    assert anew
    np.testing.assert_array_equal(turned.values, first.values[::-1])
    fewer, anew = scored(model, paths[1:], monkeypatch)
    assert anew
    np.testing.assert_array_equal(fewer.values, first.values[1:])


@pytest.mark.parametrize("changes", [{"C": 0.5}, {"max_side": 20}, {"max_pixels": 10**7}])
def test_another_model_scores_anew(model, photos, monkeypatch, changes):
    paths = ImageFolder(photos).paths
    scored(model, paths, monkeypatch)
    other = ImageClassifier("color", cache_dir=model.cache_dir, **changes).fit(photos)
    assert scored(other, paths, monkeypatch)[1]


def test_a_scale_that_encoders_learned_has_a_part_in_it(model, photos, monkeypatch):
    paths = ImageFolder(photos).paths
    scored(model, paths, monkeypatch)
    model.encoders_[0].scale *= 2
    found, anew = scored(model, paths, monkeypatch)
    assert anew
    np.testing.assert_array_equal(found.values, model.score_images(paths).values)


@pytest.mark.parametrize("content", [b"", b"no picture", None], ids=["empty", "damaged", "gone"])
def test_files_of_which_one_can_not_be_read_are_scored_each_time(
    model, photos, monkeypatch, content
):
    paths = ImageFolder(photos).paths
    good = (photos / "sea" / "0.png").read_bytes()
    bad = paths.index(str(photos / "sea" / "0.png"))
    os.unlink(paths[bad])
    if content is not None:
        (photos / "sea" / "0.png").write_bytes(content)
    for _ in range(2):
        found, anew = scored(model, paths, monkeypatch)
        assert anew
        assert [name for name, _ in found.skipped] == [paths[bad]]
        assert len(found.values) == 23
    (photos / "sea" / "0.png").write_bytes(good)
    found, _ = scored(model, paths, monkeypatch)
    assert len(found.values) == 24


@pytest.mark.parametrize("kept", [10**9, 0], ids=["bytes kept", "opened again"])
def test_scores_belong_to_the_content_that_was_fingerprinted(model, photos, monkeypatch, kept):
    class Replacing(Silent):
        """Replaces a file once all have been looked at."""

        def start(self, stage, total):
            if stage == "reading images":
                shutil.copy(photos / "wood" / "1.png", photos / "sea" / "0.png")

    monkeypatch.setattr(contents, "MOST_BYTES", kept)
    shutil.rmtree(model.cache_dir)  # with the rows of these files
    paths = ImageFolder(photos).paths
    before = (photos / "sea" / "0.png").read_bytes()
    meanwhile, _ = scored(model, paths, monkeypatch, Replacing())
    (photos / "sea" / "0.png").write_bytes(before)
    if kept:
        np.testing.assert_array_equal(meanwhile.values, model.score_images(paths).values)
        return
    assert [(s.source, s.kind) for s in meanwhile.skipped] == [
        (str(photos / "sea" / "0.png"), "changed")
    ]
    found, anew = scored(model, paths, monkeypatch)
    assert anew
    assert len(found.values) == 24


def test_without_a_cache_every_call_scores(photos, monkeypatch):
    model = ImageClassifier("color").fit(photos)
    paths = ImageFolder(photos).paths
    assert [scored(model, paths, monkeypatch)[1] for _ in range(2)] == [True, True]
