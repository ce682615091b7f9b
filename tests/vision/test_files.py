"""Files are written whole or not at all, and read without ever waiting."""

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from visualwords import files
from visualwords.files import open_regular, remove_abandoned, write_atomically


def test_content_may_be_bytes_or_a_function_that_writes(tmp_path):
    path = tmp_path / "a.bin"
    write_atomically(path, b"bytes")
    with open_regular(path) as file:
        assert file.read() == b"bytes"
    write_atomically(path, lambda file: file.write(b"written"))
    assert path.read_bytes() == b"written"
    assert os.listdir(tmp_path) == ["a.bin"]
    (tmp_path / "plain").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_atomically(tmp_path / "nowhere" / "a.bin", b"")


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, SystemExit, OSError])
def test_an_exception_midway_leaves_the_old_file_and_no_litter(problem, tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"half of the new")
        raise problem(28, "No space left on device")

    with pytest.raises(problem, match="No space left") as caught:
        write_atomically(path, fail)
    if problem is OSError:  # about the file that was asked for, not its temporary name
        assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_many_threads_leave_whole_files_at_any_moment_and_the_umask_alone(tmp_path):
    path = tmp_path / "a.bin"
    contents = [b"%d" % (turn % 10) * 50_000 for turn in range(400)]
    write_atomically(path, contents[0])
    umask = os.umask(0o022)
    os.umask(umask)
    with ThreadPoolExecutor(16) as pool:
        written = pool.map(lambda one: write_atomically(path, one, durable=False), contents)
        seen = [path.read_bytes() for _ in range(200)]
        list(written)
    assert {path.read_bytes(), *seen} <= {*contents}
    assert os.listdir(tmp_path) == ["a.bin"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


@pytest.mark.posix
def test_a_link_is_replaced_and_its_target_stays_but_devices_are_refused(tmp_path):
    target, link, device = (tmp_path / name for name in ("a.vw", "latest.vw", "stdout"))
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert not link.is_symlink()
    assert (link.read_bytes(), target.read_bytes()) == (b"new", b"old")
    device.symlink_to("/dev/null")
    with pytest.raises(OSError, match="not a regular file"):
        write_atomically(device, b"new")
    assert device.is_symlink()


@pytest.mark.posix
def test_what_is_no_regular_file_is_neither_replaced_nor_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for path in tmp_path / "pipe", tmp_path / "folder":
        before = path.stat().st_ino
        with pytest.raises(OSError, match="not a regular file"):
            write_atomically(path, b"new")
        with pytest.raises(OSError, match=r"not a.* file"):
            open_regular(path)
        assert path.stat().st_ino == before
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]


LEFT = ".writing-0123456789abcdef.vw"


@pytest.mark.posix
def test_what_a_killed_writer_left_is_removed_by_the_next_and_nothing_else(tmp_path):
    def write_another(file):
        write_atomically(tmp_path / "inner", b"inner")  # the outer file is not abandoned
        file.write(b"outer")

    names = [".writing-letters.txt", "writing-0123456789abcdef", ".hidden", f"my{LEFT}"]
    for name in [*names, LEFT]:
        (tmp_path / name).write_bytes(b"half a mod")
    write_atomically(tmp_path / "outer", write_another)
    assert sorted(os.listdir(tmp_path)) == sorted(["inner", "outer", *names])
    os.mkfifo(tmp_path / LEFT)  # opening it would wait for ever
    remove_abandoned(tmp_path)
    assert LEFT in os.listdir(tmp_path)


@pytest.mark.posix
def test_where_files_can_not_be_locked_writing_works_and_nothing_is_removed(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    (tmp_path / LEFT).write_bytes(b"perhaps of a living process")
    write_atomically(tmp_path / "a", b"content")
    assert sorted(os.listdir(tmp_path)) == [LEFT, "a"]


@pytest.mark.posix
def test_a_writer_whose_file_was_removed_before_it_was_locked_begins_anew(tmp_path, monkeypatch):
    flock, removed = files.fcntl.flock, []

    def come_late(file, kind):
        if not removed:
            removed.append(file.name)
            os.unlink(file.name)
        flock(file, kind)

    monkeypatch.setattr(files.fcntl, "flock", come_late)
    write_atomically(tmp_path / "a", b"content")
    assert os.listdir(tmp_path) == ["a"]
    assert len(removed) == 1


def test_without_locks_files_are_closed_before_they_are_renamed(tmp_path, monkeypatch):
    """As on Windows, which refuses to rename an open file, and for a moment one that is read."""
    refusals = [PermissionError(13, "in use"), PermissionError(13, "in use")]
    opened = []
    replace = os.replace

    def refuse_open_files(source, target):
        assert all(file.closed for file in opened)
        if refusals:
            raise refusals.pop()
        replace(source, target)

    def content(file):
        opened.append(file)
        file.write(b"new")

    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(os, "replace", refuse_open_files)
    write_atomically(tmp_path / "a.bin", content)
    assert (tmp_path / "a.bin").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_without_locks_only_old_temporary_files_count_as_abandoned(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    young, old = (tmp_path / f".writing-{digit * 16}" for digit in "ab")
    for path in young, old:
        path.write_bytes(b"")
    os.utime(old, (0, 0))
    remove_abandoned(tmp_path)
    assert os.listdir(tmp_path) == [young.name]
