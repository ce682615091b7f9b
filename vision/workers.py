"""Work on the workers of joblib's active backend: threads here, or processes of other machines.

What all pieces of work need is sent to each worker once; only what is its own travels with a piece.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend

__all__ = ["map_on_workers", "n_workers", "within_reach", "workers_share_memory"]


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
        It goes to other processes where the active backend has such, so it must be importable
        there: a function of a module, or a ``partial`` of one.
    pieces : iterable of tuples
    shared : sequence
        Not to be changed: on a worker all pieces see the same objects.
    n_jobs : int or None
        Threads, if there are no other workers; 1 where the function has threads of its own. On
        other workers it has none.

    Examples
    --------
    >>> list(map_on_workers(pow, [(2,), (3,)], shared=[10]))
    [100, 1000]
    """
    run = delayed(_Piecework(function, alone=not workers_share_memory()))
    backend, _ = get_active_backend(prefer="threads")
    one_by_one = getattr(backend, "supports_return_generator", False)
    results = "generator" if one_by_one else "list"
    pool = Parallel(n_jobs=n_jobs, prefer="threads", return_as=results)
    with within_reach(shared) as known:
        # A piece travels inside a tuple. Arrays that are arguments themselves are spread over
        # the workers of a Dask cluster, and one that is lost with its worker can't be had again.
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
    """Yield what to pass in place of values, as ``shared`` or in pieces; on a cluster, futures.

    They are results of work rather than scattered data: the scheduler can have them made again
    when the only worker that has one dies. A piece is worked on where its values are already.

    Examples
    --------
    >>> with within_reach([[1, 2], [3]]) as parts:
    ...     list(map_on_workers(sum, [(part,) for part in parts]))
    [3, 3]
    """
    backend, _ = get_active_backend(prefer="threads")
    client = getattr(backend, "client", None)
    if client is None:
        yield list(values)
        return
    import dask
    from distributed.protocol.pickle import dumps, loads

    # Pieces may be large on purpose; Dask would warn of each.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        yield [
            client.submit(loads, dumps(value), key=f"shared-{uuid4().hex}", pure=False)
            for value in values
        ]


class _Piecework:
    """A function of a piece of work, by whose name Dask's dashboard calls it."""

    def __init__(self, function: Callable[..., Any], alone: bool):
        self.function, self.alone = function, alone
        self.__name__ = getattr(getattr(function, "func", function), "__name__", "work")

    def __call__(self, piece: tuple[Any, ...], *known: Any) -> Any:
        arguments = [_value_of(one) for one in (*known, *piece)]
        if not self.alone:
            return self.function(*arguments)
        with parallel_config(backend="sequential"):  # the worker has others for its other threads
            return self.function(*arguments)


def _value_of(known: Any) -> Any:
    """Return a value, also of a future: joblib itself works here if the cluster has one thread."""
    distributed = sys.modules.get("distributed")
    is_future = distributed is not None and isinstance(known, distributed.Future)
    return known.result() if is_future else known
