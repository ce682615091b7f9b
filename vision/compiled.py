"""The one way to compile a loop: numba's ``njit`` with a cache that can fail without harm.

numba writes compiled code next to the source, or into the user's cache directory. Where neither
can be written (a read-only installation without a home) the loop is compiled in memory; where
the entry found is damaged it is compiled and written again. One warning says so.

numba has no public way to extend its cache; ``numba.core.caching`` is private. With a numba whose
cache has changed, loops are compiled in memory too, with the same warning.

Hand-written loops may use the vector instructions that numba compiles for: those of the host
unless ``NUMBA_CPU_NAME=generic`` or ``NUMBA_CPU_FEATURES`` says otherwise, as clusters of unlike
machines need. LLVM ends the process when code asks for an instruction that the target lacks, so
the host's own abilities do not count.
"""

import os
import warnings
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np

try:
    from numba.core.caching import FunctionCache
except ImportError:  # a later numba
    FunctionCache = None
try:
    from numba.core.runtime import rtsys
except ImportError:
    rtsys = None

COMPILED_AGAIN = (
    "loops are compiled again in every process. "
    "Set NUMBA_CACHE_DIR to a directory that can be written."
)
OVERRIDE = "VISUALWORDS_VECTOR_BYTES"
WIDTHS = (0, 16, 32, 64)

COMPILED_TYPES = (np.float32, np.float64, np.uint8, np.uint16)  # that loops take as they are

Compiled = Callable[..., Any]  # what arguments fit, numba decides on each call


class _ForgivingCache(FunctionCache or object):  # type: ignore[misc]
    """numba's cache of compiled functions; any failure of it means compiling again."""

    def __init__(self, function: Compiled, inlined: tuple[ModuleType, ...]):
        super().__init__(function)
        files = [os.stat(str(module.__file__)) for module in inlined]
        stamps = [(file.st_mtime, file.st_size) for file in files]
        self._cache_file._source_stamp = (self._cache_file._source_stamp, *stamps)
        self._has_vectors = vector_bytes.__name__ in function.__globals__

    def _index_key(self, sig, codegen):
        """numba's key names the target; the width of hand-written vectors may be limited."""
        width = (vector_bytes(),) if self._has_vectors else ()
        return (*super()._index_key(sig, codegen), *width)

    def load_overload(self, sig, target_context):
        try:
            try:  # numba's own method imports all that compiling needs first, which takes 0.3 s
                rtsys.initialize(target_context)
                load, guard = self._load_overload, self._guard_against_spurious_io_errors
            except AttributeError:  # a later numba
                return super().load_overload(sig, target_context)
            with guard():
                return load(sig, target_context)
        except Exception as problem:  # a damaged entry can raise anything while it is unpickled
            self._start_anew(problem)
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except Exception as problem:  # likewise, and a full disk
            self._give_up(problem)

    def _start_anew(self, problem: Exception) -> None:
        """Delete the entry, so that what is compiled now takes its place."""
        try:
            self.flush()
        except Exception:
            self._give_up(problem)
        else:
            _warn_once(f"{self.cache_path}: compiled code was damaged and is compiled again")

    def _give_up(self, problem: Exception) -> None:
        self.disable()
        _warn_once(
            f"{self.cache_path}: compiled code can't be kept here ({problem!r}); {COMPILED_AGAIN}"
        )


_warned = False


def _warn_once(reason: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(reason, RuntimeWarning, stacklevel=3)


def njit(*, inlined: tuple[ModuleType, ...] = (), **options: Any) -> Callable[[Compiled], Compiled]:
    """Compile a function on its first call, without the GIL, and keep the result on disk.

    Parameters
    ----------
    inlined : tuple of modules
        Whose intrinsics become part of the function.
    **options
        Passed to ``numba.njit`` (``fastmath``, ``parallel``, ``inline``, …).

    Notes
    -----
    numba's cache notices changes of the file that holds the function, and this one those of the
    files that are named: a function compiled here may call only compiled functions of its own
    file, and intrinsics of that and of those. Functions whose file imports :func:`vector_bytes` are
    kept for each width.
    """

    def compile_lazily(function: Compiled) -> Compiled:
        # Sums in any order depend on how a function was optimised, alone or with its caller. Else a
        # process that compiles would call the former, and one that loads the latter.
        inside = "fastmath" in options
        dispatcher = numba.njit(nogil=True, forceinline=inside, **options)(function)
        if not numba.config.DISABLE_JIT:
            try:
                dispatcher._cache = _ForgivingCache(function, inlined)
            except (RuntimeError, OSError) as problem:  # "no locator available": nowhere to write
                _warn_once(f"{problem}; {COMPILED_AGAIN}")
            except (AttributeError, TypeError):  # numba's private cache is not as it was
                _warn_once(f"numba {numba.__version__} has another cache; {COMPILED_AGAIN}")
        return dispatcher

    return compile_lazily


@cache
def _features() -> dict[str, bool]:
    """The features that numba passes to LLVM; asking for the host's takes a millisecond."""
    given = numba.config.CPU_FEATURES
    if given is not None:  # "+avx2,-avx512f"; what the processor's name implies is not known here
        return {name[1:]: name[0] == "+" for name in given.split(",") if name}
    host = dict(llvm.get_host_cpu_features())
    if numba.config.ENABLE_AVX:
        return host
    return {name: has for name, has in host.items() if not name.startswith("avx")}


def vector_bytes() -> int:
    """The bytes in the widest vector of whole numbers of an x86 target: 64, 32 or 16.

    0 for other processors, and where nothing is compiled (``NUMBA_DISABLE_JIT``). The environment
    variable ``VISUALWORDS_VECTOR_BYTES`` limits it; 0 selects the loops for any processor.

    Examples
    --------
    >>> vector_bytes() in (0, 16, 32, 64)
    True
    """
    if numba.config.DISABLE_JIT or not llvm.get_process_triple().startswith("x86_64"):
        return 0
    most = 64 if _features().get("avx512bw") else 32 if _features().get("avx2") else 16
    limit = os.environ.get(OVERRIDE, "").strip() or str(most)
    if limit not in map(str, WIDTHS):
        raise ValueError(f"{OVERRIDE}={limit}; choose one of {', '.join(map(str, WIDTHS))}")
    return min(most, int(limit))


def as_compiled(values: np.ndarray) -> np.ndarray:
    """Values of a type that compiled loops take as it is."""
    return values if values.dtype in COMPILED_TYPES else values.astype(np.float64)


def take(X: Any, indices: np.ndarray) -> Any:
    """Rows of a matrix, or members of a list of sets, by number.

    Examples
    --------
    >>> take(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    return [X[i] for i in indices] if isinstance(X, list | tuple) else X[indices]
