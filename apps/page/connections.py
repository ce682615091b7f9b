"""Connections that time out when the client is too slow; uvicorn alone waits for ever."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from visualwords.apps.page.limits import Limits

# The base class is private; where it lacks one of these, `serving` uses uvicorn's own protocol.
METHODS = (
    "connection_made",
    "handle_events",
    "on_response_complete",
    "pause_writing",
    "resume_writing",
    "connection_lost",
)
if not all(hasattr(H11Protocol, name) for name in METHODS):
    raise ImportError("uvicorn's H11Protocol has changed")


class WatchedConnection(H11Protocol):
    """A connection with two timers: for the head of a request, and for reading its answer.

    The first runs from the beginning of a connection, or the end of an answer, until the head of
    the next request is complete; the second while the client leaves so much of an answer unread
    that writing has to pause. The time of a body is watched where it is read (`bodies`).
    """

    def __init__(self, *arguments: Any, limits: Limits, **named: Any):
        super().__init__(*arguments, **named)
        self.limits = limits
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.max_connections:
            transport.abort()
        self._start("head", self.limits.header_seconds)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._stop("head")

    def on_response_complete(self) -> None:
        self._start("head", self.limits.header_seconds)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start("answer", self.limits.write_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("answer")

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop("head")
        self._stop("answer")
        super().connection_lost(exc)

    def _start(self, name: str, seconds: float) -> None:
        self._stop(name)
        self._timers[name] = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self, name: str) -> None:
        if name in self._timers:
            self._timers.pop(name).cancel()
