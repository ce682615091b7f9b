"""Tables of labelled images: CSV and JSONL."""

import os

import pytest

from visualwords.errors import FolderError
from visualwords.folders import ImageFolder


@pytest.fixture
def table(tmp_path):
    """Give ``table(text, name)`` → an ImageFolder of a table with that text."""

    def table(text, name="photos.csv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return ImageFolder(tmp_path / name)

    return table


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("photos.csv", "path,label\nb.jpg,dog\na.jpg,cat\n"),
        ("PHOTOS.CSV", "path,label\r\nb.jpg,dog\r\n\r\na.jpg,cat\r\n"),
        ("photos.csv", "\ufeffpath,label\nb.jpg,dog\na.jpg,cat\n"),
        ("photos.csv", "note,label,path\n1,dog,b.jpg\n2,cat,a.jpg"),
        ("photos.csv", "path;label\nb.jpg;dog\na.jpg;cat\n"),
        ("photos.tsv", "filename\tclass\nb.jpg\tdog\na.jpg\tcat\n"),
        ("photos.csv", "Image, Target\nb.jpg, dog \na.jpg,\u00a0cat\n"),
        ("photos.csv", "path,label,note,note\nb.jpg,dog,1,2\na.jpg,cat,3,4\n"),
        ("photos.jsonl", '{"path": "b.jpg", "label": "dog"}\n\n{"path": "a.jpg", "label": "cat"}'),
        ("photos.jsonl", '\ufeff{"path":"b.jpg","label":"dog"}\n{"path":"a.jpg","label":"cat"}\n'),
    ],
)
def test_a_table_lists_paths_beside_it(name, text, table, tmp_path):
    folder = table(text, name)
    assert folder.paths == [str(tmp_path / "a.jpg"), str(tmp_path / "b.jpg")]
    assert folder.labels == folder.classes == ["cat", "dog"]


def test_a_table_may_give_splits_and_groups_and_labels_may_be_numbers(table):
    folder = table("path,label,split,group\na,cat,train,1\nb,cat,test,\nc,cat,,2\n")
    assert folder.splits == ["train", "test", None]
    assert folder.groups == ["1", None, "2"]
    folder = table('{"path": "a", "label": 0, "group": 0}\n{"path": "b", "label": 1}', "t.jsonl")
    assert folder.labels == ["0", "1"]
    assert folder.groups == ["0", None]
    folder = table("name,label,is_valid\na.jpg,cat,False\nb.jpg,cat,True\n")  # as fastai has it
    assert folder.splits == ["train", "val"]


def test_absolute_paths_and_odd_names_are_kept(table, tmp_path):
    folder = table(b'path,label\n/abs/a.jpg,x\n"with, comma\nand line.jpg",x\nlatin\xe9.jpg,x\n')
    here = os.fsencode(tmp_path)
    paths = [b"/abs/a.jpg", here + b"/with, comma\nand line.jpg", here + b"/latin\xe9.jpg"]
    assert [os.fsencode(path) for path in folder.paths] == sorted(paths)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("t.csv", "", "no column path and label"),
        ("t.csv", "picture,label\na,b\n", "no column path;"),
        ("t.csv", "path|label\na|b\n", "no column path and label"),
        ("t.csv", "path,label\n", "no rows"),
        ("t.csv", "path,label\na,cat\nb,\n", "line 3 needs a path and a label"),
        ("t.csv", "path,label,label\na,cat,dog\n", "two columns are called 'label'; keep one"),
        ("t.csv", "path,label,split,Split\na,b,val,test\n", "two columns are called 'Split'"),
        ("t.csv", "path,label\n\n\nb\n", "line 4 needs"),
        ("t.csv", "path,label,split\na,cat,holdout\n", "split 'holdout'; it must be one of"),
        ("t.csv", "path,label\n" + "x" * 200_000 + ",cat\n", "not CSV"),
        ("t.jsonl", "", "no rows"),
        ("t.jsonl", '{"path": "a", "label": "b"}\n{"path"', "line 2 is not JSON"),
        ("t.jsonl", '["a", "b"]', "line 1 needs"),
        ("t.jsonl", '{"path": "a", "label": null}', "line 1 needs"),
        ("t.jsonl", '{"path": "a", "label": ["b"]}', "line 1 needs"),
        ("t.jsonl", '{"path": "\\ud800", "label": "b"}', "can't be the name of a file"),
        ("t.jsonl", '{"path": "a\\u0000b", "label": "b"}', "can't be the name of a file"),
        ("t.jsonl", '{"path": "a", "label": "\\ud800"}', "the label '.ud800' or the group is not"),
        ("t.jsonl", '{"path": "a", "label": "' + "x" * 1001 + '"}', "a label of 1,001 characters"),
        ("t.jsonl", "[" * 100_000, "line 1 is not JSON"),
    ],
)
def test_a_bad_table_says_which_line_and_why(name, text, reason, table):
    with pytest.raises(FolderError, match=reason) as caught:
        _ = table(text, name).paths
    assert name in str(caught.value)


@pytest.mark.posix
def test_a_pipe_is_no_table(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FolderError, match="not a regular file"):
        _ = ImageFolder(tmp_path / "pipe.csv").paths


CSV = b"image,label\n1.jpg,cat\n2.jpg,dog\n"
JSONL = b'{"file_name": "1.jpg", "label": "cat"}\n{"file_name": "2.jpg", "label": "dog"}'
PLACES = {  # where images and the table are, and what is opened
    "Hugging Face": ("photos", "photos/metadata.csv", "photos"),
    "splits": ("photos/train", "photos/train/metadata.jsonl", "photos"),
    "inside": ("photos", "photos/labels.csv", "photos"),
    "beside": ("photos", "photos.csv", "photos"),
    "images below": ("photos/images", "photos/labels.csv", "photos"),
    "the table itself": ("photos", "photos.csv", "photos.csv"),
}


@pytest.mark.parametrize("layout", PLACES)
def test_a_table_may_lie_in_or_beside_the_folder_of_its_images(layout, tree):
    images, table, opened = PLACES[layout]
    content = JSONL if table.endswith("jsonl") else CSV
    root = tree({f"{images}/1.jpg": b"", f"{images}/2.jpg": b"", table: content})
    folder = ImageFolder(root / opened)
    assert folder.labels == ["cat", "dog"]
    assert folder.splits == ["train" if layout == "splits" else None] * 2
    assert folder.paths == [str(root / images / name) for name in ("1.jpg", "2.jpg")]


def test_two_tables_in_a_flat_folder_are_refused(tree):
    with pytest.raises(FolderError, match=r"a\.csv and b\.csv both list images"):
        _ = ImageFolder(tree({"1.jpg": b"", "a.csv": CSV, "b.csv": CSV})).paths


def test_roboflow_s_columns_of_classes_are_labels(tree):
    csv = b"filename, cat, dog\n1.jpg, 1, 0\n2.jpg, 0, 1\n"
    root = tree({"train/1.jpg": b"", "train/2.jpg": b"", "train/_classes.csv": csv})
    folder = ImageFolder(root)
    assert (folder.labels, folder.splits) == (["cat", "dog"], ["train", "train"])
    (root / "train" / "_classes.csv").write_bytes(b"filename,cat,dog\n1.jpg,1,1\n")
    with pytest.raises(FolderError, match="line 2 marks 2 classes"):
        _ = ImageFolder(root).paths
    (root / "train" / "_classes.csv").write_bytes(b"filename,cat,cat\n1.jpg,1,0\n")
    with pytest.raises(FolderError, match="2 columns are called 'cat'"):
        _ = ImageFolder(root).paths
