"""classify-images predict on videos, cameras and addresses."""

import csv
import json

import cv2
import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.errors import ImageError


@pytest.fixture(scope="module")
def classifier():
    rng = np.random.default_rng(1)
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(8)]
    return ImageClassifier("tiny").fit(images, [name for name in COLORS for _ in range(8)])


@pytest.fixture
def model(classifier, tmp_path):
    classifier.save(tmp_path / "m.vw")
    return str(tmp_path / "m.vw")


@pytest.fixture
def video(tmp_path):
    rng = np.random.default_rng(4)
    path = tmp_path / "v.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10, (64, 48))
    for color in COLORS.values():
        writer.write(np.ascontiguousarray(noisy(color, rng)[:, :, ::-1]))
    writer.release()
    return str(path)


def test_every_frame_has_a_line_of_json_a_row_of_csv_or_a_line_of_text(model, video, capsys):
    assert main(["predict", model, video, "--json", "--top", "3"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["frame"], one["label"]) for one in found] == list(enumerate(COLORS))
    assert [one["time"] for one in found] == [0.0, 0.1, 0.2]
    assert {(one["path"], one["width"], one["height"]) for one in found} == {(video, 64, 48)}
    assert len(found[0]["scores"]) == 3
    assert main(["predict", model, video, "--csv", "--every", "2"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [(row["frame"], row["label"]) for row in rows] == [("0", "sea"), ("2", "wood")]
    assert main(["predict", model, video, "--frames", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "0  sea  " in line


def test_one_image_at_a_time_in_python(classifier, tmp_path, rng):
    image = noisy(COLORS["sand"], rng)
    answer = classifier.predict_one(image)
    assert answer.label == "sand"
    assert answer.path == ""
    assert list(answer.probabilities) == list(answer.scores)
    chances = list(answer.probabilities.values())
    assert chances == sorted(chances, reverse=True)
    path = write_png(tmp_path / "a.png", image)
    assert classifier.predict_one(path).scores == answer.scores
    assert classifier.predict_one(path.read_bytes()).scores == answer.scores
    with pytest.raises(ImageError):
        classifier.predict_one(tmp_path / "none.png")
