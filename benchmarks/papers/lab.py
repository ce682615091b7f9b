"""Where an experiment runs: its data folder, its size, its progress and its clock."""

import os
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sized
from pathlib import Path
from typing import Any, TypeVar

from visualwords.errors import FolderError
from visualwords.progress import Progress, Silent

Item = TypeVar("Item")
Found = TypeVar("Found")


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

    def once(self, key: Hashable, make: Callable[[], Found]) -> Found:
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
        found = self.data / name
        if not found.is_dir():
            raise FolderError(
                f"{found}: the data set {name} is missing; name the folder that contains {name} "
                "with --data or VISUALWORDS_DATA, or try --quick on generated data"
            )
        return found

    def steps(self, stage: str, items: Iterable[Item]) -> Iterator[Item]:
        """Iterate over items and show progress."""
        known = items if isinstance(items, Sized) else list(items)
        self.progress.start(stage, len(known))
        for item in known:
            yield item
            self.progress.advance()


def timed(work: Callable[..., Found], *arguments: Any) -> tuple[Found, float]:
    """Return the result of some work and the CPU seconds it took.

    Examples
    --------
    >>> answer, seconds = timed(max, 6, 7)
    >>> answer, seconds < 1
    (7, True)
    """
    start = time.process_time()
    found = work(*arguments)
    return found, time.process_time() - start
