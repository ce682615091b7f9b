"""How much memory some work takes, measured in a process of its own."""

import os
import sys
import warnings
from collections.abc import Callable

from visualwords.parallel import return_freed_memory


def memory_of(work: Callable[[], object]) -> float | None:
    """Return the megabytes by which a copy of this process grows while it works, at its peak.

    None where processes can't be copied (Windows) or do not report their peak in this way (macOS).
    """
    if not sys.platform.startswith("linux"):
        return None
    return_freed_memory()  # so that new work does not find it there
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of copies of processes with threads; the copy uses none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:  # the copy: never returns
        try:
            before = _status("VmRSS")
            work()
            os.write(writer, str(_status("VmHWM") - before).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return int(text) / 1024 if text else None


def _status(field: str) -> int:
    """Return a number of kilobytes from what Linux says of this process."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))
