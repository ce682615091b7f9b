"""From a model to a running server: the socket, its names, and the server's settings."""

import functools
import ipaddress
import socket
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import uvicorn
from starlette.applications import Starlette

from visualwords.apps.page.guards import LOOPBACK_NAMES
from visualwords.apps.page.limits import Limits
from visualwords.errors import VisualWordsError
from visualwords.isolation import isolated_decoding
from visualwords.parallel import one_library_thread

GRACE_SECONDS = 1  # for running requests when the server stops


class AddressError(VisualWordsError):
    """An address that the server can't listen on."""


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 chooses a free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family, backlog=128)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise AddressError(
            f"{host} port {port}: {reason}; choose another with --host or --port (0: any free one)"
        ) from None
    return listener


def is_loopback(listener: socket.socket) -> bool:
    """Return whether a socket is reachable from this machine only."""
    return ipaddress.ip_address(listener.getsockname()[0].split("%")[0]).is_loopback


def address_of(listener: socket.socket) -> str:
    """Return the address to type into a browser on this machine."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host.split("%")[0]).is_unspecified:
        host = "127.0.0.1" if listener.family == socket.AF_INET else "::1"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def names_of(listener: socket.socket, host: str, more: Iterable[str] = ()) -> set[str]:
    """Return the host names that requests may use for this server."""
    names = {*LOOPBACK_NAMES, host, *more}
    if not is_loopback(listener):
        names |= {socket.gethostname(), f"{socket.gethostname()}.local"}
    return names


def serve(
    app: Starlette,
    listener: socket.socket,
    limits: Limits,
    started: Callable[[uvicorn.Server], Any] | None = None,
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
        http=protocol_of(limits),
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
    server = uvicorn.Server(config)
    if started is not None:
        started(server)
    with one_library_thread(), isolated_decoding():  # requests already run in parallel
        server.run(sockets=[listener])


def protocol_of(limits: Limits) -> Any:
    """Return the protocol of connections: ours with timeouts, else uvicorn's own with a warning.

    Ours extends a private class of uvicorn, which a later version may rename or change.
    """
    try:
        from visualwords.apps.page.connections import WatchedConnection
    except ImportError:
        warnings.warn(
            f"uvicorn {uvicorn.__version__} has other internals than expected: slow clients are "
            "not disconnected",
            stacklevel=2,
        )
        return "h11"
    return functools.partial(WatchedConnection, limits=limits)
