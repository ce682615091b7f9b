"""What a process may still take, and what it gives back."""

import ctypes
import os
import sys
from pathlib import Path

import pytest

from visualwords.memory import free_memory, return_freed_memory


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return os.sysconf("SC_PAGE_SIZE") * pages


def test_some_memory_is_free():
    found = free_memory()
    assert found is None or found > 0


def _can_trim() -> bool:
    return sys.platform.startswith("linux") and hasattr(ctypes.CDLL(None), "malloc_trim")


@pytest.mark.skipif(not _can_trim(), reason="the C library keeps what is freed")
def test_freed_memory_is_returned_to_the_system():
    blocks = [bytearray(20_000) for _ in range(5000)]
    last = bytearray(20_000)  # above them, so that the heap can't simply shrink
    taken = _resident()
    del blocks
    return_freed_memory()
    assert len(last) == 20_000
    assert _resident() < taken - 50e6
