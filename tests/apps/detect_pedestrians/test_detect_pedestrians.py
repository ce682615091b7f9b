"""detect-pedestrians as people call it: what it prints, writes and returns."""

import csv
import json
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

import visualwords
from tests.apps.detection.figures import crop, scene
from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.annotations.coco import write_coco
from visualwords.apps.annotations.reading import read_annotations
from visualwords.apps.detect_pedestrians.main import main
from visualwords.images import encode_image, read_image

BOXES = [[40, 60, 64, 132], [150, 30, 187, 141]]
HEADER = "file,xmin,ymin,xmax,ymax\n"


@pytest.fixture
def model(detector_file):
    return str(detector_file)


@pytest.fixture
def call(capsys):
    """Give ``call(word, …)`` → exit code, output and errors of a command."""

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=" ".join(said.err.split()))

    return run


def write(path, image):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode_image(image))
    return path


@pytest.fixture
def street(tmp_path):
    return write(tmp_path / "street.png", scene(np.random.default_rng(3), BOXES))


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def write_video(path, n_frames, step=1):
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 10, (260, 200))
    for k in range(n_frames):
        boxes = [[x + step * k, y, u + step * k, v] for x, y, u, v in BOXES]
        frame = scene(np.random.default_rng(3), boxes)
        writer.write(np.ascontiguousarray(frame[:, :, ::-1]))
    writer.release()
    return path


def test_images_are_searched_drawn_and_listed_with_any_number_of_jobs(model, tmp_path, call):
    files = [
        write(tmp_path / f"{k}.png", scene(np.random.default_rng(3 + k), BOXES[: 1 + k % 2]))
        for k in range(4)
    ]
    printed = []
    for jobs in ("1", "3"):
        out = tmp_path / f"found{jobs}"
        done = call("run", *files, "-o", out, "--jobs", jobs, "--json", "--model", model)
        assert done.code == 0
        printed.append(json.loads(done.out))
        assert {path.name for path in out.iterdir()} == {path.name for path in files}
        drawn, plain = read_image(out / "1.png"), read_image(files[1])
        assert drawn.shape == plain.shape
        assert (drawn != plain).any()
    assert printed[0] == printed[1]
    assert [image["source"] for image in printed[0]["images"]] == list(map(str, files))
    assert {one["source"] for one in printed[0]["detections"]} == set(map(str, files))


def test_run_is_what_it_does_by_default_and_a_broken_file_is_skipped(model, street, call):
    done = call(street, "--model", model)
    assert done.code == 0
    assert "confidence" in done.out
    assert "2 found in 1 frame or image" in done.err
    (street.parent / "broken.jpg").write_bytes(b"\xff\xd8 no more")
    done = call("run", street.parent, "--csv", "--model", model)
    assert (done.code, len(rows_of(done.out))) == (3, 2)
    assert "broken.jpg" in done.err
    assert call("run", street.parent, "--strict", "--model", model).code == 1


def test_a_video_becomes_an_annotated_video_and_one_that_ends_early_is_said_so(
    model, tmp_path, call
):
    walk, out = write_video(tmp_path / "walk.avi", 8), tmp_path / "found.avi"
    given = "-o", out, "--every", "2", "--frames", "3", "--json", "--model", model
    done = call("run", walk, *given)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [(one["frame"], one["time"]) for one in found] == [(0, 0.0), (2, 0.2), (4, 0.4)]
    assert {(one["width"], one["height"]) for one in found} == {(260, 200)}
    assert any(one["boxes"] for one in found)
    assert int(cv2.VideoCapture(str(out)).get(cv2.CAP_PROP_FRAME_COUNT)) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    (tmp_path / "cut.avi").write_bytes(walk.read_bytes()[: walk.stat().st_size // 2])
    done = call("run", tmp_path / "cut.avi", "-o", tmp_path / "f", "--model", model)
    assert done.code == 3
    assert "ended early, after" in done.err
    assert len(list((tmp_path / "f").iterdir())) >= 2


def test_coco_and_yolo_files_are_written_with_images_without_detections(
    model, street, tmp_path, call
):
    nothing = write(tmp_path / "nothing.png", np.full((80, 90, 3), 99, np.uint8))
    coco, yolo = tmp_path / "found.json", tmp_path / "yolo"
    given = "--coco", coco, "--yolo", yolo, "--model", model, "--csv"
    rows = rows_of(call("run", street, nothing, *given).out)
    assert [(row["source"], row["width"], row["label"]) for row in rows] == [
        *[(str(street), "260", "person")] * 2,
        (str(nothing), "90", ""),
    ]
    from_coco, from_yolo = read_annotations(coco).images, read_annotations(yolo, tmp_path).images
    sizes = [(image.name, len(image), image.size_wh) for image in from_coco]
    assert sizes == [(str(street), 2, (260, 200)), (str(nothing), 0, (90, 80))]
    assert [(image.name, len(image)) for image in from_yolo] == [
        ("nothing.png", 0),
        ("street.png", 2),
    ]
    np.testing.assert_array_equal(from_coco[0].boxes_xyxy, from_yolo[1].boxes_xyxy)
    assert from_coco[0].labels == from_yolo[1].labels == ("person", "person")
    other = write(tmp_path / "other" / "street.png", read_image(street))
    done = call("run", street, other, "--yolo", yolo)
    assert done.code == 1
    assert "would have the same label file" in done.err


def test_people_keep_their_numbers_from_frame_to_frame(model, tmp_path, call):
    walk, coco = write_video(tmp_path / "walk.avi", 8, step=0), tmp_path / "found.json"
    done = call("run", walk, "--track", "--coco", coco, "--model", model, "--json")
    frames = [json.loads(line)["boxes"] for line in done.out.splitlines()]
    numbers = [{box["track"] for box in boxes} for boxes in frames]
    assert numbers[0] == {None}  # not yet confirmed
    assert numbers[3:] == [{1, 2}] * 5
    left = [{box["track"] for box in boxes if box["x0"] < 100} for boxes in frames[3:]]
    assert len({*map(frozenset, left)}) == 1  # the same number on the left in all frames
    found = json.loads(coco.read_text())
    fourth = found["images"][3]
    assert (fourth["file_name"], fourth["frame"], fourth["time"]) == ("walk-000003.png", 3, 0.3)
    own = [box for box in found["annotations"] if box["image_id"] == fourth["id"]]
    assert {box["track_id"] for box in own} == {1, 2}
    rows = rows_of(call("run", walk, "--track", "--frames", "4", "--csv", "--model", model).out)
    assert {row["track"] for row in rows if row["frame"] == "3"} == {"1", "2"}


@pytest.mark.slow
def test_training_evaluating_and_reporting(tmp_path, model, street, call):
    rng, made = np.random.default_rng(1), tmp_path / "made.vw"
    for k in range(12):
        write(tmp_path / "crops" / f"{k:02}.png", crop(rng))
        if k < 4:
            write(tmp_path / "photos" / f"{k}.png", scene(rng, height=120, width=120))
    flags = "--window 48x96 --object-share 0.5x0.75 --rounds 1 --tree-depth 3 --label figure -q"
    done = call("train", tmp_path / "crops", tmp_path / "photos", "-o", made, *flags.split())
    assert done.code == 0
    parameters = visualwords.load(made).get_params()
    assert (parameters["label"], parameters["tree_depth"]) == ("figure", 3)
    assert "12 crops and their mirror images, 4 photographs" in done.err
    assert "held out, from confidence 0.5: 12 of 12 objects found, " in done.err
    assert made.stat().st_size < 3_000_000

    scenes, table = tmp_path / "scenes", tmp_path / "boxes.csv"
    scenes.mkdir()
    street.rename(scenes / "street.png")
    lines = [f"street.png,{','.join(map(str, box))}" for box in BOXES]
    table.write_text(HEADER + "\n".join(lines))
    report, curves = tmp_path / "report.html", tmp_path / "curves.png"
    command = "evaluate", scenes, "--annotations", table, "--model", model, "--json"
    figures = json.loads(call(*command, "--report", report, "--curves", curves).out)
    assert (figures["objects"], figures["average_precision"]) == (2, 1.0)
    assert "average precision" in report.read_text(encoding="utf-8")
    assert read_image(curves).shape[1] > 500
    wide = [f"street.png,{x0 - 40},{y0},{x1 + 40},{y1}" for x0, y0, x1, y1 in BOXES]
    table.write_text(HEADER + "\n".join(wide))
    for flags, precision in ((), 0.0), (("--aspect", "0.41"), 1.0):
        assert json.loads(call(*command, *flags).out)["average_precision"] == precision


def test_training_and_evaluating_on_photographs_with_boxes(tmp_path, call):
    images = []
    for k in range(6):
        boxes = [[30 + k, 60, 54 + k, 132], [150, 30, 187, 141]][: 1 + k % 2]
        write(tmp_path / "photos" / f"{k}.png", scene(np.random.default_rng(k), boxes))
        images.append(BoxedImage(f"{k}.png", np.array(boxes), ("figure",) * len(boxes), (260, 200)))
    images.append(BoxedImage("absent.png", np.array([[1, 1, 9, 9]]), ("figure",)))
    write_coco(tmp_path / "boxes.json", images)
    given = tmp_path / "photos", "--annotations", tmp_path / "boxes.json", "--quiet"
    made = tmp_path / "made.vw"
    done = call("train", *given, "-o", made, "--rounds", "1")
    assert done.code == 3
    assert "9 objects and their mirror images in 6 photographs" in done.err
    assert "held out, from confidence 0.5: 9 of 9 objects found" in done.err
    assert "absent.png: annotated, but missing" in done.err
    assert visualwords.load(made).label == "figure"
    done = call("evaluate", *given, "--model", made, "--json")
    figures = json.loads(done.out)
    assert (done.code, figures["objects"], figures["images"]) == (3, 9, 6)
    assert figures["average_precision"] > 0.9
    done = call("evaluate", *given, "--model", made, "--label", "dog")
    assert done.code == 1
    assert "no box is labelled 'dog', but 'figure' (10)" in done.err


TABLES = {  # what is in a table of boxes → what is said about it
    "a,b\n1,2": "no column file",
    f"{HEADER}street.png,1,2,x,4": "xmax: 'x' where a number belongs",
    f"{HEADER}street.png,9,2,3,4": "is not a box",
    f"{HEADER}other.png,1,2,3,4": "name none of the images",
}
FAULTS = {  # a command → its exit code, and what it says
    "run street.png --threshold 0.9999": (
        0,
        "nothing found; --threshold below 0.9999 or a smaller",
    ),
    "run absent.jpg": (1, "no such file"),
    "run 97": (1, "camera 97: not found"),
    "run text.mp4": (1, "not a readable video"),
    "run street.png --model text.mp4": (4, "text.mp4"),
    "run street.png --csv --json": (2, "exclude each other"),
    "run street.png --track": (2, "--track follows videos"),
    "run": (2, "SOURCE"),
    "train a b -o m.vw --window 64": (2, "'64' must be written like 64x128"),
    "train a b -o m.vw --window 60x128": (2, "multiples of 8"),
    "train a -o m.vw": (2, "give NEGATIVES"),
    "evaluate a": (2, "--annotations is missing"),
    "trian crops": (2, "no verb or file 'trian'; did you mean train"),
    "xyz crops": (2, "no verb or file 'xyz'; choose from run, train"),
    **{f"evaluate . --annotations {k}.csv": (1, said) for k, said in enumerate(TABLES.values())},
}


@pytest.mark.parametrize("command", FAULTS)
def test_what_cannot_be_done_is_one_sentence(model, street, monkeypatch, call, command):
    monkeypatch.chdir(street.parent)
    (street.parent / "text.mp4").write_text("no video")
    for k, table in enumerate(TABLES):
        (street.parent / f"{k}.csv").write_text(table)
    words = command.split()
    is_small = words[0] in ("run", "evaluate") and "--model" not in words
    done = call(*words, *(["--model", model] if is_small else []))
    code, sentence = FAULTS[command]
    assert done.code == code
    assert sentence in done.err.replace("│ ", "")


def test_the_demo_finds_someone_with_the_bundled_model_which_info_describes(tmp_path, call):
    done = call("demo", "-o", tmp_path / "demo")
    assert done.code == 0
    assert "confidence" in done.out
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {"street.png", "detections.png"}
    assert json.loads(call("info", "pedestrian", "--json").out)["kind"] == "object-detector"
    assert "object-detector" in call("info").out
