"""detect-pedestrians as people call it: what it prints, writes and returns."""

import csv
import io
import json

import cv2
import numpy as np
import pytest
from PIL import Image

import visualwords
from tests.apps.detection.figures import crop, scene
from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.annotations.coco import write_coco
from visualwords.apps.annotations.reading import read_annotations
from visualwords.apps.detect_pedestrians.main import main
from visualwords.images import read_image

BOXES = [[40, 60, 64, 132], [150, 30, 187, 141]]


@pytest.fixture
def model(detector_file):
    return str(detector_file)


@pytest.fixture
def street(tmp_path):
    path = tmp_path / "street.png"
    Image.fromarray(scene(np.random.default_rng(3), BOXES)).save(path)
    return path


def write_video(path, n_frames, step=1):
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 10, (260, 200))
    for k in range(n_frames):
        frame = scene(
            np.random.default_rng(3), [[x + step * k, y, u + step * k, v] for x, y, u, v in BOXES]
        )
        writer.write(np.ascontiguousarray(frame[:, :, ::-1]))
    writer.release()


def test_an_image_is_searched_drawn_and_listed(model, street, tmp_path, capsys):
    code = main(["run", str(street), "-o", str(tmp_path / "out"), "--json", "--model", model])
    answer = json.loads(capsys.readouterr().out)
    assert code == 0
    assert len(answer["detections"]) == 2
    assert answer["detections"][0]["source"] == str(street)
    drawn, plain = (read_image(path) for path in (tmp_path / "out" / "street.png", street))
    assert drawn.shape == (200, 260, 3)
    assert (drawn != plain).any()


def test_run_is_what_it_does_by_default(model, street, capsys):
    assert main([str(street), "--model", model]) == 0
    printed = capsys.readouterr()
    assert "confidence" in printed.out
    assert "2 found in 1 frame or image" in printed.err


def test_a_folder_with_a_broken_file_ends_with_3(model, street, tmp_path, capsys):
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8 no more")
    code = main(["run", str(tmp_path), "--csv", "--model", model])
    printed = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert code == 3
    assert len(rows) == 2
    assert "broken.jpg" in printed.err
    assert main(["run", str(tmp_path), "--strict", "--model", model]) == 1


def test_any_number_of_jobs_finds_the_same_in_the_same_order(model, tmp_path, capsys):
    for k in range(4):
        picture = scene(np.random.default_rng(k), BOXES[: 1 + k % 2])
        Image.fromarray(picture).save(tmp_path / f"{k}.png")
    printed = []
    for jobs in ("1", "3"):
        out = ["-o", str(tmp_path / "found" / jobs), "--jobs", jobs, "--json", "--model", model]
        files = [str(tmp_path / f"{k}.png") for k in range(4)]
        assert main(["run", *files, *out]) == 0
        printed.append(capsys.readouterr().out)
        assert {path.name for path in (tmp_path / "found" / jobs).iterdir()} == {
            f"{k}.png" for k in range(4)
        }
    assert printed[0] == printed[1]


def test_nothing_to_read_is_a_failure(model, tmp_path, capsys):
    assert main(["run", str(tmp_path / "absent.jpg"), "--model", model]) == 1
    assert "no such file" in capsys.readouterr().err


def test_a_video_becomes_an_annotated_video(model, tmp_path, capsys):
    write_video(tmp_path / "walk.avi", 6)
    out = tmp_path / "found.avi"
    command = ["run", str(tmp_path / "walk.avi"), "-o", str(out), "--every", "2", "--json"]
    assert main([*command, "--model", model]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["frame"], one["time"]) for one in found] == [(0, 0.0), (2, 0.2), (4, 0.4)]
    assert {(one["width"], one["height"]) for one in found} == {(260, 200)}
    assert any(one["boxes"] for one in found)
    capture = cv2.VideoCapture(str(out))
    assert int(capture.get(cv2.CAP_PROP_FRAME_COUNT)) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_video_that_ends_early_is_said_so(model, tmp_path, capsys):
    write_video(tmp_path / "walk.avi", 8)
    whole = (tmp_path / "walk.avi").read_bytes()
    (tmp_path / "cut.avi").write_bytes(whole[: len(whole) // 2])
    assert (
        main(["run", str(tmp_path / "cut.avi"), "-o", str(tmp_path / "f"), "--model", model]) == 3
    )
    assert "ended early, after" in capsys.readouterr().err
    assert len(list((tmp_path / "f").iterdir())) >= 2


def test_coco_and_yolo_files_are_written_with_images_without_detections(
    model, street, tmp_path, capsys
):
    Image.fromarray(np.full((80, 90, 3), 99, np.uint8)).save(tmp_path / "nothing.png")
    coco, yolo = tmp_path / "out" / "found.json", tmp_path / "out" / "yolo"
    coco.parent.mkdir()
    files = [str(street), str(tmp_path / "nothing.png")]
    given = ["--coco", str(coco), "--yolo", str(yolo), "--model", model, "--csv"]
    assert main(["run", *files, *given]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["source"], row["width"], row["label"]) for row in rows] == [
        *[(files[0], "260", "person")] * 2,
        (files[1], "90", ""),
    ]
    from_coco, from_yolo = read_annotations(coco).images, read_annotations(yolo, tmp_path).images
    assert [(image.name, len(image), image.size_wh) for image in from_coco] == [
        (files[0], 2, (260, 200)),
        (files[1], 0, (90, 80)),
    ]
    assert [(image.name, len(image)) for image in from_yolo] == [
        ("nothing.png", 0),
        ("street.png", 2),
    ]
    np.testing.assert_array_equal(from_coco[0].boxes_xyxy, from_yolo[1].boxes_xyxy)
    assert from_coco[0].labels == from_yolo[1].labels == ("person", "person")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "street.png").write_bytes(street.read_bytes())
    twice = [str(street), str(tmp_path / "other")]
    assert main(["run", twice[0], f"{twice[1]}/street.png", "--yolo", str(yolo)]) == 1
    assert "would have the same label file" in capsys.readouterr().err


def test_people_keep_their_numbers_from_frame_to_frame(model, tmp_path, capsys):
    write_video(tmp_path / "walk.avi", 8, step=0)
    coco, out = (tmp_path / name for name in ("found.json", "found.avi"))
    given = ["--track", "--coco", str(coco), "-o", str(out), "--model", model]
    assert main(["run", str(tmp_path / "walk.avi"), *given, "--json"]) == 0
    frames = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    numbers = [{box["track"] for box in frame["boxes"]} for frame in frames]
    assert numbers[0] == {None}  # not yet confirmed
    assert numbers[3:] == [{1, 2}] * 5
    left = [{box["track"] for box in frame["boxes"] if box["x0"] < 100} for frame in frames[3:]]
    assert len({*map(frozenset, left)}) == 1  # the same number on the left in all frames
    found = json.loads(coco.read_text())
    fourth = found["images"][3]
    assert (fourth["file_name"], fourth["frame"], fourth["time"]) == ("walk-000003.png", 3, 0.3)
    own = [box for box in found["annotations"] if box["image_id"] == fourth["id"]]
    assert {box["track_id"] for box in own} == {1, 2}
    assert out.exists()
    assert main(["run", str(tmp_path / "walk.avi"), "--track", "--frames", "4", "--csv"]) == 0
    assert capsys.readouterr().out.startswith("source,frame,time,width,height,label,x0")


def test_where_nothing_is_found_a_lower_threshold_is_named(model, street, capsys):
    assert main(["run", str(street), "--threshold", "0.9999", "--model", model]) == 0
    said = capsys.readouterr().err
    assert "0 found in 1 frame or image" in said
    assert "nothing found; --threshold below 0.9999 or a smaller --min-height finds more" in said


@pytest.mark.parametrize(
    ("source", "message"), [("97", "camera 97: not found"), ("text.mp4", "not a readable video")]
)
def test_absent_cameras_and_false_videos_are_one_sentence(
    model, tmp_path, monkeypatch, capsys, source, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.mp4").write_text("no video")
    assert main(["run", source, "--model", model]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_training_evaluating_and_reporting(tmp_path, model, street, capsys):
    rng = np.random.default_rng(1)
    for name, images in {
        "crops": [crop(rng) for _ in range(12)],
        "photos": [scene(rng, height=120, width=120) for _ in range(4)],
    }.items():
        (tmp_path / name).mkdir()
        for k, image in enumerate(images):
            Image.fromarray(image).save(tmp_path / name / f"{k:02}.png")
    made = tmp_path / "made.vw"
    folders = [str(tmp_path / "crops"), str(tmp_path / "photos")]
    flags = ["--window", "48x96", "--object-share", "0.5x0.75", "--rounds", "1", "--quiet"]
    flags += ["--tree-depth", "3"]
    assert main(["train", *folders, "-o", str(made), "--label", "figure", *flags]) == 0
    assert visualwords.load(made).label == "figure"
    assert visualwords.load(made).get_params()["tree_depth"] == 3
    said = capsys.readouterr().err
    assert "12 crops and their mirror images, 4 photographs" in said
    assert "held out, from confidence 0.5: 12 of 12 objects found, " in said
    assert made.stat().st_size < 3_000_000

    (tmp_path / "scenes").mkdir()
    street.rename(tmp_path / "scenes" / "street.png")
    table = tmp_path / "boxes.csv"
    lines = [f"street.png,{','.join(map(str, box))}" for box in BOXES]
    table.write_text("\n".join(["file,xmin,ymin,xmax,ymax", *lines]))
    report, curves = tmp_path / "report.html", tmp_path / "curves.png"
    command = ["evaluate", str(tmp_path / "scenes"), "--annotations", str(table), "--model", model]
    assert main([*command, "--report", str(report), "--curves", str(curves), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["objects"] == 2
    assert figures["average_precision"] == 1.0
    assert "average precision" in report.read_text(encoding="utf-8")
    wide = [f"street.png,{x0 - 40},{y0},{x1 + 40},{y1}" for x0, y0, x1, y1 in BOXES]
    table.write_text("\n".join(["file,xmin,ymin,xmax,ymax", *wide]))
    found = []
    for flags in [], ["--aspect", "0.41"]:
        assert main([*command, *flags, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["average_precision"])
    assert found == [0.0, 1.0]
    assert cv2.imdecode(np.fromfile(curves, np.uint8), cv2.IMREAD_COLOR).shape[1] > 500


def test_training_and_evaluating_on_photographs_with_boxes(tmp_path, capsys):
    images = []
    (tmp_path / "photos").mkdir()
    for k in range(6):
        boxes = [[30 + k, 60, 54 + k, 132], [150, 30, 187, 141]][: 1 + k % 2]
        path = tmp_path / "photos" / f"{k}.png"
        Image.fromarray(scene(np.random.default_rng(k), boxes)).save(path)
        images.append(BoxedImage(path.name, np.array(boxes), ("figure",) * len(boxes), (260, 200)))
    images.append(BoxedImage("absent.png", np.array([[1, 1, 9, 9]]), ("figure",)))
    write_coco(tmp_path / "boxes.json", images)
    photos, made = str(tmp_path / "photos"), str(tmp_path / "made.vw")
    given = [photos, "--annotations", str(tmp_path / "boxes.json"), "--quiet"]
    flags = ["--rounds", "1"]
    assert main(["train", *given, "-o", made, *flags]) == 3
    said = capsys.readouterr().err
    assert "9 objects and their mirror images in 6 photographs" in said
    assert "held out, from confidence 0.5: 9 of 9 objects found" in said
    assert "absent.png: annotated, but missing" in said
    assert visualwords.load(made).label == "figure"
    assert main(["evaluate", *given, "--model", made, "--json"]) == 3
    figures = json.loads(capsys.readouterr().out)
    assert (figures["objects"], figures["images"]) == (9, 6)
    assert figures["average_precision"] > 0.9
    assert main(["evaluate", *given, "--model", made, "--label", "dog"]) == 1
    assert "no box is labelled 'dog', but 'figure' (10)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a,b\n1,2", "no column file"),
        ("file,xmin,ymin,xmax,ymax\nstreet.png,1,2,x,4", "xmax: 'x' where a number belongs"),
        ("file,xmin,ymin,xmax,ymax\nstreet.png,9,2,3,4", "is not a box"),
        ("file,xmin,ymin,xmax,ymax\nother.png,1,2,3,4", "name none of the images"),
    ],
)
def test_tables_of_boxes_that_cannot_be_used_are_named(
    model, street, tmp_path, capsys, table, message
):
    (tmp_path / "boxes.csv").write_text(table)
    command = ["evaluate", str(tmp_path), "--annotations", str(tmp_path / "boxes.csv")]
    assert main([*command, "--model", model]) == 1
    assert message in capsys.readouterr().err


def test_a_model_that_is_none_ends_with_4(street, tmp_path, capsys):
    (tmp_path / "bad.vw").write_bytes(b"PK no model")
    assert main(["run", str(street), "--model", str(tmp_path / "bad.vw")]) == 4
    assert "bad.vw" in capsys.readouterr().err


def test_wrong_usage_ends_with_2(street, capsys):
    assert main(["run", str(street), "--csv", "--json"]) == 2
    assert main(["train", "a", "b", "-o", "m.vw", "--window", "64"]) == 2
    assert main(["train", "a", "-o", "m.vw"]) == 2
    assert main(["evaluate", "a"]) == 2
    assert main(["run", str(street), "--track"]) == 2
    assert main(["run"]) == 2
    capsys.readouterr()


def test_the_demo_finds_someone_with_the_shipped_model(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path / "demo")]) == 0
    assert "confidence" in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {"street.png", "detections.png"}


def test_info_describes_the_bundled_detector(capsys):
    assert main(["info", "pedestrian", "--json"]) == 0
    manifest = json.loads(capsys.readouterr().out)
    assert manifest["kind"] == "object-detector"
    assert main(["info"]) == 0
    assert "object-detector" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "hint"), [("trian", "did you mean train"), ("xyz", "choose from run, train")]
)
def test_a_mistyped_verb_is_not_taken_for_an_image(word, hint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([word, "crops"]) == 2
    assert f"no verb or file {word!r}; {hint}" in capsys.readouterr().err
