"""Threads: compiled loops on several of this process, and one for each library below us.

See `visualwords.workers` for the rule when work goes through this module.

BLAS and OpenCV start a thread for every core by themselves. Beside our own threads that costs more
than it gains (a training that takes 10 s of one core took 22), it ignores ``--jobs``, and it lets
sums of floats depend on the number of cores. `one_library_thread` keeps them to one.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache, partial, wraps
from typing import Any, TypeVar

_MOST_HELPERS = 256  # of this process, all together

Method = TypeVar("Method", bound=Callable[..., Any])

_lock = threading.Lock()
_inside = 0  # open blocks of `one_library_thread`
_n_modules = 0  # imported when the limits were set
_restore: list[Callable[[], None]] = []


@lru_cache(maxsize=1)
def _helpers_of(process: int) -> ThreadPoolExecutor:
    """Threads that stay, for starting one takes a millisecond; a forked process has its own."""
    return ThreadPoolExecutor(_MOST_HELPERS, "visualwords-helper")


@contextmanager
def helping(tasks: Iterable[Callable[[], None]]) -> Iterator[None]:
    """Offer tasks to other threads; at the end of the body wait for those that have begun.

    Tasks that no thread was free to begin are cancelled: the body must not rely on them. So helper
    threads can ask for help themselves without deadlock.

    Examples
    --------
    >>> with helping([lambda: None]):
    ...     pass
    """
    futures = [_helpers_of(os.getpid()).submit(task) for task in tasks]
    try:
        yield
    finally:
        begun = [future for future in futures if not future.cancel()]
        wait(begun)
    for future in begun:
        future.result()


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads of this process ``n_jobs`` means, whatever the active backend.

    Examples
    --------
    >>> n_threads(2), n_threads(None)
    (2, 1)
    """
    if n_jobs == 1 or (n_jobs is None and "joblib" not in sys.modules):
        return 1
    from joblib.parallel import get_active_backend

    backend, by_default = get_active_backend(require="sharedmem")
    return int(backend.effective_n_jobs(by_default if n_jobs is None else n_jobs))


def map_in_threads(do: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None) -> list[Any]:
    """Return ``do(item)`` of every item, in order.

    The calling thread takes part: there is one thread less to start and to wait for.

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
    helpers = min(n_threads(n_jobs), len(items)) - 1
    if helpers < 1:
        return [do(item) for item in items]
    todo: deque[tuple[int, Any]] = deque(enumerate(items))
    results: list[Any] = [None] * len(items)
    work = partial(_work_off, todo, do, results)
    with helping([work] * helpers):
        work()
    return results


def _work_off(todo: deque[tuple[int, Any]], do: Callable[[Any], Any], results: list[Any]) -> None:
    """Process the remaining items; a failure cancels them."""
    try:
        for place, item in iter(partial(_next, todo), None):
            results[place] = do(item)
    except BaseException:
        todo.clear()
        raise


def _next(todo: deque[tuple[int, Any]]) -> tuple[int, Any] | None:
    try:
        return todo.popleft()
    except IndexError:  # there is nothing left
        return None


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
    if 0 < n <= step:
        do(0, n)
        return
    parts = [(start, min(start + step, n)) for start in range(0, n, step)]
    if last_first:
        parts.reverse()
    map_in_threads(lambda part: do(*part), parts, n_jobs)


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


def with_one_library_thread(method: Method) -> Method:
    """Make a function run inside `one_library_thread`."""

    @wraps(method)
    def limited(*args: Any, **kwargs: Any) -> Any:
        with one_library_thread():
            return method(*args, **kwargs)

    return limited  # type: ignore[return-value]


def _limit() -> list[Callable[[], None]]:
    """Set the limits that do not hold yet; return what takes them back."""
    undo: list[Callable[[], None]] = []
    for library in _libraries(len(sys.modules)).lib_controllers:
        before = library.num_threads
        if before not in (None, 1):
            _set_threads(library, 1)
            undo.append(partial(_set_threads, library, before))
    cv2 = sys.modules.get("cv2")
    if cv2 is not None:
        before = cv2.getNumThreads()
        if before != 1:
            cv2.setNumThreads(1)
            undo.append(lambda: cv2.setNumThreads(before))
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
    """Return the libraries with threads of their own; looked for anew after an import."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
