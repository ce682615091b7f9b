"""Connections that time out when the client is too slow; uvicorn alone waits for ever."""

import asyncio
import socket
from contextvars import ContextVar
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from visualwords.apps.page.limits import Limits

REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: 0\r\n\r\n"
)


class PatientConnection(asyncio.Protocol):
    """A connection that uvicorn answers, with two timers.

    The first runs from the beginning of a connection, or the end of an answer, until the head of
    the next request is complete; the second while the client leaves so much of an answer unread
    that writing has to pause. The time of a body is limited where it is read (`limits`).

    Parameters
    ----------
    limits : Limits
    protocol : uvicorn's class of connections
    named : its parameters
    """

    def __init__(self, *, limits: Limits, protocol: type[asyncio.Protocol], **named: Any):
        self.limits = limits
        self._inner = protocol(**named)
        self._open = named["server_state"].connections
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # asyncio does so only for sockets that were made with a protocol. Without it, the second
        # part of an answer waits 40 ms for the client to acknowledge the first.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self._open) >= self.limits.max_connections:
            self._inner = asyncio.Protocol()  # one that does nothing
            transport.write(REFUSAL)
            transport.close()
        self._inner.connection_made(transport)
        self.start("head", self.limits.header_seconds)

    def data_received(self, data: bytes) -> None:
        token = _connection.set(self)  # of the task that uvicorn starts for a complete head
        self._inner.data_received(data)
        _connection.reset(token)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self.start("answer", self.limits.write_seconds)
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self.stop("answer")
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.stop("head")
        self.stop("answer")
        self._inner.connection_lost(exc)

    def start(self, name: str, seconds: float) -> None:
        """Give the client so many seconds from now."""
        self.stop(name)
        if not self._transport.is_closing():
            loop = asyncio.get_running_loop()
            self._timers[name] = loop.call_later(seconds, self._transport.abort)

    def stop(self, name: str) -> None:
        """Take back a limit of time."""
        if timer := self._timers.pop(name, None):
            timer.cancel()


_connection: ContextVar[PatientConnection | None] = ContextVar("connection", default=None)


class WatchHeads:
    """Stops the timer of a head when it is complete; starts that of the next with the answer's end.

    Parameters
    ----------
    app : ASGI application
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = _connection.get()
        if connection is None or scope["type"] != "http":
            return await self.app(scope, receive, send)
        connection.stop("head")
        try:
            return await self.app(scope, receive, send)
        finally:
            connection.start("head", connection.limits.header_seconds)
