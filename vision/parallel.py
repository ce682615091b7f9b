"""Parallel work: joblib's workers, threads for compiled loops, and the memory of this process.

Work that may leave this process (an image, a fold, a class, a part of the descriptors) goes through
`map_on_workers`, which runs on any joblib backend: threads by default, processes, other machines.
A compiled loop that fills arrays of this process goes through `map_in_threads` or `in_threads`,
which never leave it.

BLAS and OpenCV start a thread for every core by themselves. Beside our own threads that costs more
than it gains (a training that takes 10 s of one core took 22), it ignores ``--jobs``, and it lets
sums of floats depend on the number of cores. `one_library_thread` keeps them to one.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import chain, islice
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


# Work on joblib's workers


def map_on_workers(
    function: Callable[..., Any],
    pieces: Iterable[tuple[Any, ...]],
    *,
    shared: Sequence[Any] = (),
    n_jobs: int | None = None,
) -> Iterator[Any]:
    """Yield ``function(*shared, *piece)`` for every piece, in order.

    Parameters
    ----------
    function : callable
        It may run in other processes of the active backend, so it must be importable there: a
        function of a module, or a ``partial`` of one.
    pieces : iterable of tuples
    shared : sequence
        Not to be changed: on a worker all pieces see the same objects.
    n_jobs : int or None
        Threads, if the backend has no other workers; 1 where the function uses threads itself. On
        other workers the function runs in one thread.

    Examples
    --------
    >>> list(map_on_workers(pow, [(2,), (3,)], shared=[10]))
    [100, 1000]
    """
    is_local = workers_share_memory()
    pieces = iter(pieces)
    begin = list(islice(pieces, 2))
    pieces = chain(begin, pieces)
    if is_local and (len(begin) < 2 or n_threads(n_jobs) == 1):  # joblib's pool takes 0.1 ms
        yield from (function(*shared, *piece) for piece in pieces)
        return
    from joblib import Parallel, delayed

    run = delayed(_Piecework(function, alone=not is_local))
    one_by_one = getattr(_backend()[0], "supports_return_generator", False)
    pool = Parallel(
        n_jobs=n_jobs,
        prefer="threads",
        return_as="generator" if one_by_one else "list",
        pre_dispatch="2 * n_jobs" if is_local else "3 * n_jobs",  # messages take their time
    )
    with within_reach(shared) as known:
        # A piece travels inside a tuple: joblib's Dask backend would scatter arrays that are
        # arguments themselves, and scattered data is lost with the worker that holds it.
        yield from pool(run(tuple(piece), *known) for piece in pieces)


def workers_share_memory() -> bool:
    """Whether the active backend's workers are threads of this process."""
    if "joblib" not in sys.modules:  # nobody has chosen another backend
        return True
    return bool(getattr(_backend()[0], "supports_sharedmem", False))


def n_workers() -> int:
    """How many pieces other processes can work on at once; 1 if there are none.

    Examples
    --------
    >>> n_workers()
    1
    """
    backend, n_jobs = _backend()
    is_local = getattr(backend, "supports_sharedmem", False)
    return 1 if is_local else max(1, backend.effective_n_jobs(n_jobs))


@contextmanager
def within_reach(values: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield what to pass in place of values, as ``shared`` or in pieces, for several maps.

    A backend whose workers have memory of their own may have a method ``sharing``: a context
    manager that sends each value once and yields references, which the backend replaces by the
    values on its workers. Elsewhere the values themselves are passed.

    Examples
    --------
    >>> with within_reach([[1, 2], [3]]) as parts:
    ...     list(map_on_workers(sum, [(part,) for part in parts]))
    [3, 3]
    """
    sharing = getattr(_backend()[0], "sharing", None)
    if sharing is None:
        yield list(values)
        return
    with sharing(values) as references:
        yield references


class _Piecework:
    """A function of a piece of work, with the name that dashboards show."""

    def __init__(self, function: Callable[..., Any], alone: bool):
        self.function, self.alone = function, alone
        self.__name__ = getattr(getattr(function, "func", function), "__name__", "work")

    def __call__(self, piece: tuple[Any, ...], *known: Any) -> Any:
        if not self.alone:
            return self.function(*known, *piece)
        from joblib import parallel_config

        # other threads of the worker have other pieces
        with parallel_config(backend="sequential"), one_library_thread():
            return self.function(*known, *piece)


def _backend(**wanted: str) -> tuple[Any, int | None]:
    """Joblib's active backend, threads by default, and its number of jobs."""
    from joblib.parallel import get_active_backend

    return get_active_backend(**(wanted or {"prefer": "threads"}))


# Threads of this process


def n_processors() -> int:
    """Processors that this process may use: fewer in a container, or by ``LOKY_MAX_CPU_COUNT``."""
    if hasattr(os, "sched_getaffinity"):
        known = [len(os.sched_getaffinity(0))]
    else:
        known = [os.cpu_count() or 1]
    with suppress(OSError, ValueError):  # "max" is no quota
        quota, period = (_GROUP / "cpu.max").read_text(encoding="ascii").split()
        known.append(ceil(int(quota) / int(period)))
    with suppress(KeyError, ValueError):
        known.append(int(os.environ["LOKY_MAX_CPU_COUNT"]))
    return max(1, min(known))


def n_threads(n_jobs: int | None) -> int:
    """How many threads of this process ``n_jobs`` means, whatever the active backend.

    Examples
    --------
    >>> n_threads(2), n_threads(None)
    (2, 1)
    """
    if n_jobs == 1 or ("joblib" not in sys.modules and (n_jobs is None or n_jobs > 0)):
        return n_jobs or 1
    backend, by_default = _backend(require="sharedmem")
    return int(backend.effective_n_jobs(by_default if n_jobs is None else n_jobs))


def map_in_threads(
    do: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None
) -> list[Result]:
    """``do(item)`` of every item, in order; a failure cancels the items not yet begun.

    Parameters
    ----------
    do : function of one item
        Must release the GIL (``nogil``) to gain anything.
    items : iterable
    n_jobs : int or None
        Threads, as joblib counts them. They are not joblib's own, which takes ten milliseconds to
        notice that its work is done.

    Examples
    --------
    >>> map_in_threads(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
    """
    items = list(items)
    n = min(n_threads(n_jobs), len(items))
    if n < 2:
        return [do(item) for item in items]
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(do, items))


def in_threads(
    do: Callable[[int, int], None],
    n: int,
    step: int,
    n_jobs: int | None,
    *,
    last_first: bool = False,
) -> None:
    """Call ``do(start, end)`` for all steps of 0 … n.

    Parameters
    ----------
    do : function of two numbers
        Must release the GIL (``nogil``) to gain anything, and write only its own part.
    n, step : int
    n_jobs : int or None
        Threads, as joblib counts them.
    last_first : bool
        Whether to begin at the end, where the last steps take longest.
    """
    parts = [(start, min(start + step, n)) for start in range(0, n, step)]
    if last_first:
        parts.reverse()
    map_in_threads(lambda part: do(*part), parts, n_jobs if len(parts) > 1 else 1)


# Threads of the libraries below us

_lock = threading.Lock()
_inside = 0  # open blocks of `one_library_thread`
_n_modules = 0  # imported when the limits were set
_restore: list[Callable[[], None]] = []


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Let BLAS, OpenMP and OpenCV use one thread while the block runs, in all threads.

    Blocks may be nested and may overlap in several threads; what was before comes back after the
    last of them. A library that is imported inside a block is limited from the next block on.

    Examples
    --------
    >>> with one_library_thread():
    ...     pass
    """
    global _inside, _n_modules
    with _lock:
        if not _inside or len(sys.modules) != _n_modules:
            _n_modules = len(sys.modules)
            _restore.extend(_limit())
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                while _restore:
                    _restore.pop()()


with_one_library_thread = one_library_thread()  # makes a function run inside such a block


def _limit() -> list[Callable[[], None]]:
    """Set the limits that do not hold yet; return what takes them back."""
    undo: list[Callable[[], None]] = []
    for library in _libraries(len(sys.modules)).lib_controllers:
        before = library.num_threads
        if before not in (None, 1):
            _set_threads(library, 1)
            undo.append(partial(_set_threads, library, before))
    cv2 = sys.modules.get("cv2")
    if cv2 is not None and (before := cv2.getNumThreads()) != 1:
        cv2.setNumThreads(1)
        undo.append(partial(cv2.setNumThreads, before))
    return undo


def _set_threads(library: Any, n_threads: int) -> None:
    """Set the number of threads of a library.

    threadpoolctl lets only the first thread that set it for OpenBLAS do so; here the thread that
    leaves last takes back what another one set.
    """
    take_control = getattr(library, "clear_controlling_thread", None)  # newer versions have it
    if take_control is not None:
        take_control(force=True)
    library.set_num_threads(n_threads)
    if take_control is not None:
        take_control(force=True)


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    """Libraries with threads of their own; looked for anew after an import."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# Memory of this process

_STATUS = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")  # of a container


def free_memory() -> int | None:
    """Bytes that can be allocated without swapping; None if unknown.

    On Linux it is what the system calls available, or less in a container with a limit. Elsewhere
    it is all memory that the machine has.
    """
    known = []
    with suppress(OSError, ValueError):
        lines = _STATUS.read_text(encoding="ascii").splitlines()
        known += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    with suppress(OSError, ValueError):  # "max" is no limit
        limit = int((_GROUP / "memory.max").read_text(encoding="ascii"))
        known.append(limit - int((_GROUP / "memory.current").read_text(encoding="ascii")))
    if not known:
        with suppress(AttributeError, OSError, ValueError):
            known.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return max(0, min(known)) if known else None


def return_freed_memory() -> None:
    """Give the system what this process has freed but keeps, where the C library can do so."""
    if os.name == "posix":
        with suppress(AttributeError, OSError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)
