"""Files as other programs write them."""

import json
import os

import numpy as np
import pytest
from PIL import Image

from visualwords.apps.annotations.boxed_image import Annotations, BoxedImage
from visualwords.apps.annotations.reading import chosen_label, find_photographs, read_annotations
from visualwords.apps.annotations.yolo import YoloFolder, names_in_yaml
from visualwords.errors import FolderError

VOC = """<annotation>
  <folder>photos</folder><filename>a.jpg</filename><path>C:\\photos\\a.jpg</path>
  <size><width>640</width><height>480</height><depth>3</depth></size>
  <object><name>dog</name><pose>Left</pose><truncated>1</truncated><difficult>0</difficult>
    <bndbox><xmin>1</xmin><ymin>11</ymin><xmax>640</xmax><ymax>200</ymax></bndbox>
    <part><name>head</name><bndbox><xmin>3</xmin><ymin>3</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>
    </part></object>
  <object><name>cat</name><difficult>1</difficult>
    <bndbox><xmin>5.5</xmin><ymin>5</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>
</annotation>"""


def test_vocs_pixels_count_from_one_and_difficult_objects_are_marked(tmp_path):
    (tmp_path / "a.xml").write_text(VOC)
    (image,) = read_annotations(tmp_path / "a.xml").images
    assert image.name == "a.jpg"
    assert image.boxes_xyxy.tolist() == [[0, 10, 640, 200], [4.5, 4, 9, 9]]
    assert image.labels == ("dog", "cat")
    assert image.ignored.tolist() == [False, True]


@pytest.fixture
def yolo(tmp_path):
    """The layout of Ultralytics and Roboflow."""
    for split in ("train", "valid"):
        for part in ("images", "labels"):
            (tmp_path / split / part).mkdir(parents=True)
        Image.new("RGB", (200, 100)).save(tmp_path / split / "images" / f"{split}.jpg")
    (tmp_path / "train" / "labels" / "train.txt").write_text("1 0.5 0.5 0.25 0.5\n")
    (tmp_path / "data.yaml").write_text("train: ../train/images\nnc: 2\nnames: ['cup', 'mug']\n")
    (tmp_path / "README.dataset.txt").write_text("words")
    return tmp_path


def test_yolos_folders_are_read_from_the_folder_or_its_yaml_or_a_part_alone(yolo):
    for path in (yolo, yolo / "data.yaml"):
        found = read_annotations(path)
        assert [(image.name, image.labels) for image in found.images] == [
            ("train/images/train.jpg", ("mug",)),
            ("valid/images/valid.jpg", ()),
        ]
        assert found.images[0].boxes_xyxy.tolist() == [[75, 25, 125, 75]]
    (yolo / "valid" / "labels" / "train.txt").write_text("0 0.5 0.5 0.1 0.1\n")  # the same name
    found = read_annotations(yolo / "data.yaml", yolo / "train" / "images")
    assert [(image.name, image.labels) for image in found.images] == [("train.jpg", ("mug",))]
    assert found.skipped == []
    (image,) = find_photographs(found, yolo / "train").images
    assert image.name == str(yolo / "train" / "images" / "train.jpg")


def test_label_files_of_yolo_may_stand_beside_images_on_their_side_and_hold_polygons(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (100, 200)).save(tmp_path / "a.jpg", exif=exif)
    (tmp_path / "a.txt").write_text("0 0.1 0.2 0.5 0.3 0.2 0.9\n\n")
    (tmp_path / "lonely.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    found = read_annotations(tmp_path)
    (image,) = found.images
    assert (image.size_wh, image.boxes_xyxy.tolist()) == ((200, 100), [[20, 20, 100, 90]])
    assert image.labels == ("0",)
    lonely = str(tmp_path / "lonely.txt")
    assert found.skipped == [(lonely, "the image of this label file is missing")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("names: [a, b]", ["a", "b"]),
        ("names: [\"a, b\", 'it''s', c]", ["a, b", "it's", "c"]),
        ("names: [a,\n  b,\n  ]\nnc: 2", ["a", "b"]),
        ("names:\n- a\n- b\nnc: 2", ["a", "b"]),
        ("names:\n  - 'a b'\n  # comment\n  - b # c\n", ["a b", "b"]),
        ("names:\n  1: b\n  0: a\nroot: x", ["a", "b"]),
        ("names: {0: a, 1: b}", ["a", "b"]),
    ],
)
def test_names_of_classes_are_found_in_the_yaml_that_data_sets_have(text, names, tmp_path):
    assert names_in_yaml(text, "data.yaml") == names
    YoloFolder(tmp_path, names).close()
    written = (tmp_path / "data.yaml").read_text(encoding="utf-8")
    assert names_in_yaml(written, "data.yaml") == names


@pytest.mark.parametrize(
    "header",
    [
        "file,xmin,ymin,xmax,ymax,label",
        "source,x0,y0,x1,y1,label",
        "Image;X1;Y1;X2;Y2;Class",
        "filename\tleft\ttop\tright\tbottom\tcategory",
    ],
)
def test_tables_with_the_column_names_that_people_use_are_read(header, tmp_path):
    mark = next(mark for mark in ",;\t" if mark in header)
    rows = [header, mark.join(["a.jpg", "1", "2", "3", "4", "cup"])]
    rows.append(mark.join(["b.jpg", "", "", "", "", ""]))
    (tmp_path / "boxes.csv").write_text("\n".join(rows), encoding="utf-8-sig")
    a, b = read_annotations(tmp_path / "boxes.csv").images
    assert (a.boxes_xyxy.tolist(), a.labels, len(b)) == ([[1, 2, 3, 4]], ("cup",), 0)


def test_boxes_without_area_or_outside_are_left_out_and_others_cut_to_the_image(tmp_path):
    images = [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 50}]
    boxes = [[0, 0, 0, 5], [-5, 40, 20, 20], [200, 0, 5, 5]]
    document = {
        "images": images,
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [
            {"id": k, "image_id": 1, "category_id": 1, "bbox": box} for k, box in enumerate(boxes)
        ],
    }
    (tmp_path / "a.json").write_text(json.dumps(document))
    found = read_annotations(tmp_path / "a.json")
    assert found.images[0].boxes_xyxy.tolist() == [[0, 40, 15, 50]]
    assert [reason for _, reason in found.skipped] == [
        "a box without area",
        "a box outside its image of 100x50",
    ]


def test_images_are_found_by_path_by_file_name_and_by_name(tmp_path):
    for name in ("x/a.jpg", "y/a.jpg", "y/b.png", "c.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (9, 9)).save(tmp_path / name)
    named = [BoxedImage(name) for name in ("y/a.jpg", "somewhere/b.png", "c", "absent.jpg")]
    found = find_photographs(Annotations(named), tmp_path)
    places = [os.path.relpath(image.name, tmp_path) for image in found.images]
    assert places == [os.path.join("y", "a.jpg"), os.path.join("y", "b.png"), "c.jpg"]
    assert found.missing == [("absent.jpg", "annotated, but missing")]
    assert [os.path.relpath(path, tmp_path) for path in found.others] == [
        os.path.join("x", "a.jpg")
    ]
    with pytest.raises(FolderError, match=r"a\.jpg: 2 files have this name"):
        find_photographs(Annotations([BoxedImage("a.jpg")]), tmp_path)
    with pytest.raises(FolderError, match="name none of the images"):
        find_photographs(Annotations([BoxedImage("z.jpg")]), tmp_path)
    with pytest.raises(FolderError, match="two annotated images are found in this one file"):
        find_photographs(Annotations([BoxedImage("c.jpg"), BoxedImage("z/c.jpg")]), tmp_path)


def test_the_label_is_the_given_the_usual_or_the_only_one():
    one = Annotations([BoxedImage("a", np.ones((2, 4)), ("cup", "cup"))])
    two = Annotations([BoxedImage("a", np.ones((3, 4)), ("cup", "mug", "mug"))])
    assert chosen_label(one, None, "person") == "cup"
    assert chosen_label(two, None, "mug") == "mug"
    assert chosen_label(two, "cup", "mug") == "cup"
    with pytest.raises(FolderError, match=r"'mug' \(2\), 'cup' \(1\); choose one with --label"):
        chosen_label(two, None, "person")
    with pytest.raises(FolderError, match=r"no box is labelled 'pan', but 'cup' \(2\)"):
        chosen_label(one, "pan")
    with pytest.raises(FolderError, match="no box in any"):
        chosen_label(Annotations([BoxedImage("a")]), None)


@pytest.mark.parametrize("name", ["boxes.doc", "missing.csv", "missing"])
def test_other_files_are_refused_with_the_formats_or_the_reason(name, tmp_path):
    (tmp_path / "boxes.doc").write_text("words")
    with pytest.raises(FolderError, match=r"not a known kind|no such file"):
        read_annotations(tmp_path / name)
    with pytest.raises(FolderError, match="no annotations in this folder"):
        read_annotations(tmp_path)
