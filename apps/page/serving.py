"""The server: its socket, its names, its key, and connections that slow clients cannot keep.

uvicorn alone waits for ever.
"""

import asyncio
import functools
import ipaddress
import os
import socket
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from visualwords.apps.command_line.terminal import say
from visualwords.apps.page.guards import LOOPBACK_NAMES
from visualwords.apps.page.limits import Limits
from visualwords.errors import FolderError, VisualWordsError
from visualwords.files import read_settings
from visualwords.isolation import isolated_decoding
from visualwords.parallel import one_library_thread

KEY = "VISUALWORDS_API_KEY"  # environment variable
SHORTEST_KEY = 16  # characters
GRACE_SECONDS = 1  # for running requests when the server stops
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: 0\r\n\r\n"
)


class AddressError(VisualWordsError):
    """An address that the server can't listen on."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 chooses a free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        cure = "choose another with --host or --port (0: any free one)"
        raise AddressError(f"{host} port {port}: {reason}; {cure}") from None


def is_loopback(listener: socket.socket) -> bool:
    """Whether a socket is reachable from this machine only."""
    return ipaddress.ip_address(listener.getsockname()[0].split("%")[0]).is_loopback


def address_of(listener: socket.socket) -> str:
    """The address to type into a browser on this machine."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host.split("%")[0]).is_unspecified:
        host = "127.0.0.1" if listener.family == socket.AF_INET else "::1"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def names_of(listener: socket.socket, host: str, more: Iterable[str] = ()) -> set[str]:
    """The host names that requests may use for this server."""
    names = {*LOOPBACK_NAMES, host, *more}
    if not is_loopback(listener):
        names |= {socket.gethostname(), f"{socket.gethostname()}.local"}
    return names


def read_key(path: str | None) -> str | None:
    """The key in a file, or in the environment, that requests must know; None without."""
    if path is None:
        return os.environ.get(KEY, "").strip() or None
    key = read_settings(path).decode("ascii", "replace").strip()
    if len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable():
        needed = f"write {SHORTEST_KEY} or more letters and digits into it"
        raise FolderError(f"{path}: not a key; {needed}, such as openssl rand -hex 16 gives")
    return key


def announce(listener: socket.socket, host: str, key: str | None) -> str:
    """The address for a browser, with the key; warn if others reach it without one."""
    if key is None and not is_loopback(listener):
        warning = f"{host} is reachable from other machines, and the page has no password"
        cure = "give --api-key-file, or stop the server unless you trust everyone on the network"
        say(f"warning: {warning}; {cure}")
    return address_of(listener) + ("" if key is None else f"#key={quote(key)}")


def serve(
    app: Starlette,
    listener: socket.socket,
    limits: Limits,
    started: Callable[[uvicorn.Server], object] | None = None,
) -> None:
    """Answer requests until interrupted.

    Parameters
    ----------
    app : from `visualwords.apps.page.server.create_app`
    listener : from `listen`
    limits : Limits
    started : called with the server before it runs; may keep it to set ``should_exit``
    """
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=True,  # of a proxy on this machine, or of FORWARDED_ALLOW_IPS
        timeout_keep_alive=5,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    config.load()
    patient = {"limits": limits, "protocol": config.http_protocol_class}
    config.http_protocol_class = functools.partial(PatientConnection, **patient)
    server = uvicorn.Server(config)
    if started is not None:
        started(server)
    with one_library_thread(), isolated_decoding():  # requests already run in parallel
        server.run(sockets=[listener])


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
