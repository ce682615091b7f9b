"""How much memory this process may still take, and giving back what it does not need."""

import ctypes
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["free_memory", "return_freed_memory"]

_STATUS = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")  # of a container


def free_memory() -> int | None:
    """Return the bytes that can be allocated without swapping; None where nobody tells.

    On Linux it is what the system calls available, or less in a container with a limit. Elsewhere
    it is all memory that the machine has.
    """
    found = [n for n in (_available(), _left_in_container()) if n is not None]
    if found:
        return min(found)
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def return_freed_memory() -> None:
    """Give the system what this process has freed but keeps, where the C library can do so."""
    if os.name == "posix":
        with suppress(AttributeError, OSError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)


def _available() -> int | None:
    with suppress(OSError, ValueError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return None


def _left_in_container() -> int | None:
    with suppress(OSError, ValueError):  # "max" is no limit
        limit = int((_GROUP / "memory.max").read_text(encoding="ascii"))
        return max(0, limit - int((_GROUP / "memory.current").read_text(encoding="ascii")))
    return None
