"""Equal files are found by content, and the harm they do is told."""

import pytest

from visualwords.duplicates import describe_duplicates, find_duplicates
from visualwords.folders import ImageFolder
from visualwords.images import read_bytes


def described(path):
    folder = ImageFolder(path)
    return describe_duplicates(folder, [read_bytes(file) for file in folder.paths])


def test_equal_fingerprints_are_found_in_order():
    assert find_duplicates([b"1", b"2", b"1", b"3", b"2", b"1"]) == [[0, 2, 5], [1, 4]]


def test_what_has_no_fingerprint_is_no_duplicate():
    assert find_duplicates([b"", b"1", b"", b"2"]) == []


def test_a_folder_without_duplicates_has_nothing_to_tell(tree):
    assert described(tree({"cat/1.jpg": b"1", "dog/2.jpg": b"2"})) == []


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
    (sentence,) = described(root)
    assert sentence.startswith(f"{root}: 1 image occurs {harm}")
    for name in files:
        assert name in sentence


def test_several_duplicates_are_counted_and_the_first_is_named(tree):
    root = tree({f"cat/{i}.jpg": b"%d" % (i // 2) for i in range(6)})
    (sentence,) = described(root)
    assert "3 images occur more than once in a class (first: cat/0.jpg = cat/1.jpg)" in sentence


def test_duplicates_of_a_table_are_named_relative_to_it(tree):
    root = tree({"1.jpg": b"same", "2.jpg": b"same", "t.csv": b"path,label\n1.jpg,a\n2.jpg,b\n"})
    (sentence,) = described(root / "t.csv")
    assert "(first: 1.jpg = 2.jpg)" in sentence
