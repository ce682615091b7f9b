"""Compiled loops on several threads of this process."""

from collections.abc import Callable

from joblib import Parallel, delayed, effective_n_jobs


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
        Must let other threads run (``nogil``) to gain anything, and write only what is its own.
    n, step : int
    n_jobs : int or None
        Threads, as joblib counts them.
    last_first : bool
        Whether to begin at the end, where the last steps take longest.
    """
    parts = [(start, min(start + step, n)) for start in range(0, n, step)]
    if last_first:
        parts.reverse()
    if len(parts) <= 1 or effective_n_jobs(n_jobs) == 1:
        for part in parts:
            do(*part)
    else:
        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(do)(*part) for part in parts)
