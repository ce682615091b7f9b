"""Pieces of work on the workers of joblib's active backend: threads, processes, other machines.

There are two ways to run things in parallel, and one rule. Work that may leave this process (an
image, a fold, a class, a part of the descriptors) goes through `map_on_workers`, which runs on any
joblib backend. A compiled loop that fills arrays of this process goes through
`visualwords.threads`, which starts in microseconds and never leaves it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend

from visualwords.threads import n_threads, one_library_thread

__all__ = ["InFile", "map_on_workers", "n_workers", "within_reach", "workers_share_memory"]


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
    if workers_share_memory() and n_threads(n_jobs) == 1:  # joblib's pool takes 0.1 ms to make
        yield from (function(*shared, *piece) for piece in pieces)
        return
    run = delayed(_Piecework(function, alone=not workers_share_memory()))
    backend, _ = get_active_backend(prefer="threads")
    one_by_one = getattr(backend, "supports_return_generator", False)
    results = "generator" if one_by_one else "list"
    ahead = "2 * n_jobs" if workers_share_memory() else "3 * n_jobs"  # messages take their time
    pool = Parallel(n_jobs=n_jobs, prefer="threads", return_as=results, pre_dispatch=ahead)
    with within_reach(shared) as known:
        # A piece travels inside a tuple: joblib's Dask backend would scatter arrays that are
        # arguments themselves, and scattered data is lost with the worker that holds it.
        yield from pool(run(tuple(piece), *known) for piece in pieces)


def workers_share_memory() -> bool:
    """Return whether the active backend's workers are threads of this process."""
    backend, _ = get_active_backend(prefer="threads")
    return bool(getattr(backend, "supports_sharedmem", False))


def n_workers() -> int:
    """Return how many pieces other processes can work on at once; 1 if there are none.

    Examples
    --------
    >>> n_workers()
    1
    """
    if workers_share_memory():
        return 1
    backend, n_jobs = get_active_backend(prefer="threads")
    return max(1, backend.effective_n_jobs(n_jobs))


@contextmanager
def within_reach(values: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield what to pass in place of values, as ``shared`` or in pieces, for several maps.

    A backend whose workers have memory of their own may have a method ``sharing``: a context
    manager that sends each value once and yields references, which the backend replaces by the
    values on its workers, or an `InFile`, which is read there. Elsewhere the values themselves are
    passed.

    Examples
    --------
    >>> with within_reach([[1, 2], [3]]) as parts:
    ...     list(map_on_workers(sum, [(part,) for part in parts]))
    [3, 3]
    """
    backend, _ = get_active_backend(prefer="threads")
    sharing = getattr(backend, "sharing", None)
    if sharing is None:
        yield list(values)
        return
    with sharing(values) as references:
        yield references


class InFile:
    """An array that `numpy.save` wrote to a file, which workers map into memory.

    It is no array until a piece of work begins: a scheduler unpacks what it hands on.
    """

    def __init__(self, path: Path):
        self.path = path

    def read(self) -> np.ndarray:
        # "c": pages that are written to are copied, for compiled loops take writable arrays
        return np.load(self.path, mmap_mode="c")


class _Piecework:
    """A function of a piece of work, with the name that dashboards show."""

    def __init__(self, function: Callable[..., Any], alone: bool):
        self.function, self.alone = function, alone
        self.__name__ = getattr(getattr(function, "func", function), "__name__", "work")

    def __call__(self, piece: tuple[Any, ...], *known: Any) -> Any:
        if not self.alone:
            return self.function(*known, *piece)
        inputs = [x.read() if isinstance(x, InFile) else x for x in (*known, *piece)]
        # other threads of the worker have other pieces
        with parallel_config(backend="sequential"), one_library_thread():
            return self.function(*inputs)
