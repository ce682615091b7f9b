"""Counts and times of a server in Prometheus' text format."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

import visualwords

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # upper bounds of the histogram
OTHER = "other"  # all paths that are not served: a client can't make new lines


class Metrics:
    """What was answered, and how fast.

    Parameters
    ----------
    gauges : dict of name → (help, function)
        Numbers that are read when somebody asks.
    """

    def __init__(self, gauges: dict[str, tuple[str, Callable[[], float]]] | None = None):
        self.gauges = gauges or {}
        self.paths: frozenset[str] = frozenset()
        self._started = time.time()
        self._answers: Counter[tuple[str, int]] = Counter()
        self._at_most: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()

    def count(self, path: str, status: int, seconds: float) -> None:
        """Remember one answer."""
        path = path if path in self.paths else OTHER
        self._answers[path, status] += 1
        self._seconds[path] += seconds  # type: ignore[assignment]
        for bound in SECONDS:
            self._at_most[path, bound] += seconds <= bound

    def text(self) -> str:
        """Return all numbers, in the text format 0.0.4."""
        info = f'visualwords_info{{version="{visualwords.__version__}"}} 1'
        lines = [
            *_head("visualwords_info", "gauge", "Version of the library."),
            info,
            *_head("visualwords_start_time_seconds", "gauge", "When the server was started."),
            f"visualwords_start_time_seconds {self._started:.3f}",
        ]
        for name, (meaning, value) in self.gauges.items():
            lines += [*_head(name, "gauge", meaning), f"{name} {value():g}"]
        name = "visualwords_requests_total"
        lines += _head(name, "counter", "Requests that were answered.")
        lines += [
            f'{name}{{path="{path}",status="{status}"}} {n}'
            for (path, status), n in sorted(self._answers.items())
        ]
        name = "visualwords_request_seconds"
        lines += _head(name, "histogram", "Time from a request to its answer.")
        for path in sorted(self._seconds):
            total = sum(n for (other, _), n in self._answers.items() if other == path)
            for bound in SECONDS:
                lines.append(
                    f'{name}_bucket{{path="{path}",le="{bound:g}"}} {self._at_most[path, bound]}'
                )
            lines.append(f'{name}_bucket{{path="{path}",le="+Inf"}} {total}')
            lines.append(f'{name}_sum{{path="{path}"}} {self._seconds[path]:.6f}')
            lines.append(f'{name}_count{{path="{path}"}} {total}')
        return "\n".join(lines) + "\n"


class CountAnswers:
    """Counts every answer.

    Parameters
    ----------
    app : ASGI application
    metrics : Metrics
    """

    def __init__(self, app: ASGIApp, metrics: Metrics):
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        start = time.perf_counter()
        status = 500

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, note_status)
        finally:
            self.metrics.count(scope["path"], status, time.perf_counter() - start)
        return None


def _head(name: str, kind: str, meaning: str) -> list[Any]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
