"""Which files of a folder are complete, and when."""

import os
import time

import pytest

from visualwords.apps.watching.journal import look_at
from visualwords.apps.watching.watcher import Arrivals

SETTLE = 0.6


@pytest.fixture
def write(tmp_path):
    """Give ``write(name, age)``: a file of one byte that was changed so many seconds ago."""

    def write_it(name, age=10.0, content=b"x"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (time.time() - age,) * 2)
        return str(path)

    return write_it


def arrivals(folder, done=(), **settings):
    return Arrivals(str(folder), lambda one: one.path in done, settle=SETTLE, **settings)


def names(files):
    return [os.path.basename(one.path) for one in files]


def test_complete_images_come_in_order_of_their_names_and_nothing_else_does(tmp_path, write):
    for name in ("b.jpg", "a.jpg", "sub/c.jpg", "a.jpg.part", ".a.jpg", "a.txt", "sorted/1.jpg"):
        write(name)
    os.link(tmp_path / "a.jpg", tmp_path / "linked.jpg")
    done = [write("done.jpg")]
    watched = arrivals(tmp_path, done, outside=[tmp_path / "sorted", tmp_path.parent / "model.vw"])
    assert names(watched.look()) == ["a.jpg", "b.jpg", "linked.jpg", "c.jpg"]
    assert watched.is_idle


def test_a_file_comes_once_its_writer_pauses_not_before(tmp_path):
    watched = arrivals(tmp_path)
    with open(tmp_path / "a.jpg", "wb") as file:
        for _ in range(8):
            file.write(b"x" * 1000)
            file.flush()
            assert watched.look() == []
            assert not watched.is_idle
            time.sleep(SETTLE / 8)
    time.sleep(SETTLE)
    (found,) = watched.look()
    assert found == look_at(str(tmp_path / "a.jpg"))
    assert found.size == 8000


def test_a_file_that_is_postponed_or_vanishes_does_not_come(tmp_path, write):
    path = write("a.jpg")
    watched = arrivals(tmp_path)
    (found,) = watched.look()
    watched.postpone(found, 1000.0)
    assert watched.look() == []
    write("a.jpg", age=5.0)  # another one, which is as it is for long
    assert watched.look() == []
    time.sleep(SETTLE)
    assert watched.look() == [look_at(path)]
    write("b.jpg", age=0.0)
    assert names(watched.look()) == ["a.jpg"]
    os.unlink(tmp_path / "b.jpg")
    assert names(watched.look()) == ["a.jpg"]
    assert watched.is_idle
