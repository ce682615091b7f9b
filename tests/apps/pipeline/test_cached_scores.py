"""What a model said about files is recalled for the same model and the same files, and no other."""

import os
import shutil

import numpy as np
import pytest

from visualwords import ImageClassifier, load
from visualwords.apps.pipeline.cached_scores import judge_or_recall
from visualwords.folders import ImageFolder
from visualwords.progress import Silent


@pytest.fixture
def model(photos, tmp_path):
    return ImageClassifier("color", cache_dir=tmp_path / "cache").fit(photos)


def judged(model, paths, monkeypatch):
    """Return what is said about files, and whether they were judged for that."""
    calls = []
    judge = ImageClassifier.judge

    def spy(self, X, **options):
        calls.append(len(X))
        return judge(self, X, **options)

    with monkeypatch.context() as patched:
        patched.setattr(ImageClassifier, "judge", spy)
        found = judge_or_recall(model, paths, Silent())
    return found, calls == [len(paths)]


def test_the_same_files_are_judged_once_also_by_the_saved_model(
    model, photos, tmp_path, monkeypatch
):
    paths = ImageFolder(photos).paths
    first, anew = judged(model, paths, monkeypatch)
    assert anew
    model.save(tmp_path / "m.vw")
    loaded = load(tmp_path / "m.vw").set_params(cache_dir=tmp_path / "cache")
    for same in (model, loaded):
        again, anew = judged(same, paths, monkeypatch)
        assert not anew
        np.testing.assert_array_equal(again.scores, first.scores)
        assert again.kept.tolist() == first.kept.tolist() == list(range(24))
        assert (again.skipped, again.digests) == ([], first.digests)


def test_a_file_that_changed_is_noticed_whatever_its_size_and_date(model, photos, monkeypatch):
    paths = ImageFolder(photos).paths
    judged(model, paths, monkeypatch)
    *_, smaller, file = sorted(photos.rglob("*.png"), key=lambda path: path.stat().st_size)
    before = file.stat()
    # What follows the end of a PNG is nothing.
    file.write_bytes(smaller.read_bytes().ljust(before.st_size, b"\0"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed, anew = judged(model, paths, monkeypatch)
    assert anew
    np.testing.assert_array_equal(changed.scores, model.judge(paths).scores)


def test_other_files_and_another_order_are_judged_anew(model, photos, monkeypatch):
    paths = ImageFolder(photos).paths
    first, _ = judged(model, paths, monkeypatch)
    turned, anew = judged(model, paths[::-1], monkeypatch)
    assert anew
    np.testing.assert_array_equal(turned.scores, first.scores[::-1])
    fewer, anew = judged(model, paths[1:], monkeypatch)
    assert anew
    np.testing.assert_array_equal(fewer.scores, first.scores[1:])


@pytest.mark.parametrize("changes", [{"C": 0.5}, {"max_side": 20}, {"max_pixels": 10**7}])
def test_another_model_judges_anew(model, photos, monkeypatch, changes):
    paths = ImageFolder(photos).paths
    judged(model, paths, monkeypatch)
    other = ImageClassifier("color", cache_dir=model.cache_dir, **changes).fit(photos)
    assert judged(other, paths, monkeypatch)[1]


def test_a_scale_that_encoders_learned_has_a_part_in_it(model, photos, monkeypatch):
    paths = ImageFolder(photos).paths
    judged(model, paths, monkeypatch)
    model.encoders_[0].scale *= 2
    found, anew = judged(model, paths, monkeypatch)
    assert anew
    np.testing.assert_array_equal(found.scores, model.judge(paths).scores)


@pytest.mark.parametrize("content", [b"", b"no picture", None], ids=["empty", "damaged", "gone"])
def test_files_of_which_one_can_not_be_read_are_judged_each_time(
    model, photos, monkeypatch, content
):
    paths = ImageFolder(photos).paths
    good = (photos / "sea" / "0.png").read_bytes()
    bad = paths.index(str(photos / "sea" / "0.png"))
    os.unlink(paths[bad])
    if content is not None:
        (photos / "sea" / "0.png").write_bytes(content)
    for _ in range(2):
        found, anew = judged(model, paths, monkeypatch)
        assert anew
        assert [position for position, _ in found.skipped] == [bad]
        assert len(found.scores) == 23
    (photos / "sea" / "0.png").write_bytes(good)
    found, _ = judged(model, paths, monkeypatch)
    assert len(found.scores) == 24


def test_what_was_said_about_a_file_that_changed_meanwhile_is_not_kept(model, photos, monkeypatch):
    class Replacing(Silent):
        """Replaces a file once all have been looked at."""

        def start(self, stage, total):
            if stage == "reading images":
                shutil.copy(photos / "wood" / "1.png", photos / "sea" / "0.png")

    paths = ImageFolder(photos).paths
    before = (photos / "sea" / "0.png").read_bytes()
    replaced = judge_or_recall(model, paths, Replacing())
    (photos / "sea" / "0.png").write_bytes(before)
    found, anew = judged(model, paths, monkeypatch)
    assert anew
    assert not np.array_equal(found.scores, replaced.scores)


def test_without_a_cache_every_call_judges(photos, monkeypatch):
    model = ImageClassifier("color").fit(photos)
    paths = ImageFolder(photos).paths
    assert [judged(model, paths, monkeypatch)[1] for _ in range(2)] == [True, True]
