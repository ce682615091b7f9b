"""Folders and tables of labelled images: what is found, and in which order."""

import os
import socket
import unicodedata
from collections import Counter

import pytest

from tests.conftest import IS_ROOT
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder, list_files

NFC, NFD = "caf\u00e9", "cafe\u0301"


def names(folder):
    """Return the paths relative to the folder, as bytes of their names."""
    return [os.path.relpath(os.fsencode(path), os.fsencode(folder.path)) for path in folder.paths]


def test_each_sub_folder_is_a_class(tree):
    folder = ImageFolder(tree(["dog/2.jpg", "cat/1.jpg", "cat/10.jpg", "cat/2.jpg"]))
    assert folder.classes == ["cat", "dog"]
    assert folder.labels == ["cat", "cat", "cat", "dog"]
    assert names(folder) == [b"cat/1.jpg", b"cat/10.jpg", b"cat/2.jpg", b"dog/2.jpg"]
    assert folder.splits == folder.groups == [None] * 4
    assert folder.skipped == folder.warnings == []
    assert len(folder) == 4


def test_nothing_is_scanned_before_it_is_needed(tmp_path):
    folder = ImageFolder(tmp_path / "nowhere")
    assert "nowhere" in repr(folder)
    with pytest.raises(FolderError, match="no such folder"):
        _ = folder.paths


def test_folders_below_a_class_belong_to_it(tree):
    folder = ImageFolder(tree(["cat/a/b/1.jpg", "cat/2.jpg", "dog/c/3.jpg"]))
    assert folder.labels == ["cat", "cat", "dog"]


def test_train_val_and_test_folders_are_splits(tree):
    folder = ImageFolder(tree(["test/cat/1.jpg", "train/cat/2.jpg", "train/dog/3.jpg"]))
    assert folder.classes == ["cat", "dog"]
    assert folder.splits == ["train", "train", "test"]
    assert names(folder.part("train")) == [b"train/cat/2.jpg", b"train/dog/3.jpg"]
    assert folder.part("test").labels == ["cat"]
    assert len(folder.part("val")) == 0


@pytest.mark.parametrize("name", ["valid", "VALIDATION", "dev", "Val"])
def test_splits_have_several_names_in_any_case(name, tree):
    folder = ImageFolder(tree(["Train/cat/1.jpg", "Train/dog/2.jpg", f"{name}/cat/3.jpg"]))
    assert folder.classes == ["cat", "dog"]
    assert folder.splits == ["train", "train", "val"]


def test_training_and_testing_are_splits_too(tree):
    folder = ImageFolder(tree(["training/a/1.jpg", "training/b/2.jpg", "TESTING/a/1.jpg"]))
    assert folder.splits == ["train", "train", "test"]


def test_one_class_among_others_may_be_called_train(tree):
    folder = ImageFolder(tree(["train/1.jpg", "bus/2.jpg", "car/3.jpg"]))
    assert folder.classes == ["bus", "car", "train"]


def test_what_looks_like_splits_but_has_no_classes_is_refused(tree):
    with pytest.raises(FolderError, match=r"look like splits, but have no class folders; write t"):
        _ = ImageFolder(tree(["train/1.jpg", "test/2.jpg"])).paths


@pytest.mark.parametrize("names", [("training", "holdout"), ("train2017", "val2017")])
def test_splits_of_unknown_names_with_the_same_classes_are_refused(tree, names):
    files = [f"{name}/{label}/1.png" for name in names for label in ("cat", "dog")]
    with pytest.raises(FolderError, match=r"looks like a split.*'cat', 'dog'.*write train/CLASS"):
        _ = ImageFolder(tree(files)).paths


def test_classes_with_the_same_sub_folders_are_classes(tree):
    files = [f"{label}/{day}/1.png" for label in ("ok", "defect") for day in ("mon", "tue")]
    assert ImageFolder(tree(files)).classes == ["defect", "ok"]


def test_a_table_of_bare_names_finds_the_folder_beside_it(tree, monkeypatch):
    root = tree(["flat/a.png", "flat/b.png"])
    (root / "flat.csv").write_text("image,target\na.png,cat\nb.png,dog\n", encoding="utf-8")
    monkeypatch.chdir(root)
    folder = ImageFolder("flat.csv")
    assert [os.path.normpath(path) for path in folder.paths] == ["flat/a.png", "flat/b.png"]


def test_splits_beside_another_folder_are_refused(tree):
    folder = ImageFolder(tree(["train/cat/1.jpg", "valid/cat/2.jpg", "docs/3.jpg"]))
    with pytest.raises(FolderError, match="train and valid look like splits, but 'docs' lies"):
        _ = folder.paths


def test_an_unlabelled_test_part_is_left_out_with_a_warning(tree):
    folder = ImageFolder(tree(["train/a/1.jpg", "train/b/2.jpg", "test/3.jpg", "test/4.jpg"]))
    assert folder.splits == ["train", "train"]
    (warning,) = folder.warnings
    assert "2 files without class folders, left out" in warning


def test_classes_that_are_missing_from_a_split_are_named(tree):
    root = tree(["train/a/1.jpg", "train/b/2.jpg", "test/a/3.jpg", "test/c/4.jpg"])
    lacking, strange = ImageFolder(root).warnings
    assert "test has no images of 'b'" in lacking
    assert "test has images of 'c', which train lacks" in strange


def test_a_single_class_is_said(tree):
    (warning,) = ImageFolder(tree(["cat/1.jpg"])).warnings
    assert "'cat' is the only class; a classifier needs at least two" in warning


def test_classes_inside_the_only_folder_are_pointed_at(tree):
    root = tree(["photos/cat/1.jpg", "photos/dog/2.jpg"])
    (warning,) = ImageFolder(root).warnings
    assert f"did you mean {root / 'photos'}?" in warning


def test_files_beside_the_class_folders_are_left_out_with_a_warning(tree):
    files = ["cat/1.jpg", "dog/2.jpg", "b.jpg", "a.jpg", "labels.csv", "README.md"]
    folder = ImageFolder(tree(files))
    assert names(folder) == [b"cat/1.jpg", b"dog/2.jpg"]
    (warning,) = folder.warnings
    assert warning.endswith("2 files beside the class folders, left out (first: 'a.jpg')")


def test_files_beside_the_classes_of_a_split_are_left_out_with_a_warning(tree):
    files = ["train/cat/1.jpg", "train/dog/2.jpg", "train/stray.jpg", "test/cat/3.jpg"]
    folder = ImageFolder(tree([*files, "test/dog/4.jpg"]))
    assert len(folder) == 4
    (warning,) = folder.warnings
    assert "1 file beside" in warning


@pytest.mark.parametrize(
    "name",
    ["cat/.hidden.jpg", "cat/.thumbs/1.jpg", ".git/1.jpg", "__MACOSX/1.jpg", "cat/Thumbs.db"],
)
def test_hidden_files_and_folders_are_ignored(name, tree):
    folder = ImageFolder(tree(["cat/1.jpg", "dog/2.jpg", name]))
    assert names(folder) == [b"cat/1.jpg", b"dog/2.jpg"]
    assert folder.skipped == folder.warnings == []


def test_only_the_content_tells_images_from_other_files(tree):
    images = ["a/1.JPG", "a/2", "a/3.dat", "a/4.jpg.bak"]
    folder = ImageFolder(tree([*images, "a/notes.txt", "a/labels.CSV", "a/readme.md"]))
    assert names(folder) == [name.encode() for name in images]


def test_odd_names_are_kept_byte_for_byte(tree):
    odd = ["new\nline.jpg", "🦊.jpg", "-rf.jpg", "--help", f"{NFC}.jpg", f"{NFD}.jpg", " .jpg"]
    files = [os.fsencode(f"cat/{name}") for name in odd] + [b"cat/latin\xe9\xff.jpg"]
    folder = ImageFolder(tree({name: b"" for name in files}))
    assert names(folder) == sorted(files)


def test_a_class_whose_name_is_not_utf_8_is_kept(tree):
    folder = ImageFolder(tree({b"caf\xe9/1.jpg": b"", b"tea/1.jpg": b""}))
    assert [os.fsencode(name) for name in folder.classes] == [b"caf\xe9", b"tea"]


def test_a_class_typed_in_two_unicode_forms_is_one_class(tree):
    folder = ImageFolder(tree([f"{NFC}/1.jpg", f"{NFD}/2.jpg", "tea/3.jpg"]))
    assert folder.classes == [NFC, "tea"]
    assert Counter(folder.labels) == {NFC: 2, "tea": 1}
    assert folder.warnings == []
    assert unicodedata.is_normalized("NFC", folder.labels[0])


def test_classes_that_differ_in_case_are_kept_apart_with_a_warning(tree):
    folder = ImageFolder(tree(["Cat/1.jpg", "cat/2.jpg", "dog/3.jpg"]))
    assert folder.classes == ["Cat", "cat", "dog"]
    (warning,) = folder.warnings
    assert "'Cat' and 'cat' differ only in case" in warning


def test_files_that_differ_in_case_are_both_kept(tree):
    assert len(ImageFolder(tree(["cat/a.jpg", "cat/A.jpg", "cat/a.JPG"]))) == 3


def test_an_empty_class_is_left_out_with_a_warning(tree):
    root = tree(["cat/1.jpg", "dog/2.jpg"])
    (root / NFD).mkdir()
    folder = ImageFolder(root)
    assert folder.classes == ["cat", "dog"]
    (warning,) = folder.warnings
    assert f"class {NFC!r} is empty" in warning


@pytest.mark.posix
def test_what_can_not_be_an_image_is_listed_with_the_reason(tree):
    root = tree(["cat/1.jpg"])
    os.mkfifo(root / "cat" / "pipe.jpg")
    (root / "cat" / "folder.jpg").mkdir()
    (root / "cat" / "loop.jpg").symlink_to("loop.jpg")
    (root / "cat" / "gone.jpg").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "cat" / "socket.jpg"))
    folder = ImageFolder(root)
    assert names(folder) == [b"cat/1.jpg"]
    assert [(os.path.basename(path), reason) for path, reason in folder.skipped] == [
        ("folder.jpg", "a folder, not a file"),
        ("gone.jpg", "not a regular file"),
        ("loop.jpg", "not a regular file"),
        ("pipe.jpg", "not a regular file"),
        ("socket.jpg", "not a regular file"),
    ]


def test_links_that_lead_in_circles_end(tree):
    root = tree(["cat/1.jpg", "cat/b/2.jpg"])
    (root / "cat" / "up").symlink_to("..", target_is_directory=True)
    (root / "cat" / "self").symlink_to(".", target_is_directory=True)
    (root / "loop").symlink_to("loop")
    folder = ImageFolder(root)
    assert set(names(folder)) >= {b"cat/1.jpg", b"cat/b/2.jpg"}
    assert len(folder) == 2


@pytest.mark.parametrize("first", ["z", "a"])
def test_of_two_links_to_one_folder_the_first_by_name_is_followed(first, tree, monkeypatch):
    root = tree(["cat/1.jpg", "../elsewhere/2.jpg"])
    for name in first, "m":
        (root / "cat" / name).symlink_to(root.parent / "elsewhere")
    (expected,) = {"z": ["m"], "a": ["a"]}[first]
    scandir = os.scandir

    class Backwards:
        def __init__(self, path):
            with scandir(path) as entries:
                self.entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __enter__(self):
            return iter(self.entries)

        def __exit__(self, *problem):
            return None

    assert names(ImageFolder(root)) == [b"cat/1.jpg", f"cat/{expected}/2.jpg".encode()]
    monkeypatch.setattr(os, "scandir", Backwards)
    assert names(ImageFolder(root)) == [b"cat/1.jpg", f"cat/{expected}/2.jpg".encode()]


def test_a_folder_that_vanishes_during_the_scan_is_listed_as_skipped(tree, monkeypatch):
    root = tree(["cat/1.jpg", "cat/deep/2.jpg"])
    stat = os.stat

    def vanish(path, **options):
        if os.fspath(path).endswith("deep"):
            raise FileNotFoundError(2, "No such file or directory", path)
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", vanish)
    folder = ImageFolder(root)
    assert names(folder) == [b"cat/1.jpg"]
    assert folder.skipped == [(str(root / "cat" / "deep"), "no such file or directory")]


def test_files_of_a_folder_without_labels_are_listed_in_order(tree):
    root = tree(["b/2.jpg", "b/10.jpg", "a.jpg", "notes.txt"])
    paths, skipped = list_files(root)
    assert paths == [str(root / name) for name in ("a.jpg", "b/10.jpg", "b/2.jpg")]
    assert skipped == []
    missing = str(root / "nowhere")
    assert list_files(missing) == ([], [(missing, "no such file or directory")])


@pytest.mark.skipif(IS_ROOT, reason="root may list everything")
def test_folders_without_permission_are_skipped_or_refused(tree):
    root = tree(["cat/1.jpg", "dog/2.jpg"])
    (root / "dog").chmod(0)
    try:
        folder = ImageFolder(root)
        assert folder.skipped == [(str(root / "dog"), "permission denied")]
        root.chmod(0)
        with pytest.raises(FolderError, match="permission denied"):
            _ = ImageFolder(root).paths
    finally:
        root.chmod(0o755)
        (root / "dog").chmod(0o755)


def test_a_folder_that_can_not_be_used_says_what_is_needed(tree, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FolderError, match="found nothing; put the images of each class"):
        _ = ImageFolder(tmp_path / "empty").paths
    with pytest.raises(FolderError, match="2 files but no folders"):
        _ = ImageFolder(tree(["1.jpg", "2.jpg"])).paths
    (tmp_path / "bare" / "cat").mkdir(parents=True)
    with pytest.raises(FolderError, match="no file in any of them"):
        _ = ImageFolder(tmp_path / "bare").paths
    with pytest.raises(FolderError, match="neither a folder nor"):
        _ = ImageFolder(tree(["1.jpg"]) / "1.jpg").paths
