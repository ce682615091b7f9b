"""Keep the libraries below us to one thread, so that ``n_jobs`` alone decides how many are used.

BLAS and OpenCV start a thread for every core by themselves. Beside our own threads that costs more
than it gains (a training that takes 10 s of one core took 22), it ignores ``--jobs``, and it lets
sums of floats depend on the number of cores.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

_lock = threading.Lock()
_inside = 0
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


def with_one_library_thread(method: Method) -> Method:
    """Make a function run inside `one_library_thread`."""

    @wraps(method)
    def limited(*args: Any, **kwargs: Any) -> Any:
        with one_library_thread():
            return method(*args, **kwargs)

    return limited  # type: ignore[return-value]


def _limit() -> list[Callable[[], None]]:
    """Set the limits; return what takes them back."""
    _take_control()
    libraries = _libraries(len(sys.modules)).limit(limits=1)

    def restore() -> None:
        _take_control()
        libraries.restore_original_limits()
        _take_control()

    undo: list[Callable[[], None]] = [restore]
    cv2 = sys.modules.get("cv2")
    if cv2 is not None:
        before = cv2.getNumThreads()
        if before != 1:
            cv2.setNumThreads(1)
            undo.append(lambda: cv2.setNumThreads(before))
    return undo


def _take_control() -> None:
    """Let this thread set the limits of OpenBLAS.

    threadpoolctl lets only the first thread that set them do so; here the thread that leaves last
    takes back what another one set.
    """
    import threadpoolctl

    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):  # older versions let any thread set them
        openblas.clear_controlling_thread(force=True)


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    """Return the libraries with threads of their own; looked for anew after an import."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
