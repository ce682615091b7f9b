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
    ids=[
        *["csv", "Windows", "byte-order mark", "other columns", "semicolons", "tabs"],
        *[
            "other names and spaces",
            "repeated columns that are not used",
            "jsonl",
            "jsonl with mark",
        ],
    ],
)
def test_a_table_lists_paths_beside_it(name, text, table, tmp_path):
    folder = table(text, name)
    assert folder.paths == [str(tmp_path / "a.jpg"), str(tmp_path / "b.jpg")]
    assert folder.labels == ["cat", "dog"]
    assert folder.classes == ["cat", "dog"]


def test_a_table_may_give_splits_and_groups(table):
    folder = table("path,label,split,group\na,cat,train,1\nb,cat,test,\nc,cat,,2\n")
    assert folder.splits == ["train", "test", None]
    assert folder.groups == ["1", None, "2"]


def test_numbers_are_labels_and_groups_too_even_zero(table):
    folder = table('{"path": "a", "label": 0, "group": 0}\n{"path": "b", "label": 1}', "t.jsonl")
    assert folder.labels == ["0", "1"]
    assert folder.groups == ["0", None]


def test_absolute_paths_and_odd_names_are_kept(table, tmp_path):
    folder = table(b'path,label\n/abs/a.jpg,x\n"with, comma\nand line.jpg",x\nlatin\xe9.jpg,x\n')
    assert folder.paths == sorted(
        [
            "/abs/a.jpg",
            str(tmp_path / "with, comma\nand line.jpg"),
            os.fsdecode(os.fsencode(tmp_path) + b"/latin\xe9.jpg"),
        ],
        key=os.fsencode,
    )


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("t.csv", "", "no column path and label"),
        ("t.csv", "picture,label\na,b\n", "no column path;"),
        ("t.csv", "path|label\na|b\n", "no column path and label"),
        ("t.csv", "path,label\n", "no rows"),
        ("t.csv", "path,label\na,cat\nb,\n", "line 3 needs a path and a label"),
        ("t.csv", "path,label\na,cat\nb,  \n", "line 3 needs a path and a label"),
        ("t.csv", "path,label,label\na,cat,dog\n", "two columns are called 'label'; keep one"),
        ("t.csv", "path,label,split,Split\na,b,val,test\n", "two columns are called 'Split'"),
        ("t.csv", "path,label\n\n\nb\n", "line 4 needs"),
        (
            "t.csv",
            "path,label,split\na,cat,holdout\n",
            "split 'holdout'; it must be one of train",
        ),
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


def test_a_hugging_face_folder_takes_labels_from_its_metadata(tree):
    csv = b"file_name,label\n1.jpg,cat\nmore/2.jpg,dog\n"
    folder = ImageFolder(tree({"1.jpg": b"", "more/2.jpg": b"", "metadata.csv": csv}))
    assert folder.labels == ["cat", "dog"]
    assert [os.path.basename(path) for path in folder.paths] == ["1.jpg", "2.jpg"]


def test_a_hugging_face_folder_may_have_metadata_in_each_split(tree):
    row = '{{"file_name": "{}.jpg", "label": "{}"}}\n'
    train = (row.format(1, "cat") + row.format(2, "dog")).encode()
    test = (row.format(3, "cat") + row.format(4, "dog")).encode()
    files = {f"{s}/{n}.jpg": b"" for s, n in zip(["train"] * 2 + ["test"] * 2, range(1, 5))}
    root = tree({**files, "train/metadata.jsonl": train, "test/metadata.jsonl": test})
    folder = ImageFolder(root)
    assert folder.splits == ["train", "train", "test", "test"]
    assert folder.labels == ["cat", "dog", "cat", "dog"]
    assert all(os.path.exists(path) for path in folder.paths)


def test_a_flat_folder_takes_labels_from_a_table_in_it_or_beside_it(tree, tmp_path):
    csv = b"name,label\n1.jpg,cat\n2.jpg,dog\n"
    inside = tree({"1.jpg": b"", "2.jpg": b"", "labels.csv": csv})
    assert ImageFolder(inside).labels == ["cat", "dog"]
    beside = tmp_path / "beside"
    beside.mkdir()
    for name in "1.jpg", "2.jpg":
        (beside / name).write_bytes(b"")
    (tmp_path / "beside.csv").write_bytes(csv)
    folder = ImageFolder(beside)
    assert folder.labels == ["cat", "dog"]
    assert all(os.path.exists(path) for path in folder.paths)


def test_a_table_may_lie_beside_the_folder_of_its_images(tree):
    csv = b"image,label\n1.jpg,cat\n2.jpg,dog\n"
    folder = ImageFolder(tree({"images/1.jpg": b"", "images/2.jpg": b"", "labels.csv": csv}))
    assert folder.labels == ["cat", "dog"]
    assert all(os.path.exists(path) for path in folder.paths)


def test_two_tables_in_a_flat_folder_are_refused(tree):
    csv = b"path,label\n1.jpg,cat\n"
    with pytest.raises(FolderError, match=r"a\.csv and b\.csv both list images"):
        _ = ImageFolder(tree({"1.jpg": b"", "a.csv": csv, "b.csv": csv})).paths


def test_fastai_s_column_of_validation_rows_is_a_split(table):
    folder = table("name,label,is_valid\na.jpg,cat,False\nb.jpg,cat,True\n")
    assert folder.splits == ["train", "val"]


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


def test_a_table_of_bare_names_finds_the_folder_beside_it(tree, monkeypatch):
    root = tree(["flat/a.png", "flat/b.png"])
    (root / "flat.csv").write_text("image,target\na.png,cat\nb.png,dog\n", encoding="utf-8")
    monkeypatch.chdir(root)
    folder = ImageFolder("flat.csv")
    assert [os.path.normpath(path) for path in folder.paths] == ["flat/a.png", "flat/b.png"]
