"""What is written in a format is read back unchanged."""

import csv
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from visualwords.apps.annotations.box_table import HEADER, box_rows, read_box_table
from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.annotations.coco import read_coco, write_coco
from visualwords.apps.annotations.reading import read_annotations
from visualwords.apps.annotations.yolo import YoloFolder, read_yolo
from visualwords.apps.command_line.csv_cells import csv_cells

LABELS = ["person", "käse & <b>", "=1+1", "'quoted\"", "two words", "日本", "a, b: c # d"]


@st.composite
def boxed_images(draw):
    """Up to four images with boxes, labels and confidences."""
    scored = draw(st.booleans())
    images = []
    for k in range(draw(st.integers(1, 4))):
        width, height = draw(st.integers(8, 5000)), draw(st.integers(8, 5000))
        boxes = []
        for _ in range(draw(st.integers(0, 3))):
            x0, x1 = sorted(draw(st.tuples(*[st.integers(0, width * 10**6)] * 2)))
            y0, y1 = sorted(draw(st.tuples(*[st.integers(0, height * 10**6)] * 2)))
            if x1 > x0 and y1 > y0:
                boxes.append([x0 / 1e6, y0 / 1e6, x1 / 1e6, y1 / 1e6])
        n = len(boxes)
        unit = st.floats(0, 1, allow_subnormal=False)
        images.append(
            BoxedImage(
                f"folder/im åge-{k}.png",
                np.array(boxes).reshape(-1, 4),
                tuple(draw(st.lists(st.sampled_from(LABELS), min_size=n, max_size=n))),
                (width, height),
                np.array(draw(st.lists(unit, min_size=n, max_size=n))) if scored and n else None,
                np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool),
            )
        )
    return images


def assert_same(found, expected, fields=("labels", "size_wh", "ignored")):
    assert [image.name for image in found] == [image.name for image in expected]
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one.boxes_xyxy, other.boxes_xyxy)
        for field in fields:
            assert np.array_equal(getattr(one, field), getattr(other, field)), field


quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quick
@given(images=boxed_images())
def test_coco_is_read_back_as_it_was_written(images, tmp_path):
    write_coco(tmp_path / "boxes.json", images)
    assert_same(read_coco(tmp_path / "boxes.json").images, images)
    assert_same(read_annotations(tmp_path / "boxes.json").images, images)


def write_box_table(path, images):
    """Write a table as `detect-pedestrians run --csv` prints it."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = [csv_cells(row) for image in images for row in box_rows(image)]
        csv.writer(file).writerows([HEADER, *rows])


@quick
@given(images=boxed_images())
def test_a_table_is_read_back_as_it_was_written(images, tmp_path):
    write_box_table(tmp_path / "boxes.csv", images)
    assert_same(read_box_table(tmp_path / "boxes.csv").images, images)


@quick
@given(images=boxed_images())
def test_yolo_is_read_back_as_it_was_written(images, tmp_path_factory, monkeypatch):
    folder, photographs = tmp_path_factory.mktemp("yolo"), tmp_path_factory.mktemp("photos")
    (photographs / "folder").mkdir()
    writer = YoloFolder(folder, ["cat"])
    sizes = {}
    for image in images:
        (photographs / image.name).write_bytes(b"image")
        sizes[str(photographs / image.name)] = image.size_wh
        writer.add(image)
    writer.close()
    monkeypatch.setattr("visualwords.apps.annotations.yolo.image_size", sizes.__getitem__)
    found = read_yolo(folder, photographs)
    assert_same(found.images, images, fields=("labels", "size_wh"))
    assert found.skipped == []


def test_scores_frames_times_and_tracks_are_written(tmp_path):
    image = BoxedImage("walk.mp4", np.array([[1.5, 2, 30, 40.25]]), ("person",), (64, 48),
                       np.array([0.75]), tracks=np.array([3]), frame=2, seconds=0.25)  # fmt: skip
    write_coco(tmp_path / "a.json", [image])
    written = json.loads((tmp_path / "a.json").read_text())
    assert {"frame": 2, "time": 0.25}.items() <= written["images"][0].items()
    assert {"score": 0.75, "track_id": 3}.items() <= written["annotations"][0].items()
    row = dict(zip(HEADER, box_rows(image)[0]))
    assert (row["frame"], row["time"], row["confidence"], row["track"]) == (2, 0.25, "0.75", 3)


def test_one_format_leads_to_another_and_back(tmp_path):
    Image.new("RGB", (640, 480)).save(tmp_path / "a.png")
    first = [BoxedImage("a.png", np.array([[10.5, 20, 130.25, 400]]), ("cup",), (640, 480))]
    write_coco(tmp_path / "1.json", first)
    writer = YoloFolder(tmp_path / "yolo")
    for image in read_annotations(tmp_path / "1.json").images:
        writer.add(image)
    writer.close()
    yolo = read_annotations(tmp_path / "yolo", tmp_path).images
    write_box_table(tmp_path / "2.csv", yolo)
    assert_same(read_annotations(tmp_path / "2.csv").images, first)


def test_boxes_are_rounded_to_a_millionth_of_a_pixel():
    image = BoxedImage("a", np.array([[1 / 3, 0, 1, 1]]))
    assert image.boxes_xyxy[0, 0] == 0.333333
    with pytest.raises(ValueError, match="1 boxes, but labels"):
        BoxedImage("a", np.ones((1, 4)), ("a", "b"))
