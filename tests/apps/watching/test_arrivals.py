"""Which files of a folder are complete, and when."""

import os
import threading
import time

import pytest

from visualwords.apps.watching.arrivals import Arrivals, look_at
from visualwords.errors import FolderError

SETTLE = 0.3


def arrivals(folder, done=(), **settings):
    return Arrivals(
        str(folder), lambda one: one.path in done, **{"settle": SETTLE, "poll": True, **settings}
    )


def names(found):
    return [os.path.basename(one.path) for one in found]


def wait_for(watched, n, seconds=20.0):
    """Collect n files, however long the machine takes."""
    found = []
    end = time.monotonic() + seconds
    while len(found) < n and time.monotonic() < end:
        found += watched.wait(0.2)
    return found


def test_files_that_are_there_come_first_in_order_of_their_names(tmp_path):
    for name in ("b.jpg", "a.jpg", "sub/c.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (1, 1))
    with arrivals(tmp_path) as watched:
        assert names(watched.wait(5)) == ["a.jpg", "b.jpg", "c.jpg"]


def test_files_that_are_done_do_not_come(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    with arrivals(tmp_path, done=[str(tmp_path / "a.jpg")]) as watched:
        assert watched.wait(2 * SETTLE) == []
        assert watched.is_idle


@pytest.mark.parametrize("poll", [False, True], ids=["reported", "polled"])
def test_a_file_comes_when_its_writer_has_closed_it_not_before(tmp_path, poll):
    with arrivals(tmp_path, poll=poll, settle=30.0 if not poll else SETTLE) as watched:
        watched.wait(0)
        with open(tmp_path / "a.jpg", "wb") as file:
            for _ in range(8):  # slower than any single look
                file.write(b"x" * 1000)
                file.flush()
                assert watched.wait(SETTLE / 4) == []
        (found,) = wait_for(watched, 1)
    assert found == look_at(str(tmp_path / "a.jpg"))
    assert found.size == 8000


def test_a_renamed_file_comes_at_once_and_its_temporary_name_never(tmp_path):
    with arrivals(tmp_path, poll=False, settle=30.0) as watched:
        watched.wait(0)
        for temporary in (".a.jpg", "a.jpg.part"):
            (tmp_path / temporary).write_bytes(b"x")
        assert watched.wait(0.5) == []
        os.rename(tmp_path / "a.jpg.part", tmp_path / "a.jpg")
        assert names(wait_for(watched, 1)) == ["a.jpg"]


def test_a_linked_file_and_one_in_a_new_folder_come(tmp_path):
    inbox, beside = tmp_path / "inbox", tmp_path / "beside.jpg"
    inbox.mkdir()
    beside.write_bytes(b"x")
    with arrivals(inbox, poll=False) as watched:
        watched.wait(0)
        os.link(beside, inbox / "linked.jpg")
        (inbox / "new").mkdir()
        (inbox / "new" / "b.jpg").write_bytes(b"x")
        assert sorted(names(wait_for(watched, 2))) == ["b.jpg", "linked.jpg"]


def test_an_empty_file_waits_for_its_content(tmp_path):
    with arrivals(tmp_path, poll=False, settle=30.0) as watched:
        watched.wait(0)
        (tmp_path / "a.jpg").write_bytes(b"")
        assert watched.wait(0.5) == []
        assert not watched.is_idle
        (tmp_path / "a.jpg").write_bytes(b"x")
        assert names(wait_for(watched, 1)) == ["a.jpg"]


def test_a_file_that_vanishes_is_forgotten(tmp_path):
    with arrivals(tmp_path) as watched:
        (tmp_path / "a.jpg").write_bytes(b"x")
        watched.wait(0)
        (tmp_path / "a.jpg").unlink()
        assert watched.wait(3 * SETTLE) == []
        assert watched.is_idle


def test_every_file_of_a_burst_comes_once(tmp_path):
    def write():
        for i in range(300):
            (tmp_path / f"{i:03}.jpg").write_bytes(b"x")

    found = []
    done = set()
    with Arrivals(str(tmp_path), lambda one: one.path in done, settle=30.0) as watched:
        watched.wait(0)
        thread = threading.Thread(target=write)
        thread.start()
        end = time.monotonic() + 30
        while len(found) < 300 and time.monotonic() < end:
            some = watched.wait(0.2)
            done |= {one.path for one in some}
            found += names(some)
        thread.join()
    assert sorted(found) == [f"{i:03}.jpg" for i in range(300)]


def test_results_and_copies_inside_the_folder_are_not_looked_at(tmp_path):
    (tmp_path / "sorted" / "sea").mkdir(parents=True)
    (tmp_path / "sorted" / "sea" / "a.jpg").write_bytes(b"x")
    (tmp_path / "notes.txt").write_bytes(b"x")
    with arrivals(tmp_path, outside=[str(tmp_path / "sorted")]) as watched:
        assert watched.wait(2 * SETTLE) == []


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with (
        pytest.raises(FolderError, match="not a folder; create it first"),
        arrivals(tmp_path / "x"),
    ):
        pass
