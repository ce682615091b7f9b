"""Equal files are found by content, and the harm they do is told."""

import os

import pytest

from visualwords.duplicates import describe_duplicates, find_duplicates
from visualwords.folders import ImageFolder


def positions(root, names):
    return find_duplicates([str(root / name) for name in names])


def test_equal_bytes_are_found_whatever_the_names(tree):
    root = tree({"a": b"one", "b": b"two", "c": b"one", "d": b"three", "e": b"two", "f": b"one"})
    assert positions(root, "abcdef") == [[0, 2, 5], [1, 4]]


def test_files_of_equal_size_and_other_bytes_are_no_duplicates(tree):
    assert positions(tree({"a": b"one", "b": b"two"}), "ab") == []


def test_only_files_of_equal_size_are_read(tree, monkeypatch):
    root = tree({"a": b"1", "b": b"22", "c": b"333"})
    monkeypatch.setattr("visualwords.duplicates.read_bytes", pytest.fail)
    assert positions(root, "abc") == []


@pytest.mark.posix
def test_files_that_can_not_be_read_are_left_to_the_reader(tree):
    root = tree({"a": b"one", "b": b"one"})
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    (root / "loop").symlink_to("loop")
    names = ["pipe", "a", "folder", "loop", "missing", "zero\0byte", "b", "pipe", "folder"]
    assert positions(root, names) == [[1, 6]]


def test_empty_files_are_no_pictures_and_no_duplicates(tree):
    assert positions(tree({"a": b"", "b": b""}), "ab") == []


def test_a_folder_without_duplicates_has_nothing_to_tell(tree):
    assert describe_duplicates(ImageFolder(tree(["cat/1.jpg", "dog/2.jpg"]))) == []


@pytest.mark.parametrize(
    ("files", "harm"),
    [
        (["cat/1.jpg", "cat/2.jpg"], "more than once in a class"),
        (["cat/1.jpg", "dog/1.jpg"], "in more than one class, so that a label is wrong"),
        (["train/cat/1.jpg", "test/cat/1.jpg"], "in more than one split"),
        (["train/cat/1.jpg", "test/dog/1.jpg"], "in more than one split"),
    ],
)
def test_each_kind_of_harm_has_its_sentence(files, harm, tree):
    root = tree(dict.fromkeys(files, b"same"))
    (sentence,) = describe_duplicates(ImageFolder(root))
    assert sentence.startswith(f"{root}: 1 image occurs {harm}")
    for name in files:
        assert name in sentence


def test_several_duplicates_are_counted_and_the_first_is_named(tree):
    root = tree({f"cat/{i}.jpg": b"%d" % (i // 2) for i in range(6)})
    (sentence,) = describe_duplicates(ImageFolder(root))
    assert "3 images occur more than once in a class (first: cat/0.jpg = cat/1.jpg)" in sentence


def test_duplicates_of_a_table_are_named_relative_to_it(tree):
    root = tree({"1.jpg": b"same", "2.jpg": b"same", "t.csv": b"path,label\n1.jpg,a\n2.jpg,b\n"})
    (sentence,) = describe_duplicates(ImageFolder(root / "t.csv"))
    assert "(first: 1.jpg = 2.jpg)" in sentence
