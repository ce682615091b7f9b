"""Connections that time out when the client is too slow; uvicorn alone waits for ever.

They are counted for each client, and what is not HTTP is answered in JSON like all other errors.
"""

import asyncio
import json
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from visualwords.apps.page.clients import client_of
from visualwords.apps.page.limits import Limits

# The base class is private; where it lacks one of these, `serving` uses uvicorn's own protocol.
METHODS = (
    "connection_made",
    "handle_events",
    "on_response_complete",
    "pause_writing",
    "resume_writing",
    "connection_lost",
    "send_400_response",
)
TOO_MANY = "too many connections; close some, or try again in a moment"
NOT_HTTP = "the request is not valid HTTP; the connection is closed"
FIELDS = (
    (b"content-type", b"application/json"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"connection", b"close"),
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
        # asyncio does so only for sockets that were made with a protocol. Without it, the second
        # part of an answer waits 40 ms for the client to acknowledge the first.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._is_one_too_many():
            self._refuse(503, TOO_MANY)
            return
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

    def send_400_response(self, msg: str) -> None:
        """Answer what can't be parsed; called by uvicorn."""
        self._stop("head")
        self._refuse(400, NOT_HTTP)

    def _is_one_too_many(self) -> bool:
        most = self.limits.max_connections
        if len(self.connections) > most:
            return True
        client = _client(self)
        n_own = sum(_client(connection) == client for connection in self.connections)
        return n_own > max(1, most // 2)

    def _refuse(self, status: int, sentence: str) -> None:
        """Send an error and close; only close where an answer has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps({"error": sentence}).encode()
            fields = [*FIELDS, (b"content-length", b"%d" % len(body))]
            if status == 503:
                fields.append((b"retry-after", b"1"))
            for event in (
                h11.Response(status_code=status, headers=fields),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _start(self, name: str, seconds: float) -> None:
        self._stop(name)
        self._timers[name] = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self, name: str) -> None:
        if name in self._timers:
            self._timers.pop(name).cancel()


def _client(connection: Any) -> str:
    return client_of(connection.client[0] if connection.client else "")
