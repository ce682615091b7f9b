"""What a process may still take, and what it gives back."""

import sys
from pathlib import Path

import pytest

from visualwords.memory import free_memory, return_freed_memory


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return 4096 * pages


def test_some_memory_is_free():
    found = free_memory()
    assert found is None or found > 0


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="resident memory is read from /proc"
)
def test_freed_memory_is_returned_to_the_system():
    blocks = [bytearray(20_000) for _ in range(5000)]
    last = bytearray(20_000)  # above them, so that the heap can't simply shrink
    taken = _resident()
    del blocks
    return_freed_memory()
    assert len(last) == 20_000
    assert _resident() < taken - 50e6
