"""Measure us and a peer in one process, in CPU time of one thread, and print the comparison.

Import this module first: it sets the number of threads before numerical libraries start.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"

_CPU = Path("/proc/cpuinfo")
if _CPU.exists():  # the BLAS in some wheels does not know new processors and falls back to SSE3
    _newer = "avx512bw" in _CPU.read_text()
    os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX" if _newer else "Haswell")


def best_cpu_seconds(work: Callable[[], object], repeats: int = 7, at_least: float = 0.02) -> float:
    """The least CPU time of one call, over several rounds of at least ``at_least`` seconds.

    The first call, which may compile, is not counted.
    """
    work()
    calls, best = 1, float("inf")
    for _ in range(repeats):
        spent = 0.0
        while True:
            start = time.process_time()
            for _ in range(calls):
                work()
            spent = time.process_time() - start
            if spent >= at_least:
                break
            calls *= 2
        best = min(best, spent / calls)
    return best


class Table:
    """Rows of work, our time, the peer's time, the ratio and the bar; printed as they come."""

    def __init__(self, title: str) -> None:
        self.missed: list[str] = []
        print(f"\n{title}\n{'work':52s} {'ours':>10s} {'peer':>10s} {'ratio':>8s} {'bar':>7s}")

    def add(self, work: str, ours: float, peer: float, bar: float | None = None) -> None:
        """Print one comparison of two times in seconds; the bar is the least ratio wanted."""
        ratio = peer / ours
        verdict = "" if bar is None else ("pass" if ratio >= bar else "MISS")
        wanted = "" if bar is None else f"{bar:.4g}×"
        print(
            f"{work:52s} {ours * 1e3:7.3f} ms {peer * 1e3:7.3f} ms {ratio:7.2f}× {wanted:>7s} "
            f"{verdict}",
            flush=True,
        )
        if verdict == "MISS":
            self.missed.append(work)

    def check(self, work: str, value: float, bar: float, at_least: bool = True) -> None:
        """Print one figure that is not a time, with its bar."""
        good = value >= bar if at_least else value <= bar
        print(
            f"{work:52s} {value:10.3g} {'':10s} {'':8s} {'≥' if at_least else '≤'} {bar:<5.3g} "
            f"{'pass' if good else 'MISS'}",
            flush=True,
        )
        if not good:
            self.missed.append(work)
