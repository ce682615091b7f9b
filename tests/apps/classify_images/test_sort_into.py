"""Sorting copies images; it never moves, overwrites or leaves half of one."""

import errno
import filecmp
import ntpath
import os

import pytest

import visualwords.files
from visualwords.apps.command_line import sort_into as sorting
from visualwords.apps.command_line.sort_into import Sorter, folder_name
from visualwords.errors import FolderError


def sort_images(paths, labels, folder):
    """Copy images in one run; return where the copies are."""
    sorter = Sorter(folder)
    return [sorter.copy(path, label) for path, label in zip(paths, labels)]


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / "in" / name for name in ("a/1.jpg", "b/1.jpg", "2.jpg")]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(str(path).encode())
    return [str(path) for path in paths]


@pytest.mark.parametrize(("links", "locks"), [(True, True), (False, True), (True, False)])
def test_names_that_clash_are_numbered_and_originals_stay(
    files, tmp_path, links, locks, monkeypatch
):
    if not locks:  # as on Windows
        monkeypatch.setattr(visualwords.files, "fcntl", None)
    if not links:  # as on a memory card

        def refuse(*_):
            raise OSError(errno.EPERM, "not permitted")

        monkeypatch.setattr(os, "link", refuse)
    out = tmp_path / "out"
    copies = sort_images(files, ["cat", "cat", "unknown"], out)
    names = [os.path.relpath(copy, out) for copy in copies]
    assert names == ["cat/1.jpg", "cat/1-2.jpg", "unknown/2.jpg"]
    for original, copy in zip(files, copies):
        assert filecmp.cmp(original, copy, shallow=False)
        assert os.stat(original).st_mtime == os.stat(copy).st_mtime
        assert os.stat(original).st_ino != os.stat(copy).st_ino
    assert sorted(p.name for p in out.rglob("*") if p.is_file()) == ["1-2.jpg", "1.jpg", "2.jpg"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("IMG_1.JPG", "img_1.jpg"),
        ("caf\u00e9.jpg", "cafe\u0301.jpg"),
        ("Straße.jpg", "STRASSE.JPG"),
    ],
    ids=["case", "decomposed", "sharp s"],
)
def test_names_that_some_disk_takes_for_one_are_numbered_on_all(first, second, tmp_path):
    """So a folder sorted on Linux can be copied to Windows and macOS, and sorted again there."""
    for name, content in ((first, b"one"), (second, b"two")):
        (tmp_path / name).write_bytes(content)
    files, out = [str(tmp_path / first), str(tmp_path / second)], tmp_path / "out"
    copies = sort_images(files, ["cat", "cat"], out)
    stem, suffix = os.path.splitext(second)
    assert [os.path.basename(copy) for copy in copies] == [first, f"{stem}-2{suffix}"]
    # a disk that has renamed the copies as it likes
    os.rename(copies[0], out / "cat" / second)
    again = sort_images(files, ["cat", "cat"], out)
    assert [os.path.basename(copy) for copy in again] == [second, f"{stem}-2{suffix}"]
    assert len(list((out / "cat").iterdir())) == 2


def test_a_second_run_adds_nothing_and_overwrites_nothing(files, tmp_path):
    out = tmp_path / "out"
    (out / "cat").mkdir(parents=True)
    (out / "cat" / "1.jpg").write_bytes(b"mine")
    first = sort_images(files[:1], ["cat"], out)
    assert first == sort_images(files[:1], ["cat"], out)
    assert (out / "cat" / "1.jpg").read_bytes() == b"mine"
    assert len(list((out / "cat").iterdir())) == 2


@pytest.mark.parametrize(
    "label",
    [
        *["../x", "..", ".", "", "/etc", "a/b", "é" * 300, "a\0b", "\udce9"],
        *["..\\x", "C:\\x", "C:x", "\\\\host\\share", "nul", "COM1.txt", "a. .", "a?*<>|"],
    ],
)
def test_no_label_leads_out_of_the_folder(label, files, tmp_path):
    name = folder_name(label)
    assert not set(name) & set('/\\:*?"<>|\0')
    assert name == name.rstrip(". ") != ""
    assert not ntpath.isreserved(name) if hasattr(ntpath, "isreserved") else name.lower() != "nul"
    assert ntpath.dirname(ntpath.join("out", name)) == "out"
    out = tmp_path / "deep" / "out"
    (copy,) = sort_images(files[:1], [label], out)
    assert os.path.dirname(os.path.dirname(os.path.realpath(copy))) == os.path.realpath(out)


def test_an_interruption_leaves_no_litter(files, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sorting.shutil, "copyfileobj", interrupt)
    with pytest.raises(KeyboardInterrupt):
        sort_images(files, ["cat"] * 3, tmp_path / "out")
    assert list((tmp_path / "out" / "cat").iterdir()) == []


def test_a_file_that_has_gone_is_named(files, tmp_path):
    os.unlink(files[0])
    with pytest.raises(OSError, match="not copied") as caught:
        sort_images(files, ["cat"] * 3, tmp_path / "out")
    assert caught.value.filename == files[0]


def test_copies_with_numbers_keep_their_names_and_equal_files_are_copied_once(tmp_path):
    contents = [b"%04d" % (i % 40) for i in range(60)]
    for i, content in enumerate(contents):
        (tmp_path / str(i)).mkdir()
        (tmp_path / str(i) / "x.jpg").write_bytes(content)
    (tmp_path / "x-2.jpg").write_bytes(b"another")
    paths = [str(tmp_path / str(i) / "x.jpg") for i in range(60)]
    copies = sort_images([*paths, str(tmp_path / "x-2.jpg")], ["cat"] * 61, tmp_path / "out")
    assert copies[40:60] == copies[:20]
    assert [os.path.basename(copy) for copy in copies[:3]] == ["x.jpg", "x-2.jpg", "x-3.jpg"]
    assert os.path.basename(copies[60]) == "x-2-2.jpg"
    assert len(list((tmp_path / "out" / "cat").iterdir())) == 41


@pytest.mark.posix
def test_a_link_in_the_place_of_a_folder_is_not_written_through(tmp_path):
    (tmp_path / "1.jpg").write_bytes(b"a sunset")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sorted").mkdir()
    (tmp_path / "sorted" / "evening").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FolderError, match="a link"):
        sort_images([str(tmp_path / "1.jpg")], ["evening"], tmp_path / "sorted")
    assert not list((tmp_path / "elsewhere").iterdir())
