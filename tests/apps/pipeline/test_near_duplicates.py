"""Near duplicates stay on one side of folds and holdouts."""

import cv2
import numpy as np
import pytest

from tests.apps.conftest import COLORS, write_png
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main
from visualwords.apps.evaluation.trial import cross_validate
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.near_duplicates import (
    describe_duplicates,
    find_duplicates,
    keep_together,
)
from visualwords.apps.pipeline.stages import Environment
from visualwords.folders import ImageFolder


@pytest.fixture
def duplicated(photos, rng):
    """Give photographs of which two of each class have brighter duplicates."""
    for name, color in COLORS.items():
        for i in range(2):
            image = cv2.GaussianBlur(rng.normal(color, 90, (48, 64, 3)), (0, 0), 6)
            image = np.clip(12 * (image - image.mean((0, 1))) + 128, 0, 250).astype(np.uint8)
            for suffix, picture in (("a", image), ("b", image + 3)):
                write_png(photos / name / f"copy{i}{suffix}.png", picture)
    return photos


def data_of(labels, groups):
    return Dataset.of([bytes([i]) for i in range(len(labels))], list(labels), groups)


def test_duplicates_share_a_group_and_groups_that_share_one_are_one():
    data = data_of("aaabbb", ["x", None, None, "y", None, "z"])
    found = keep_together(data, [[1, 2], [0, 3]])
    assert found[1] == found[2] != found[0]
    assert found[0] == found[3]
    assert found[4:] == [None, "z"]


def test_a_class_of_duplicates_alone_stays_divided():
    found = keep_together(data_of("aabbb", None), [[0, 1], [2, 3]])
    assert found[:2] == [None, None]
    assert found[2] == found[3] is not None


def test_no_fold_divides_duplicates_and_unreadable_files_are_named(duplicated, monkeypatch):
    (duplicated / "sea" / "zz.png").write_bytes(b"no picture")
    data = Dataset.of_folder(ImageFolder(duplicated))
    sets, skipped = find_duplicates(data, Environment())
    names = [[data.names[i] for i in one] for one in sets]
    assert all(len({name[:-5] for name in one}) == 1 for one in names)
    assert [one.source for one in skipped] == [str(duplicated / "sea" / "zz.png")]
    sentence = describe_duplicates(names)
    assert sentence.startswith("12 images are near duplicates of each other, in 6 sets")
    seen = []
    folds = Dataset.folds

    def spy(self, *arguments):
        found = folds(self, *arguments)
        seen.append((self.names, found))
        return found

    monkeypatch.setattr(Dataset, "folds", spy)
    for recipe in "tiny", "auto":
        model = ImageClassifier(recipe, budget=1).fit(duplicated, warn=False)
        assert sorted(model.duplicates_) == sorted(names)
    cross_validate(ImageClassifier("tiny"), ImageFolder(duplicated), 3)
    assert len(seen) > 3
    for images, found in seen:
        fold_of = dict(zip(images, found))
        for first, second in names:
            both = fold_of.keys() >= {first, second}
            assert not both or fold_of[first] == fold_of[second]


def test_the_holdout_is_drawn_among_readable_files_and_keeps_duplicates(
    duplicated, tmp_path, capsys
):
    for i in range(6):
        (duplicated / "sea" / f"broken{i}.png").write_bytes(b"no picture")
    arguments = ["train", str(duplicated), "-o", str(tmp_path / "m.vw"), "--recipe", "tiny"]
    assert main([*arguments, "--test-size", "0.25", "--no-cache", "--json"]) == 3
    done = capsys.readouterr()
    assert '"images": 9' in done.out
    assert "near duplicates" in done.err
    assert done.out.count("broken") == 6
