"""Files of a folder that are complete, as they arrive.

A file is complete when its writer closes it or gives it its name, where the system reports that
(inotify). Files that were there before, came as links, or lie where nothing is reported are
complete when their size and time have not changed for a while.
"""

import os
import stat
import time
import warnings
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from visualwords.errors import FolderError
from visualwords.folders import list_files

RESCAN = 60.0  # seconds between two looks at all files: the system may drop events in a burst
# Of files that programs rename when they are complete.
UNFINISHED = (".part", ".partial", ".tmp", ".temp", ".crdownload", ".filepart", ".swp")


class Arrival(NamedTuple):
    """A file, and what it was when it was complete."""

    path: str
    size: int
    modified: int  # in nanoseconds


def look_at(path: str) -> Arrival | None:
    """Return what a regular file is now; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Arrival(path, status.st_size, status.st_mtime_ns)


class Arrivals:
    """Complete files of a folder and its sub-folders, each reported once.

    Parameters
    ----------
    folder : str
    is_done : function
        Whether a file, as it is, needs no more work.
    settle : float
        Seconds after which an unchanged file is complete.
    poll : bool
        Look at all files every ``settle`` seconds instead of waiting for events.
    outside : sequence of str
        Folders and files below that are not looked at.
    """

    def __init__(
        self,
        folder: str,
        is_done: Callable[[Arrival], bool],
        *,
        settle: float = 1.0,
        poll: bool = False,
        outside: Sequence[str] = (),
    ):
        self.folder = folder
        self.is_done = is_done
        self.settle = settle
        self.polls = poll
        self.outside = tuple(os.path.realpath(path) for path in outside)
        self._events: SimpleQueue[tuple[str, bool]] = SimpleQueue()
        self._waiting: dict[str, tuple[Arrival, float]] = {}
        self._next_scan = 0.0
        self._observer: Any = None

    def __enter__(self) -> "Arrivals":
        if not os.path.isdir(self.folder):
            raise FolderError(f"{self.folder}: not a folder; create it first")
        if not self.polls:
            self._observe()
        return self

    def __exit__(self, *_: object) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()

    def wait(self, seconds: float) -> list[Arrival]:
        """Return files that are complete, in order of their names; none after some seconds."""
        end = time.monotonic() + seconds
        while True:
            if time.monotonic() >= self._next_scan:
                self._scan()
            found = self._closed(min(end, self._next_look())) + self._settled()
            if found or time.monotonic() >= end:
                return sorted(found)

    def postpone(self, arrival: Arrival) -> None:
        """Take a file back that was not complete after all."""
        self._waiting[arrival.path] = arrival, time.monotonic()

    @property
    def is_idle(self) -> bool:
        """Whether no file is known that may be completed soon."""
        return not self._waiting

    def _observe(self) -> None:
        """Let the system report changes; poll where it can't."""
        from watchdog.events import FileSystemEvent, FileSystemEventHandler
        from watchdog.observers import Observer

        events = self._events

        class Reporter(FileSystemEventHandler):
            def on_closed(self, event: FileSystemEvent) -> None:  # after writing
                events.put((os.fsdecode(event.src_path), True))

            def on_moved(self, event: FileSystemEvent) -> None:
                events.put((os.fsdecode(event.dest_path), True))

            def on_created(self, event: FileSystemEvent) -> None:
                events.put((os.fsdecode(event.src_path), False))

            def on_modified(self, event: FileSystemEvent) -> None:
                if not event.is_directory:
                    events.put((os.fsdecode(event.src_path), False))

        # new folders inside of new ones may be reported twice, of which watchdog warns
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self._observer = Observer()
        self._observer.schedule(Reporter(), self.folder, recursive=True)
        try:
            self._observer.start()
        except OSError:  # no inotify, or too many watches
            self._observer, self.polls = None, True

    def _closed(self, end: float) -> list[Arrival]:
        """Return files that were closed or renamed; wait for the first report."""
        found: dict[str, Arrival] = {}
        patience = max(0.0, end - time.monotonic())
        while True:
            try:
                path, is_complete = self._events.get(timeout=patience)
            except Empty:
                return list(found.values())
            patience = 0.0
            if os.path.isdir(path):
                self._next_scan = 0.0  # one that came with its files
                return list(found.values())
            now = look_at(path) if self._may_be_image(path) else None
            if now is None or self.is_done(now):
                found.pop(path, None)
                self._waiting.pop(path, None)
            elif is_complete and now.size:
                self._waiting.pop(path, None)
                found[path] = now
            elif path not in found:
                self._waiting.setdefault(path, (now, time.monotonic()))

    def _settled(self) -> list[Arrival]:
        """Return files that have not changed for a while."""
        now, found = time.monotonic(), []
        for path, (before, since) in list(self._waiting.items()):
            if now - since < self.settle:
                continue
            present = look_at(path)
            if present == before:
                found.append(present)
            if present is None or present == before:
                del self._waiting[path]
            else:
                self._waiting[path] = present, now
        return found

    def _scan(self) -> None:
        """Look at all files, which may have come unreported."""
        self._next_scan = time.monotonic() + (self.settle if self.polls else RESCAN)
        clock, now = time.time(), time.monotonic()
        for path in list_files(self.folder)[0]:
            if path in self._waiting or not self._may_be_image(path):
                continue
            present = look_at(path)
            if present is not None and not self.is_done(present):
                age = min(max(0.0, clock - present.modified / 1e9), self.settle)
                self._waiting[path] = present, now - age

    def _next_look(self) -> float:
        first = min((since for _, since in self._waiting.values()), default=float("inf"))
        return min(self._next_scan, first + self.settle)

    def _may_be_image(self, path: str) -> bool:
        name = os.path.basename(path)
        if name.startswith(".") or name.lower().endswith(UNFINISHED):
            return False
        if not self.outside:
            return True
        place = os.path.realpath(path)
        return not any(place == out or place.startswith(out + os.sep) for out in self.outside)
