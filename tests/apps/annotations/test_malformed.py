"""Malformed annotations: each gets one sentence that names the file."""

import json
import os

import pytest
from PIL import Image

from visualwords.apps.annotations.reading import read_annotations
from visualwords.apps.annotations.yolo import names_in_yaml
from visualwords.errors import FolderError

NAN = "not-a-number"  # replaced by NaN in the text


def coco(*, image=None, box=None, category=None, **top):
    """A small COCO file as text, with changes."""
    images = [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 50} | (image or {})]
    boxes = [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]} | (box or {})]
    document = {"images": images, "annotations": boxes}
    document |= {"categories": [{"id": 1, "name": "cup"} | (category or {})]}
    return json.dumps(document | top).replace(f'"{NAN}"', "NaN")


def voc(corners="<xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>", size="", name="cup"):
    item = f"<object><name>{name}</name><bndbox>{corners}</bndbox></object>"
    return f"<annotation><filename>a.jpg</filename>{size}{item}</annotation>"


def corners(*values):
    tags = zip(("xmin", "ymin", "xmax", "ymax"), values)
    return voc("".join(f"<{tag}>{value}</{tag}>" for tag, value in tags))


def size(width, height):
    return voc(size=f"<size><width>{width}</width><height>{height}</height></size>")


HEADER = "file,xmin,ymin,xmax,ymax,label,width,height,ignored\n"


def row(file="a.jpg", box="1,2,3,4", label="cup", image="100,50", ignored=""):
    return HEADER + ",".join([file, box, label, image, ignored]) + "\n"


IMAGE, CUP = {"id": 1, "file_name": "a.jpg"}, {"id": 1, "name": "cup"}
BOX = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}

COCO = {
    "no JSON": "{",
    "two documents": coco() + coco(),
    "not an object": "[1, 2]",
    "results without images": json.dumps([BOX]),
    "deep": "[" * 100_000,
    "a long number": '{"images": ' + "9" * 5000 + "}",
    "infinite": coco(box={"bbox": [1, 2, 1e999, 4]}).replace("Infinity", "1e999"),
    "no such image": coco(box={"image_id": 9}),
    "no such category": coco(box={"category_id": 9}),
    "zero in file name": coco(image={"file_name": "a\0b"}),
    "images an object": coco(images={"a": 1}),
    "categories a list of texts": coco(categories=["cup"]),
    "long label": coco(category={"name": "x" * 2000}),
    "image twice": coco(images=[IMAGE, IMAGE]),
    "file twice": coco(images=[IMAGE, IMAGE | {"id": 2}]),
    "box twice": coco(annotations=[BOX, BOX]),
    "category twice": coco(categories=[CUP, CUP]),
}
NO_BOXES = ([NAN, 2, 3, 4], [9, 2, -3, 4], [1, 2, 3], ["1", "2", "3", "4"], [True] * 4, {"x": 1}, 5)
WRONG = {  # member of an object → what it can't be, besides null
    ("box", "bbox"): NO_BOXES,
    ("box", "image_id"): ([1], 1.5, True),
    ("box", "category_id"): ({}, 1.5),
    ("box", "iscrowd"): ("yes", 0.5, []),
    ("image", "id"): (1.5, []),
    ("image", "file_name"): (3, ["a.jpg"], True),
    ("image", "width"): ("100", [100], True),
    ("category", "name"): (5, ["cup"]),
}
for (what, key), values in WRONG.items():
    for value in (*values, *([] if key in ("iscrowd", "width") else [None])):
        COCO[f"{key} {value}"] = coco(**{what: {key: value}})
LAUGHS = "".join(
    f'<!ENTITY l{k} "{f"&l{k - 1};" * 10 if k else "lol"}">' for k in range(10)
)  # 3 × 10⁹ characters when expanded
VOC = {
    "cut": voc()[:-5],
    "two roots": voc() + voc(),
    "another root": "<html></html>",
    "billion laughs": f"<!DOCTYPE a [{LAUGHS}]><annotation><filename>&l9;</filename></annotation>",
    "an outside entity": '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    "<annotation><filename>&e;</filename></annotation>",
    "an outside DTD": '<!DOCTYPE annotation SYSTEM "http://127.0.0.1/voc.dtd">' + voc(),
    "an unknown entity": "<annotation><filename>&e;</filename></annotation>",
    "deep": "<annotation>" * 100_000,
    "an unknown encoding": '<?xml version="1.0" encoding="klingon"?>' + voc(),
    "a wrong encoding": b'<?xml version="1.0" encoding="utf-16"?>' + voc().encode(),
    "a zero byte": voc().replace("a.jpg", "a\0.jpg"),
    "no name": voc(name=" "),
    "no corners": voc().replace("bndbox", "box"),
    "no xmax": voc("<xmin>1</xmin><ymin>1</ymin><ymax>9</ymax>"),
    "a size of text": size("wide", 9),
    "a size without height": voc(size="<size><width>9</width></size>"),
    "a long name": voc(name="x" * 2000),
    "a long file name": voc().replace("a.jpg", "x" * 5000),
}
CSV = {
    "no columns": "a,b\n1,2\n",
    "no file": "xmin,ymin,xmax,ymax\n1,2,3,4\n",
    "no ymax": "file,xmin,ymin,xmax\na.jpg,1,2,3\n",
    "same columns": "file,file,xmin,ymin,xmax,ymax\na,b,1,2,3,4\n",
    "few cells": HEADER + "a.jpg,1,2\n",
    "many cells": row().strip() + ",,,,\n",
    "no name": row(file=" "),
    "long name": row(file="x" * 5000),
    "half a box": row(box="1,2,,"),
    "size of text": row(image="wide,50"),
    "two sizes": row() + "a.jpg,1,2,3,4,cup,200,50,\n",
    "ignored a text": row(ignored="yes"),
    "long label": row(label="x" * 2000),
    "a huge cell": row(label="x" * 200_000),
    "no numbers after quotes": row(box='"1,2,3,4",,,'),
}
YOLO = {
    "words": "no boxes here",
    "a class only": "0",
    "two numbers": "0 0.5 0.5",
    "three numbers": "0 0.5 0.5 0.1",
    "seven numbers": "0 0.5 0.5 0.1 0.1 0.5 0.5 0.9",
    "commas": "0,0.5,0.5,0.1,0.1",
    "pixels": "0 50 50 10 10",
    "negative": "0 -0.5 0.5 0.1 0.1",
    "negative width": "0 0.5 0.5 -0.1 0.1",
    "beyond": "0 0.99 0.5 0.1 0.1",
    "a class of text": "cup 0.5 0.5 0.1 0.1",
    "a negative class": "-1 0.5 0.5 0.1 0.1",
    "half a class": "0.5 0.5 0.5 0.1 0.1",
    "no such class": "7 0.5 0.5 0.1 0.1",
    "a huge class": "9" * 5000 + " 0.5 0.5 0.1 0.1",
    "polygon in pixels": "0 10 10 20 20 30 10",
    "second line": "0 0.5 0.5 0.1 0.1\n0 0.5\n",
}
for text in ("nan", "inf", "1e400", "one", "٣", "1_0", "0x1"):  # what is no number in any format
    VOC[text], CSV[text] = corners(text, 1, 90, 9), row(box=f"{text},2,90,4")
    YOLO[text] = f"0 0.5 {text} 0.1 0.1"
for box in ((9, 1, 1, 9), (1, 9, 9, 1), (1, 1, 1e30, 9)):
    x, y, right, bottom = box
    COCO[str(box)] = coco(box={"bbox": [x, y, right - x, bottom - y]})
    VOC[str(box)], CSV[str(box)] = corners(*box), row(box=",".join(map(str, box)))
for side in (-5, 9.5, 10**9):
    COCO[str(side)] = coco(image={"width": side})
    VOC[str(side)], CSV[str(side)] = size(side, 9), row(image=f"{side},9")
for data in (b"", b"\xff\xfe", b"\x00\x01", b"\xff" + row().encode(), row().encode("utf-16")):
    for cases in (COCO, VOC, CSV, *([YOLO] if data else [])):  # an empty file has no boxes
        cases[str(data[:9])] = data

FORMATS = {"coco": (COCO, ".json"), "voc": (VOC, ".xml"), "csv": (CSV, ".csv")}
FILES = [
    pytest.param(content, ending, id=f"{name}: {what}")
    for name, (cases, ending) in FORMATS.items()
    for what, content in cases.items()
]


def as_bytes(content):
    return content if isinstance(content, bytes) else content.encode()


def sentence_of(read, *arguments):
    with pytest.raises(FolderError) as caught:
        read(*arguments)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 600
    return sentence


@pytest.mark.parametrize(("content", "ending"), FILES)
def test_a_malformed_file_gets_one_sentence_that_names_it(content, ending, tmp_path):
    path = tmp_path / f"boxes{ending}"
    path.write_bytes(as_bytes(content))
    assert str(path) in sentence_of(read_annotations, path)


@pytest.mark.parametrize("content", YOLO.values(), ids=YOLO)
def test_a_malformed_label_file_of_yolo_gets_one_sentence_that_names_it(content, tmp_path):
    Image.new("RGB", (100, 50)).save(tmp_path / "a.jpg")
    (tmp_path / "classes.txt").write_text("cup\nmug\n")
    (tmp_path / "a.txt").write_bytes(as_bytes(content))
    assert str(tmp_path / "a.txt") in sentence_of(read_annotations, tmp_path)


@pytest.mark.parametrize(
    "text",
    ["nc: 2", "names:", "names: cup", "names: [", "names: ['a, b]", "names:\n  1: a\n  3: b"],
)
def test_malformed_names_of_classes_get_one_sentence(text):
    assert "data.yaml" in sentence_of(names_in_yaml, text, "data.yaml")


@pytest.mark.parametrize(("name", "limit"), [("a.txt", 2**24), ("data.yaml", 2**20)])
def test_files_beyond_the_limit_are_not_read(name, limit, tmp_path):
    Image.new("RGB", (9, 9)).save(tmp_path / "a.jpg")
    (tmp_path / "a.txt").touch()
    (tmp_path / name).touch()
    os.truncate(tmp_path / name, limit + 1)  # takes no space on most file systems
    assert f"{name}: larger than the {limit:,} bytes" in sentence_of(read_annotations, tmp_path)


def test_deep_nesting_of_elements_that_are_not_read_does_no_harm(tmp_path):
    nested = "<annotation>" + "<a>" * 100_000 + "</a>" * 100_000 + "</annotation>"
    (tmp_path / "a.xml").write_text(nested)
    assert [len(image) for image in read_annotations(tmp_path / "a.xml").images] == [0]


def test_images_of_yolo_that_are_missing_or_broken_are_reported(tmp_path):
    (tmp_path / "a.txt").write_text("0 0.5 0.5 0.1 0.1")
    assert "no images" in sentence_of(read_annotations, tmp_path)
    (tmp_path / "b.jpg").write_bytes(b"no image")
    assert "no label file" in sentence_of(read_annotations, tmp_path)
