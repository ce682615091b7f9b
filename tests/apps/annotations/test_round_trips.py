"""What is written in a format is read back unchanged."""

import csv
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visualwords.apps.annotations.box_table import HEADER, box_rows
from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.annotations.coco import write_coco
from visualwords.apps.annotations.reading import read_annotations
from visualwords.apps.annotations.yolo import YoloFolder
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


def write_box_table(path, images):
    """Write a table as `detect-pedestrians run --csv` prints it."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = [csv_cells(row) for image in images for row in box_rows(image)]
        csv.writer(file).writerows([HEADER, *rows])


@settings(max_examples=40, deadline=None)
@given(images=boxed_images())
def test_one_format_leads_to_another_and_back_to_the_same(images):
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        folder, photographs, sizes = Path(place), Path(place, "photos"), {}
        write_coco(folder / "1.json", images)
        found = read_annotations(folder / "1.json").images
        assert_same(found, images)
        write_box_table(folder / "2.csv", found)
        found = read_annotations(folder / "2.csv").images
        assert_same(found, images)
        writer = YoloFolder(folder / "yolo", ["cat"])
        for image in found:
            sizes[str(photographs / image.name)] = image.size_wh
            (photographs / image.name).parent.mkdir(parents=True, exist_ok=True)
            (photographs / image.name).write_bytes(b"image")
            writer.add(image)
        writer.close()
        patch.setattr("visualwords.apps.annotations.yolo.image_size", sizes.__getitem__)
        read = read_annotations(folder / "yolo", photographs)
        assert_same(read.images, images, fields=("labels", "size_wh"))
        assert read.skipped == []


def test_scores_frames_times_and_tracks_are_written(tmp_path):
    image = BoxedImage("walk.mp4", np.array([[1.5, 2, 30, 40.25]]), ("person",), (64, 48),
                       np.array([0.75]), tracks=np.array([3]), frame=2, seconds=0.25)  # fmt: skip
    write_coco(tmp_path / "a.json", [image])
    written = json.loads((tmp_path / "a.json").read_text())
    assert {"frame": 2, "time": 0.25}.items() <= written["images"][0].items()
    assert {"score": 0.75, "track_id": 3}.items() <= written["annotations"][0].items()
    row = dict(zip(HEADER, box_rows(image)[0]))
    assert (row["frame"], row["time"], row["confidence"], row["track"]) == (2, 0.25, "0.75", 3)


def test_boxes_are_rounded_to_a_millionth_of_a_pixel():
    image = BoxedImage("a", np.array([[1 / 3, 0, 1, 1]]))
    assert image.boxes_xyxy[0, 0] == 0.333333
    with pytest.raises(ValueError, match="1 boxes, but labels"):
        BoxedImage("a", np.ones((1, 4)), ("a", "b"))
