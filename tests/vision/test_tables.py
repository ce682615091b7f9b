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
        ("photos.jsonl", '{"path": "b.jpg", "label": "dog"}\n\n{"path": "a.jpg", "label": "cat"}'),
        ("photos.jsonl", '\ufeff{"path":"b.jpg","label":"dog"}\n{"path":"a.jpg","label":"cat"}\n'),
    ],
    ids=["csv", "Windows", "byte-order mark", "other columns", "jsonl", "jsonl with mark"],
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


def test_the_order_of_the_rows_does_not_matter(table):
    rows = [f"{i:02}.jpg,{'ab'[i % 2]}" for i in range(20)]
    one = table("\n".join(["path,label", *rows])).split(seed=5)
    two = table("\n".join(["path,label", *reversed(rows)])).split(seed=5)
    assert [part.paths for part in one] == [part.paths for part in two]


def test_groups_of_a_table_are_never_divided(table):
    rows = [f"{i:02}.jpg,{'ab'[i % 2]},{i // 4}" for i in range(40)]
    for seed in range(5):
        train, test = table("\n".join(["path,label,group", *rows])).split(0.3, seed)
        assert not set(train.groups) & set(test.groups)
        assert len(test) == 12


def test_a_class_in_a_single_group_can_not_be_split(table):
    folder = table("path,label,group\n1,a,x\n2,a,x\n3,b,y\n4,b,z\n")
    with pytest.raises(FolderError, match=r"photos\.csv: .* class 'a'"):
        folder.split()


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("t.csv", "", "no column path and label"),
        ("t.csv", "file,label\na,b\n", "no column path;"),
        ("t.csv", "path;label\na;b\n", "no column path and label"),
        ("t.csv", "path,label\n", "no rows"),
        ("t.csv", "path,label\na,cat\nb,\n", "line 3 needs a path and a label"),
        ("t.csv", "path,label\n\n\nb\n", "line 4 needs"),
        (
            "t.csv",
            "path,label,split\na,cat,training\n",
            "split 'training'; it must be one of train",
        ),
        ("t.csv", "path,label\n" + "x" * 200_000 + ",cat\n", "not CSV"),
        ("t.jsonl", "", "no rows"),
        ("t.jsonl", '{"path": "a", "label": "b"}\n{"path"', "line 2 is not JSON"),
        ("t.jsonl", '["a", "b"]', "line 1 needs"),
        ("t.jsonl", '{"path": "a", "label": null}', "line 1 needs"),
        ("t.jsonl", '{"path": "a", "label": ["b"]}', "line 1 needs"),
        ("t.jsonl", '{"path": "\\ud800", "label": "b"}', "can't be the name of a file"),
        ("t.jsonl", '{"path": "a\\u0000b", "label": "b"}', "can't be the name of a file"),
        ("t.jsonl", "[" * 100_000, "line 1 is not JSON"),
    ],
)
def test_a_bad_table_says_which_line_and_why(name, text, reason, table):
    with pytest.raises(FolderError, match=reason) as caught:
        _ = table(text, name).paths
    assert name in str(caught.value)


def test_a_pipe_is_no_table(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FolderError, match="not a regular file"):
        _ = ImageFolder(tmp_path / "pipe.csv").paths
