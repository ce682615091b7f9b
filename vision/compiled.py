"""The one way to compile a loop: numba's ``njit`` with a cache that can fail without harm.

numba writes compiled code next to the source, or into the user's cache directory. Where neither
can be written (a read-only installation without a home) or the entry found is damaged, the loop
is compiled in memory instead and one warning says so.
"""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., Any])


class _ForgivingCache(FunctionCache):
    """numba's cache of compiled functions; any failure of it means compiling again."""

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception as problem:  # a damaged entry can raise anything while it is unpickled
            self._give_up(problem)
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except Exception as problem:  # likewise, and a full disk
            self._give_up(problem)

    def _give_up(self, problem: Exception) -> None:
        self.disable()
        _warn_once(f"{self.cache_path}: compiled code can't be kept here ({problem!r})")


_warned = False


def _warn_once(reason: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{reason}; loops are compiled again in every process. "
            "Set NUMBA_CACHE_DIR to an empty directory that can be written.",
            RuntimeWarning,
            stacklevel=3,
        )


def njit(**options: Any) -> Callable[[Function], Function]:
    """Compile a function on its first call, without the GIL, and keep the result on disk.

    Parameters
    ----------
    **options
        Passed to ``numba.njit`` (``fastmath``, ``parallel``, ``inline``, …).

    Notes
    -----
    numba's cache notices changes of the file that holds the function and of no other: a function
    compiled here may call only compiled functions of its own file.
    """

    def compile_lazily(function: Function) -> Function:
        dispatcher = numba.njit(nogil=True, **options)(function)
        if not numba.config.DISABLE_JIT:
            try:
                dispatcher._cache = _ForgivingCache(function)
            except RuntimeError as problem:  # "no locator available": nowhere to write
                _warn_once(str(problem))
        return dispatcher

    return compile_lazily
