"""Where an experiment runs and is registered: its data folder, its clock and its memory."""

import importlib
import inspect
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from benchmarks.papers.results import Results
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

    Attributes
    ----------
    progress : Progress
        Shows the steps of the experiment; silent unless it is set.
    """

    def __init__(self, data: str | os.PathLike[str], quick: bool = False):
        self.data, self.quick = Path(data), quick
        self.progress: Progress = Silent()
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
    """The result of some work and the CPU seconds of its fastest run.

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


class Measured(NamedTuple):
    """A training and a test in a process of their own."""

    score: float
    train_seconds: float
    test_seconds: float
    growth: float | None = None
    """Megabytes by which the process grew while it trained, at its peak; None if unknown."""


def measured(
    train: Callable[[], Any], X: Any, score: Callable[[Any], float], copy: bool = True
) -> Measured:
    """Train, predict the rows of X and score the answers, in a copy of this process.

    The copy's peak of memory is that of this training alone. It inherits compiled loops: warm up
    first. Only Linux offers both a copy and its peak; elsewhere it is done here.
    """
    if copy and sys.platform.startswith("linux"):
        return _in_copy(lambda: measured(train, X, score, copy=False))
    before = _status("VmRSS")
    model, train_seconds = timed(train)
    growth = (_status("VmHWM") - before) / 1024 if before else None
    answers, test_seconds = timed(model.predict, X, runs=2)
    return Measured(float(score(answers)), train_seconds, test_seconds, growth)


def _in_copy(work: Callable[[], Measured]) -> Measured:
    """Do some work in a copy of this process."""
    return_freed_memory()  # so that new work does not find it there
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    copy = fork.Process(target=lambda: sender.send(work()))
    with warnings.catch_warnings():
        # Newer Pythons warn of copies of processes with threads; the copy uses none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        copy.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError as problem:
        message = "training in a copy of the process failed: see the message above"
        raise ChildProcessError(message) from problem
    finally:
        copy.join()


def _status(field: str) -> int:
    """A number of kilobytes from what Linux reports about this process; 0 elsewhere."""
    if not sys.platform.startswith("linux"):
        return 0
    with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


ICD = "J. Wu: A Fast Dual Method for HIK SVM Learning, 2010"
PMK = "K. Grauman, T. Darrell: Pyramid Match Kernels, 2006"
PMSVM = "H. Yang, J. Wu: Practical Large Scale Classification with Additive Kernels, 2012"
GINT = "P. Li: Generalized Intersection Kernel, 2016"
GCS = "S. Boughorbel et al.: GCS Kernel for SVM-Based Image Recognition, 2006"

SECTIONS = (
    *("icd_solvers", "icd_pedestrians", "icd_objects", "icd_defaults"),
    *("pmk_matching", "pmk_objects", "pmk_caltech"),
    *("pmsvm_gradient", "pmsvm_methods", "gint", "gcs"),
)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Parameters
    ----------
    name : str
    paper, place : str
        Whose figures these are, and where they stand there.
    run : function of a `Lab`
        Its docstring is the text of the page.
    data : tuple of str
        Folders that a full run needs; none: the data are generated.
    minutes : float
        CPU time of a full run, roughly.
    """

    name: str
    paper: str
    place: str
    run: Callable[[Lab], Results]
    data: tuple[str, ...] = ()
    minutes: float = 1.0

    @property
    def text(self) -> str:
        """The page's text, in Markdown."""
        return inspect.getdoc(self.run) or ""

    @property
    def missing(self) -> str:
        """What of the paper's table can't be repeated: first sentence of the last paragraph."""
        paragraph = " ".join(self.text.partition("**Not repeated.** ")[2].split())
        return paragraph.partition(". ")[0].rstrip(".")

    @property
    def what(self) -> str:
        """The first line of the text."""
        return self.text.partition("\n")[0]


_KNOWN: dict[str, Experiment] = {}


def experiment(name: str, paper: str, place: str, **options: Any) -> Callable[[Any], Any]:
    """Register a function as an experiment; the parameters are those of `Experiment`."""

    def register(run: Callable[[Lab], Results]) -> Callable[[Lab], Results]:
        _KNOWN[name] = Experiment(name, paper, place, run, **options)
        return run

    return register


def all_experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of `SECTIONS`."""
    modules = [importlib.import_module(f"benchmarks.papers.{name}").__name__ for name in SECTIONS]
    ordered = sorted(_KNOWN.values(), key=lambda one: modules.index(one.run.__module__))
    return {one.name: one for one in ordered}
