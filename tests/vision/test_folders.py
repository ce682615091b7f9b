"""Folders of labelled images: layouts, order, skipped files, division into training and test."""

import os
import re
import socket
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import IS_ROOT
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder, Item, Listing, list_files
from visualwords.tables import split_of

NFC, NFD = "caf\u00e9", "cafe\u0301"


def names(folder):
    """The paths relative to the folder, as bytes of their names."""
    return [os.path.relpath(os.fsencode(path), os.fsencode(folder.path)) for path in folder.paths]


LAYOUTS = {  # files, by class and name → label of each, and split
    "one folder a class": (["cat/1.jpg", "cat/10.jpg", "cat/2.jpg", "dog/2.jpg"], None),
    "folders below a class belong to it": (["cat/2.jpg", "cat/a/b/1.jpg", "dog/c/3.jpg"], None),
    "sub-folders of the same name": (["bad/mon/1.png", "bad/tue/1.png", "ok/mon/1.png"], None),
    "a class called train": (["bus/2.jpg", "car/3.jpg", "train/1.jpg"], None),
    "splits": (["train/cat/2.jpg", "train/dog/3.jpg", "val/cat/1.jpg", "test/dog/1.jpg"], 0),
    "splits in any case": (["Training/a/1.jpg", "VALID/a/3.jpg", "TESTING/a/2.jpg"], 0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_labels_and_splits_are_folders_in_a_fixed_order(layout, tree):
    files, split_part = LAYOUTS[layout]
    folder = ImageFolder(tree(reversed(files)))
    assert names(folder) == [name.encode() for name in files]
    label_part = 0 if split_part is None else 1
    assert folder.labels == [name.split("/")[label_part] for name in files]
    assert folder.classes == sorted(set(folder.labels))
    splits = [None if split_part is None else split_of(name.split("/")[0]) for name in files]
    assert folder.splits == splits
    assert folder.groups == [None] * len(folder) == [None] * len(files)
    assert folder.skipped == []
    for split in "train", "val", "test":
        assert len(folder.part(split)) == splits.count(split)
    known = {"VALIDATION": "val", " dev ": "val", "Val": "val", "Testing": "test", "tests": None}
    assert {name: split_of(name) for name in known} == known


MISTAKES = {  # files → how many have a label, and the warning
    "train/a/1.jpg train/b/2.jpg test/3.jpg test/4.jpg": (2, "2 files without class"),
    "train/a/1.jpg train/b/2.jpg test/a/3.jpg": (3, "test has no images of 'b'"),
    "train/a/1.jpg test/a/3.jpg test/c/4.jpg": (3, "images of 'c', which train lacks"),
    "cat/1.jpg": (1, "'cat' is the only class; a classifier needs at least two"),
    "photos/cat/1.jpg photos/dog/2.jpg": (2, "did you mean .*photos?"),
    "a/1.jpg b/2.jpg d.jpg c.jpg README.md": (2, r"2 files .*first: 'c.jpg'"),
    "train/a/1.jpg train/stray.jpg test/a/3.jpg": (2, "1 file beside"),
    "Cat/1.jpg cat/2.jpg dog/3.jpg": (3, "'Cat' and 'cat' differ only in case"),
    f"cat/1.jpg dog/2.jpg {NFD}/.hidden": (2, f"class {NFC!r} is empty"),
}


@pytest.mark.parametrize("files", MISTAKES)
def test_likely_mistakes_are_warned_of(files, tree):
    folder, (n_labelled, warning) = ImageFolder(tree(files.split())), MISTAKES[files]
    assert len(folder) == n_labelled
    assert sum(bool(re.search(warning, line)) for line in folder.warnings) == 1
    unexpected = [line for line in folder.warnings if "is the only class" not in line]
    assert len(unexpected) <= 1


NOT_UNDERSTOOD = {  # files → the cure
    "train/1.jpg test/2.jpg": "look like splits, but have no class folders; write train",
    "train/a/1.jpg valid/a/2.jpg docs/3.jpg": "train and valid look .*'docs' lies",
    "training/cat/1.png training/dog/1.png holdout/cat/1.png holdout/dog/1.png": (
        "looks like a split.*'cat', 'dog'.*write train/CLASS"
    ),
    "val2017/a/1.png val2017/b/1.png x/a/1.png x/b/1.png": "looks like a split",
    "notes.txt": "found nothing; put the images of each class",
    "1.jpg 2.jpg": "2 files but no folders",
    "cat/.hidden": "no file in any of them",
}


@pytest.mark.parametrize("files", NOT_UNDERSTOOD)
def test_a_folder_that_is_not_understood_is_refused_with_a_cure(files, tree):
    with pytest.raises(FolderError, match=NOT_UNDERSTOOD[files]):
        _ = ImageFolder(tree(files.split())).paths


def test_files_are_images_by_content_unless_hidden_or_named_otherwise(tree):
    images = ["cat/-rf.jpg", "cat/1.JPG", "cat/2", "cat/3.dat", "cat/4.jpg.bak", "cat/A.jpg"]
    images += ["cat/a.jpg", "dog/2.jpg"]
    others = ["cat/.x.jpg", "cat/.thumbs/1.jpg", ".git/1.jpg", "__MACOSX/1.jpg", "cat/Thumbs.db"]
    root = tree([*images, *others, "cat/notes.txt", "cat/labels.CSV"])
    folder = ImageFolder(root)
    assert names(folder) == [name.encode() for name in images]
    assert folder.skipped == folder.warnings == []
    assert list_files(root) == ([str(root / name) for name in images], [])
    missing = str(root / "nowhere")
    assert list_files(missing) == ([], [(missing, "no such file or directory")])
    for path, reason in (missing, "no such folder"), (root / "cat" / "2", "neither a folder nor"):
        folder = ImageFolder(path)
        with pytest.raises(FolderError, match=reason):
            _ = folder.paths


def test_odd_names_are_kept_byte_for_byte(tree):
    odd = ["new\nline.jpg", "🦊.jpg", "-rf.jpg", "--help", f"{NFC}.jpg", f"{NFD}.jpg", " .jpg"]
    files = [os.fsencode(f"cat/{name}") for name in odd] + [b"cat/latin\xe9\xff.jpg"]
    files += [b"dog\xe9/1.jpg"]
    folder = ImageFolder(tree({name: b"" for name in files}))
    assert names(folder) == sorted(files)
    assert [os.fsencode(name) for name in folder.classes] == [b"cat", b"dog\xe9"]


def test_a_class_typed_in_two_unicode_forms_is_one_class(tree):
    folder = ImageFolder(tree([f"{NFC}/1.jpg", f"{NFD}/2.jpg", "tea/3.jpg"]))
    assert Counter(folder.labels) == {NFC: 2, "tea": 1}
    assert folder.warnings == []


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
    found = [(os.path.basename(path), reason) for path, reason in folder.skipped]
    assert found[0] == ("folder.jpg", "a folder, not a file")
    others = ["gone.jpg", "loop.jpg", "pipe.jpg", "socket.jpg"]
    assert found[1:] == [(name, "not a regular file") for name in others]


def test_links_that_lead_in_circles_end_and_of_two_the_first_by_name_is_followed(tree):
    root = tree(["cat/1.jpg", "cat/b/2.jpg", "../elsewhere/3.jpg"])
    (root / "cat" / "up").symlink_to("..", target_is_directory=True)
    (root / "cat" / "self").symlink_to(".", target_is_directory=True)
    (root / "loop").symlink_to("loop")
    for name in "zma":  # most systems list them in another order than by name
        (root / "cat" / name).symlink_to(root.parent / "elsewhere")
    assert names(ImageFolder(root)) == [b"cat/1.jpg", b"cat/a/3.jpg", b"cat/b/2.jpg"]


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


def test_labels_come_from_names_by_a_pattern_that_may_look_at_folders(tree):
    root = tree(["Egyptian_Mau_1.jpg", "Egyptian_Mau_22.jpg", "boxer_3.jpg", "READ.jpg", " _4.jpg"])
    folder = ImageFolder(root, label_from=r"(.+)_\d+")
    assert folder.labels == ["Egyptian_Mau", "Egyptian_Mau", "boxer"]
    assert [os.path.basename(path) for path, _ in folder.skipped] == [" _4.jpg", "READ.jpg"]
    assert "does not match the label pattern" in folder.skipped[1][1]
    root = tree(["test/cat-7/1.jpg", "train/cat-8/2.jpg", "train/dog-9/3.jpg"])
    folder = ImageFolder(root, label_from=r"(?P<split>\w+)/(?P<label>\w+)-(?P<group>\d+)/")
    expected = [("cat", "train", "8"), ("dog", "train", "9"), ("cat", "test", "7")]
    assert [item[1:] for item in folder.items] == expected
    for pattern, reason in {
        "(": "label pattern '\\('",
        "a_b": "has no group",
        r"(\d+)x": "no file's name matches",
    }.items():
        with pytest.raises(FolderError, match=reason):
            _ = ImageFolder(root, label_from=pattern).paths


def folder_of(labels, groups=None):
    """A folder of images that exist by name only."""
    folder = ImageFolder("data")
    items = [Item(f"{i:03}.jpg", label) for i, label in enumerate(labels)]
    folder._listing = Listing(items, [], [])
    return folder.grouped(groups) if groups else folder


def test_the_seed_and_the_names_alone_decide_a_split(tree):
    files = [f"{label}/{i:03}.jpg" for label in "abc" for i in range(30)]
    root = tree(reversed(files))  # another order on disk
    one, other = ImageFolder(root).split(seed=1), folder_of([name[0] for name in files])
    assert [os.path.basename(path) for path in one[1].paths] == [
        os.path.basename(files[other.paths.index(path)]) for path in other.split(seed=1)[1].paths
    ]
    assert names(one[1]) != names(ImageFolder(root).split(seed=2)[1])


def test_a_split_that_can_not_be_made_says_why(tree):
    folder = ImageFolder(tree(["cat/1.jpg", "dog/1.jpg", "dog/2.jpg"]))
    with pytest.raises(FolderError, match="class 'cat' has only 1"):
        folder.split()
    with pytest.raises(FolderError, match="there is none"):
        folder.part("test").split()
    for size in 0, 1, -0.5, 7:
        with pytest.raises(ValueError, match="test_size"):
            folder.split(test_size=size)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_the_share_of_each_class_is_rounded_but_neither_none_nor_all(labels, test_size):
    labels = labels * 2
    train, test = folder_of(labels).split(test_size)
    assert sorted([*train.paths, *test.paths]) == folder_of(labels).paths
    for label, n in Counter(labels).items():
        n_test = test.labels.count(label)
        assert n_test == min(max(round(test_size * n), 1), n - 1)


GROUPED = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([None, "g", "h", "i", "j"])),
    min_size=2,
    max_size=24,
).filter(lambda pairs: min(Counter(label for label, _ in pairs).values()) > 1)


@given(GROUPED, st.floats(0.05, 0.95), st.integers(0, 5))
def test_groups_stay_together_and_classes_on_both_sides(pairs, test_size, seed):
    labels, groups = zip(*pairs)
    try:
        train, test = folder_of(labels, [group or None for group in groups]).split(test_size, seed)
    except FolderError as refusal:
        assert "more groups" in str(refusal)  # noqa: PT017
        return
    assert len(train) + len(test) == len(labels)
    assert not set(train.groups) & set(test.groups) - {None}
    assert train.classes == test.classes == sorted(set(labels))


def test_groups_of_equal_size_give_the_share_that_was_asked_for():
    labels = [label for label in "ab" for _ in range(50)]
    folder = folder_of(labels, [f"{i // 5}" for i in range(100)])
    for test_size in 0.1, 0.2, 0.5, 0.8:
        test = folder.split(test_size)[1]
        assert Counter(test.labels) == {label: round(50 * test_size) for label in "ab"}
    with pytest.raises(FolderError, match=r"data: .* class 'a'"):  # in a single group
        folder_of("aabb", ["x", "x", "y", "z"]).split()
