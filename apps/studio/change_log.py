"""Every change of the images, kept on disk so that it can be undone, also after a restart.

A change is a list of moves from one place to another: images are never deleted but moved to a
trash, and what is added comes, as far as the journal is concerned, from there. A line is appended
before files are moved, and removed if one of them can't be: a step is done as a whole or not at
all. What a killed process did not do is found out when the change is undone.

The folder may come from a stranger, journal included. So every place in it is relative and below
the root, and no link is followed on the way to it.
"""

import errno
import json
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from visualwords.apps.watching.journal import append, open_results
from visualwords.errors import FolderError
from visualwords.files import lock_file, move_without_replacing

HIDDEN = ".studio"  # journal, trash and models; readers of image folders ignore hidden names
JOURNAL = "changes.jsonl"
TRASH = f"{HIDDEN}/trash"
Move = tuple[str, str]  # from, to: places below the root; from or to nowhere (""): an empty folder


class PartlyMovedError(OSError):
    """A step that failed half way on a disk that does not take its files back either."""


@dataclass
class Change:
    """One action of a person.

    Attributes
    ----------
    token : str
        Actions in several steps (many files dropped at once) have one token for all of them.
    what : str
        A few words for people, such as "add to cat".
    moves : list of (from, to)
    accepted : list of (image, label)
        Labels that were confirmed.
    """

    token: str
    what: str
    moves: list[Move]
    accepted: list[tuple[str, str]]


class ChangeLog:
    """The changes of a folder; one process at a time has it.

    Parameters
    ----------
    root : Path
        The journal and the trash are in its hidden folder, made if need be.
    """

    def __init__(self, root: Path):
        self.root = root
        self.n_steps = 0
        self.done: list[Change] = []
        self.undone: list[Change] = []
        self._lock = threading.RLock()
        journal = own_folder(root, HIDDEN) / JOURNAL
        own_folder(root, TRASH)
        if journal.is_symlink() or (journal.exists() and not journal.is_file()):
            raise FolderError(f"{journal}: not a regular file; move it away to start a new one")
        self._file = open_results(str(journal))
        try:
            if not lock_file(self._file):
                raise FolderError(f"{root}: open in another studio; close that one first")
            self._read(journal)
        except BaseException:
            self._file.close()
            raise

    @property
    def accepted(self) -> set[tuple[str, str]]:
        """Images and the labels that were confirmed for them."""
        return {pair for change in self.done for pair in change.accepted}

    def do(
        self,
        token: str,
        what: str,
        moves: Sequence[Move] = (),
        accepted: Sequence[tuple[str, str]] = (),
        *,
        source: Path | None = None,
    ) -> None:
        """Make a change, or one more step of the last one.

        Parameters
        ----------
        token, what, moves, accepted : as in `Change`
        source : Path, optional
            Where a file that is added is now; the journal has its only move.

        Raises
        ------
        OSError
            If the disk is full, or a file can't be moved; nothing has changed then.
        """
        entry = {"change": token, "what": what, "moves": moves, "accepted": accepted}
        with self._lock:
            self._step(entry, moves, source)

    def undo(self) -> str | None:
        """Undo the last change; its words, or None if there is none.

        A file that another program has deleted is left out; ``OSError`` if one can't be moved.
        """
        return self._turn("undo", self.done)

    def redo(self) -> str | None:
        """Repeat the change that was undone last, as `undo` does."""
        return self._turn("redo", self.undone)

    def close(self) -> None:
        """Let another process have the folder."""
        self._file.close()

    def _turn(self, way: str, changes: list[Change]) -> str | None:
        with self._lock:
            if not changes:
                return None
            change = changes[-1]
            back = [(end, start) for start, end in reversed(change.moves)]
            lost = self._step({way: change.token}, back if way == "undo" else change.moves)
            return f"{change.what} (but {lost} of its files are gone)" if lost else change.what

    def _step(
        self, entry: dict[str, Any], moves: Sequence[Move], source: Path | None = None
    ) -> int:
        """Write a line and move all files, or none; return how many were lost before."""
        line = (json.dumps(entry) + "\n").encode()
        begin = append(self._file, line) - len(line)
        moved: list[Move] = []
        lost = 0
        try:
            for start, end in moves:
                try:
                    self._move(start, end, source)
                    moved.append((start, end))
                except FileNotFoundError:
                    if "change" in entry:  # a new one
                        raise
                    lost += not (end and os.path.lexists(self.root / end))
        except BaseException as problem:
            for start, end in reversed(moved):
                try:
                    self._move(end, start)
                except OSError:  # kept in the journal: what was moved can be undone later
                    self._apply(entry)
                    raise PartlyMovedError(*problem.args) from None
            self._file.truncate(begin)
            raise
        self._apply(entry)
        return lost

    def _move(self, start: str, end: str, source: Path | None = None) -> None:
        if not start:
            self._path(end).mkdir(exist_ok=True)
        elif not end:
            with suppress(OSError):  # it has files by now: it stays
                self._path(start).rmdir()
        else:
            origin, target = source or self._path(start), self._path(end)
            status = os.lstat(origin)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not origin.is_dir():
                move_without_replacing(origin, target)
            elif not os.path.lexists(target) or os.path.samestat(status, os.lstat(target)):
                os.rename(origin, target)  # the same: on a disk that ignores case
            else:
                raise FileExistsError(errno.EEXIST, "exists already", end)

    def _path(self, place: str) -> Path:
        """Where a place is, which may itself be a link, but not below one."""
        path = self.root / place
        expected = os.path.join(os.path.realpath(self.root), place)
        if os.path.realpath(path.parent) != os.path.dirname(expected):
            raise OSError(errno.ELOOP, "a link leads there; the studio follows none", place)
        return path

    def _read(self, journal: Path) -> None:
        self._file.seek(0)
        content = self._file.readall()
        whole = content.rfind(b"\n") + 1  # what follows was cut short by a kill
        try:
            for line in content[:whole].splitlines():
                self._apply(json.loads(line))
        except (ValueError, TypeError, LookupError, RecursionError):
            sentence = "not a journal of the studio; move it away to start a new one"
            raise FolderError(f"{journal}: {sentence}") from None
        if whole < len(content):
            self._file.truncate(whole)

    def _apply(self, entry: dict[str, Any]) -> None:
        """Take over a line of the journal."""
        self.n_steps += 1
        if "undo" in entry:
            self.undone.append(self.done.pop())
        elif "redo" in entry:
            self.done.append(self.undone.pop())
        else:
            pairs = (entry["moves"], entry["accepted"])
            moves, accepted = ([(str(a), str(b)) for a, b in found] for found in pairs)
            if not all(_is_own(place) for move in moves for place in move if place):
                raise ValueError("a place outside of the folder")
            self.undone.clear()
            if not (self.done and self.done[-1].token == entry["change"]):
                self.done.append(Change(str(entry["change"]), str(entry["what"]), [], []))
            self.done[-1].moves += moves
            self.done[-1].accepted += accepted


def own_folder(root: Path, place: str) -> Path:
    """A folder of the studio's own, made if need be; a link is refused."""
    folder = root / place
    if os.path.realpath(folder) != os.path.join(os.path.realpath(root), place):
        raise FolderError(f"{folder}: a link; the studio keeps its files here, remove the link")
    folder.mkdir(exist_ok=True)
    return folder


def _is_own(place: str) -> bool:
    """Whether a place is in a class folder or in the trash, by its name alone."""
    names = place.removeprefix(f"{TRASH}/").split("/")
    return "\0" not in place and all(
        name and name[0] != "." and PurePath(name).name == name for name in names
    )
