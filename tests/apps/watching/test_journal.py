"""What a journal keeps over restarts, crashes and power failures."""

import errno
import os
from contextlib import ExitStack
from io import FileIO

import pytest

from visualwords.apps.watching.journal import FileState, Journal, append, open_results
from visualwords.errors import FolderError

A, B = FileState("a.jpg", 10, 111), FileState("b\udcff.jpg", 20, 222)


@pytest.fixture
def results(tmp_path):
    with open_results(tmp_path / "out.jsonl") as file:
        yield file


@pytest.fixture
def restarted(tmp_path):
    """Give a function that opens the journal, after closing the one before."""
    with ExitStack() as stack:

        def restart(results=None):
            stack.close()
            return stack.enter_context(Journal(str(tmp_path / "journal"), results))

        yield restart


def test_what_is_done_stays_done_until_the_file_changes(restarted, tmp_path):
    journal = restarted()
    journal.add(A)
    journal.add(B)
    with open(tmp_path / "journal", "ab") as file:
        file.write(b'["c.jpg", 1')  # cut short
    journal = restarted()
    assert journal.is_done(A)
    assert journal.is_done(B)
    assert not journal.is_done(A._replace(modified=112))
    assert not journal.is_done(FileState("c.jpg", 1, 1))
    journal.add(FileState("c.jpg", 1, 1))
    assert restarted().is_done(FileState("c.jpg", 1, 1))


@pytest.mark.parametrize("lost", [False, True], ids=["killed", "power failure"])
def test_results_and_entries_agree_after_a_restart(restarted, tmp_path, results, lost):
    journal = restarted(results)
    journal.add(A, append(results, b"first\n"))
    end = append(results, b"second\n")  # killed before the journal had its line
    if lost:  # or the journal's line reached the disk, and the results did not
        journal.add(B, end)
        results.truncate(8)
    journal = restarted(results)
    assert journal.is_done(A)
    assert not journal.is_done(B)
    assert (tmp_path / "out.jsonl").read_bytes() == b"first\n"


def test_results_that_were_moved_away_stay_done(restarted, tmp_path, results):
    journal = restarted(results)
    journal.add(A, append(results, b"first\n"))
    os.rename(tmp_path / "out.jsonl", tmp_path / "yesterday.jsonl")
    with open_results(tmp_path / "out.jsonl") as new:
        append(new, b"header\n")
        journal = restarted(new)
        journal.add(B, append(new, b"second\n"))
        journal = restarted(new)
        assert journal.is_done(A)
        assert journal.is_done(B)
    assert (tmp_path / "out.jsonl").read_bytes() == b"header\nsecond\n"


def test_a_journal_in_use_and_another_file_are_refused(restarted, tmp_path):
    restarted()
    with pytest.raises(FolderError, match="in use by another process"):
        Journal(str(tmp_path / "journal"))
    (tmp_path / "diary").write_bytes(b"dear diary\n")
    with pytest.raises(FolderError, match="not a journal"):
        Journal(str(tmp_path / "diary"))
    assert (tmp_path / "diary").read_bytes() == b"dear diary\n"


class _FullDisk(FileIO):
    """A file on a disk with room for three bytes."""

    def write(self, data):
        if self.seek(0, os.SEEK_END) >= 3:
            raise OSError(errno.ENOSPC, "no space left")
        return super().write(data[:3])


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path):
    with _FullDisk(tmp_path / "out", "a+b") as file:
        with pytest.raises(OSError, match="no space"):
            append(file, b"line\n")
        assert os.path.getsize(tmp_path / "out") == 0
