"""Every change of the images, kept on disk so that it can be undone, also after a restart.

A change is a list of moves from one place to another: images are never deleted but moved to a
trash, and what is added comes, as far as the journal is concerned, from there. A line is appended
before the files are moved. Whatever a killed process did not do is found out when the change is
undone: only files that are where the change would have put them are moved back.
"""

import json
import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from visualwords.apps.studio.class_folders import HIDDEN
from visualwords.apps.watching.journal import append, open_results
from visualwords.errors import FolderError
from visualwords.files import lock_file, move_without_replacing

JOURNAL = "changes.jsonl"
TRASH = f"{HIDDEN}/trash"
Move = tuple[str, str]  # from, to: places below the root; from nowhere ("") a folder is made


@dataclass
class Change:
    """What one action of a person did.

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
    moves: list[Move] = field(default_factory=list)
    accepted: list[tuple[str, str]] = field(default_factory=list)


class ChangeLog:
    """The changes of a folder; one process at a time has it.

    Parameters
    ----------
    root : Path
        The journal and the trash are in its hidden folder, made if need be.
    """

    def __init__(self, root: Path):
        self.root = root
        self.done: list[Change] = []
        self.undone: list[Change] = []
        self._lock = threading.RLock()
        (root / TRASH).mkdir(parents=True, exist_ok=True)
        self._file = open_results(str(root / HIDDEN / JOURNAL))
        try:
            if not lock_file(self._file):
                raise FolderError(f"{root}: open in another studio; close that one first")
            self._replay()
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
            If the disk is full, or a file can't be moved; moves before it are done, and undoable.
        """
        with self._lock:
            self._write({"change": token, "what": what, "moves": moves, "accepted": accepted})
            self._remember(Change(token, what, list(moves), list(accepted)))
            for start, end in moves:
                with suppress(FileNotFoundError):  # deleted by another program meanwhile
                    origin = self.root / start if source is None else source
                    self._move(origin, self.root / end, start)

    def undo(self) -> str | None:
        """Undo the last change; return what it was, or None if there is none."""
        with self._lock:
            if not self.done:
                return None
            change = self.done[-1]
            self._write({"undo": change.token})
            self.undone.append(self.done.pop())
            lost = 0
            for start, end in reversed(change.moves):
                lost += not self._back(start, end)
            return _with_lost(change.what, lost)

    def redo(self) -> str | None:
        """Do the change again that was undone last."""
        with self._lock:
            if not self.undone:
                return None
            change = self.undone[-1]
            self._write({"redo": change.token})
            self.done.append(self.undone.pop())
            lost = 0
            for start, end in change.moves:
                try:
                    self._move(self.root / start, self.root / end, start)
                except OSError:
                    lost += 1
            return _with_lost(change.what, lost)

    def close(self) -> None:
        """Let other processes have the folder."""
        self._file.close()

    def _move(self, source: Path, target: Path, start: str) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not start:
            target.mkdir(exist_ok=True)
        elif source.is_dir():
            if target.exists() and not _is_same(source, target):
                raise FileExistsError(f"{target} exists")
            os.rename(source, target)
        else:
            move_without_replacing(source, target)

    def _back(self, start: str, end: str) -> bool:
        """Move a file or folder back; False if it is not there, or its old place is taken."""
        try:
            if start:
                self._move(self.root / end, self.root / start, start)
            else:
                (self.root / end).rmdir()  # fails unless it is empty
        except OSError:
            return False
        with suppress(OSError):  # of the trash: a folder that is empty now
            parent = PurePosixPath(end).parent
            if str(parent).startswith(TRASH + "/"):
                (self.root / parent).rmdir()
        return True

    def _remember(self, change: Change) -> None:
        self.undone.clear()
        if self.done and self.done[-1].token == change.token:
            self.done[-1].moves += change.moves
            self.done[-1].accepted += change.accepted
        else:
            self.done.append(change)

    def _write(self, entry: dict[str, Any]) -> None:
        append(self._file, (json.dumps(entry) + "\n").encode())

    def _replay(self) -> None:
        self._file.seek(0)
        content = self._file.readall()
        whole = content.rfind(b"\n") + 1  # what follows was cut short by a kill
        if whole < len(content):
            self._file.truncate(whole)
        for line in content[:whole].splitlines():
            try:
                self._apply(json.loads(line))
            except (ValueError, TypeError, KeyError, IndexError):
                raise FolderError(
                    f"{self.root / HIDDEN / JOURNAL}: not a journal of the studio; move it away to "
                    "start a new one"
                ) from None

    def _apply(self, entry: dict[str, Any]) -> None:
        if "undo" in entry:
            self.undone.append(self.done.pop())
        elif "redo" in entry:
            self.done.append(self.undone.pop())
        else:
            moves, accepted = _pairs(entry["moves"]), _pairs(entry["accepted"])
            self._remember(Change(str(entry["change"]), str(entry["what"]), moves, accepted))


def _pairs(found: Iterable[Iterable[str]]) -> list[tuple[str, str]]:
    return [(str(first), str(second)) for first, second in found]


def _is_same(source: Path, target: Path) -> bool:
    """Whether two names are of one folder, as on disks that ignore case."""
    return os.path.samefile(source, target)


def _with_lost(what: str, lost: int) -> str:
    if not lost:
        return what
    return f"{what} (but {lost} of its files could not be moved: they are gone or in the way)"
