"""Where an experiment runs: its data folder, its size, its progress, its clock and its memory."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sized
from pathlib import Path
from typing import Any, TypeVar

from visualwords.errors import FolderError
from visualwords.parallel import return_freed_memory
from visualwords.progress import Progress, Silent

Item = TypeVar("Item")
Value = TypeVar("Value")


class Lab:
    """The environment of an experiment.

    Parameters
    ----------
    data : path-like
        The folder that holds the data sets.
    quick : bool
        Use small generated data, the same on every machine, to test the code.
    progress : Progress, optional
    """

    def __init__(
        self, data: str | os.PathLike[str], quick: bool = False, progress: Progress | None = None
    ):
        self.data = Path(data)
        self.quick = quick
        self.progress = progress or Silent()
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Compute what several experiments of a run share once, and keep it.

        Examples
        --------
        >>> lab = Lab(".")
        >>> lab.once("answer", lambda: 42), lab.once("answer", lambda: 0)
        (42, 42)
        """
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def folder(self, name: str) -> Path:
        """Return the folder of a data set; raise `FolderError` if it is missing."""
        folder = self.data / name
        if not folder.is_dir():
            raise FolderError(
                f"{folder}: the data set {name} is missing; name the folder that contains {name} "
                "with --data or VISUALWORDS_DATA, or try --quick on generated data"
            )
        return folder

    def steps(self, stage: str, items: Iterable[Item]) -> Iterator[Item]:
        """Iterate over items and show progress."""
        known = items if isinstance(items, Sized) else list(items)
        self.progress.start(stage, len(known))
        for item in known:
            yield item
            self.progress.advance()


def timed(work: Callable[..., Value], *arguments: Any, runs: int = 1) -> tuple[Value, float]:
    """Return the result of some work and the CPU seconds of its fastest run.

    The first of several runs warms up at the very shape and number of classes that is timed, so
    that no loop is compiled in the fastest.

    Examples
    --------
    >>> answer, seconds = timed(max, 6, 7)
    >>> answer, seconds < 1
    (7, True)
    """
    least = float("inf")
    for _ in range(runs):
        start = time.process_time()
        result = work(*arguments)
        least = min(least, time.process_time() - start)
    return result, least


def memory_of(work: Callable[[], object]) -> float | None:
    """Return the megabytes by which a copy of this process grows while it works, at its peak.

    None where processes can't be copied (Windows) or do not report their peak in this way (macOS).
    """
    if not sys.platform.startswith("linux"):
        return None
    return_freed_memory()  # so that new work does not find it there
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of copies of processes with threads; the copy uses none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:  # the copy: never returns
        try:
            before = _status("VmRSS")
            work()
            os.write(writer, str(_status("VmHWM") - before).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return int(text) / 1024 if text else None


def _status(field: str) -> int:
    """A number of kilobytes from what Linux reports about this process."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))
