"""What a training process makes of a folder that people change meanwhile."""

import json

import pytest

from tests.apps.conftest import COLORS
from visualwords.apps.studio.class_folders import list_classes
from visualwords.apps.studio.trainer import Job, News, run


class Moving(News):
    """News of a job; as soon as there is a model, every image of a class gets another name."""

    def __init__(self, root, label):
        super().__init__(1)
        self.root, self.label = root, label

    def tell(self, **news):
        if "model" in news:
            (self.root / self.label).rename(self.root / "moved")


@pytest.fixture
def images(tmp_path, pictures):
    """Give a folder of three classes, in one of which is an image of another."""
    root = tmp_path / "images"
    for label in COLORS:
        (root / label).mkdir(parents=True)
        for i in range(6):
            (root / label / f"{i}.png").write_bytes(pictures(label, i))
    (root / "sand" / "wrong.png").write_bytes(pictures("sea", 50))
    return root


def train(root, tmp_path, news):
    job = Job(
        1, "quick", str(root), str(tmp_path / "new.vw"), "tiny", 1.0, None, 1_000_000, 5, False,
        "train", n_jobs=1,
    )  # fmt: skip
    run(job, news)
    return json.loads((tmp_path / "new.json").read_bytes())


def test_images_that_are_moved_while_a_model_is_tested_keep_their_results(images, tmp_path):
    before = list_classes(images)
    table = train(images, tmp_path, Moving(images, "sand"))
    assert {row["id"]: row["truth"] for row in table["rows"]} == {
        image.id: image.label for image in before.images
    }
    wrong = next(image.id for image in before.images if image.place == "sand/wrong.png")
    assert [(doubt["id"], doubt["label"]) for doubt in table["doubts"]] == [(wrong, "sea")]
    assert table["skipped"] == []
