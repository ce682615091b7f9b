"""Limits of processor time and memory of this process; whatever it does beyond them ends it."""

import os
import signal

try:
    import resource
except ImportError:  # Windows: the clock of the process that waits is the only limit
    resource = None  # type: ignore[assignment]


def limit(memory: int, seconds: float) -> None:
    """Bound further memory (0: no limit) and processor time (0: no limit) of this process."""
    if resource is None:
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process
    now, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = hard
    if memory and (taken := _address_space()):
        soft = taken + memory if hard == resource.RLIM_INFINITY else min(hard, taken + memory)
    if soft != now:  # macOS, where the memory is not known, refuses some limits that it reports
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Return the bytes of address space that this process has; 0 where that is not known."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
