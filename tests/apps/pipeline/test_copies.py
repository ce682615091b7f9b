"""Near copies stay on one side of folds and holdouts."""

import cv2
import numpy as np
import pytest

from tests.apps.conftest import COLORS, write_png
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main
from visualwords.apps.evaluation.trial import cross_validate
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.duplicates import Copies, describe_copies, find_copies, keep_together
from visualwords.apps.pipeline.stages import Environment
from visualwords.folders import ImageFolder


@pytest.fixture
def copied(photos, rng):
    """Give photographs of which two of each class have brighter copies."""
    for name, color in COLORS.items():
        for i in range(2):
            image = cv2.GaussianBlur(rng.normal(color, 90, (48, 64, 3)), (0, 0), 6)
            image = np.clip(12 * (image - image.mean((0, 1))) + 128, 0, 250).astype(np.uint8)
            for suffix, picture in (("a", image), ("b", image + 3)):
                write_png(photos / name / f"copy{i}{suffix}.png", picture)
    return photos


def data_of(labels, groups):
    return Dataset.of([bytes([i]) for i in range(len(labels))], list(labels), groups)


def test_copies_share_a_group_and_groups_that_share_a_copy_are_one():
    data = data_of("aaabbb", ["x", None, None, "y", None, "z"])
    found = keep_together(data, Copies([[1, 2], [0, 3]], []))
    assert found[1] == found[2] != found[0]
    assert found[0] == found[3]
    assert found[4] is None
    assert found[5] == "z"


def test_a_class_of_copies_alone_stays_divided():
    data = data_of("aabbb", None)
    found = keep_together(data, Copies([[0, 1], [2, 3]], []))
    assert found[:2] == [None, None]
    assert found[2] == found[3] is not None


def test_copies_are_found_and_unreadable_files_named(copied):
    (copied / "sea" / "zz.png").write_bytes(b"no picture")
    data = Dataset.of_folder(ImageFolder(copied))
    found = find_copies(data, Environment())
    assert len(found.sets) == 6
    assert all(len({data.names[i][:-5] for i in one}) == 1 for one in found.sets)
    assert [one.source for one in found.skipped] == [str(copied / "sea" / "zz.png")]
    sentence = describe_copies([[data.names[i] for i in one] for one in found.sets])
    assert sentence.startswith("12 images are near copies of each other, in 6 sets")


def test_no_fold_divides_copies(copied, monkeypatch):
    seen = []
    folds = Dataset.folds

    def spy(self, *arguments):
        found = folds(self, *arguments)
        seen.append((self.names, found))
        return found

    monkeypatch.setattr(Dataset, "folds", spy)
    model = ImageClassifier("color").fit(copied)
    assert len(model.copies_) == 6
    cross_validate(ImageClassifier("color"), ImageFolder(copied), 3)
    assert seen
    for names, found in seen:
        fold_of = dict(zip(names, found))
        for name in names:
            if name.endswith("a.png"):
                other = fold_of.get(name.replace("a.png", "b.png"))
                assert other is None or other == fold_of[name]


def test_the_holdout_is_drawn_among_readable_files_and_keeps_copies(copied, tmp_path, capsys):
    for i in range(6):
        (copied / "sea" / f"broken{i}.png").write_bytes(b"no picture")
    arguments = ["train", str(copied), "-o", str(tmp_path / "m.vw"), "--recipe", "color"]
    assert main([*arguments, "--test-size", "0.25", "--no-cache", "--json"]) == 3
    done = capsys.readouterr()
    assert '"images": 9' in done.out
    assert "near copies" in done.err
    assert done.out.count("broken") == 6
