"""What stands around every request: checks of host, origin and key, safe headers, refusals.

An error is answered with a status and one sentence, always as JSON.
"""

import hmac
import ipaddress
import logging
import traceback
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypedDict
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from visualwords.apps.command_line.terminal import printable

logger = logging.getLogger("visualwords.page")

COOKIE = "visualwords-key"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
SAFE_HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(self), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class RefusedError(Exception):
    """A refused request, with the sentence that says why.

    Parameters
    ----------
    status : HTTP status
    sentence : what is wrong and what to do about it
    headers : of the answer
    """

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None):
        super().__init__(sentence)
        self.status = status
        self.headers = dict(headers or {})

    def response(self) -> JSONResponse:
        """The answer."""
        return JSONResponse({"error": str(self)}, self.status, self.headers)


class Access(TypedDict, total=False):
    """Who may ask (`Guard`)."""

    names: Iterable[str]
    any_address: bool
    key: str | None


class Guard:
    """Checks every request before the application has it, and makes every answer a safe one.

    A page of somebody else can make a browser send requests here. With a name of its own that it
    points at this machine (DNS rebinding) its requests would count as our own page's; so ``Host``
    must be a known name. ``Origin``, where given, must be the address of this server by the same
    name: scheme, name and port.

    A key is in ``Authorization: Bearer …``, in ``X-API-Key`` or, for the pictures of the page, in a
    cookie that the page sets. Requests that a page of another site makes with that cookie are
    refused by their origin or have no cookie (``SameSite``).

    Answers forbid browsers what the page does not need. An unexpected error is logged, and the
    server keeps running.

    Parameters
    ----------
    app : ASGI application
    names : host names and addresses of this server
    any_address : bool
        Whether any IP address is accepted: an address can't be rebound.
    key : str, optional
        What requests must know.
    open_paths : what anyone may read: the page itself, which holds no data; ``/healthz`` is open
    """

    def __init__(
        self,
        app: ASGIApp,
        names: Iterable[str] = LOOPBACK_NAMES,
        any_address: bool = False,
        key: str | None = None,
        open_paths: frozenset[str] = frozenset(),
    ):
        self.app = app
        self.names = frozenset(name.lower().rstrip(".") for name in names)
        self.any_address = any_address
        self.key = None if key is None else key.encode()
        self.open_paths = open_paths | {"/healthz"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def send_safely(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check_origin(scope, Headers(scope=scope))
            self._check_key(scope, Headers(scope=scope))
            await self.app(scope, receive, send_safely)
        except RefusedError as refused:
            await refused.response()(scope, receive, send_safely)
        except Exception:
            # Clients send the path, and parts of messages: nothing of it controls a terminal.
            lines = traceback.format_exc().rstrip("\n").split("\n")
            details = "\n".join(map(printable, lines))
            logger.error("%r %r failed\n%s", scope["method"], scope["path"], details)
            if not started:
                sentence = "the server failed on this request; its log has the details"
                await RefusedError(500, sentence).response()(scope, receive, send_safely)
        return None

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self.knows(hosts[0]):
            sentence = "the host name of the request is not a name of this server"
            raise RefusedError(403, f"{sentence}; start it with --allow-host NAME to accept it")
        if "content-length" in headers and "transfer-encoding" in headers:
            # Where the body ends is then a matter of opinion: a proxy may have another one.
            sentence = "the request has both Content-Length and Transfer-Encoding; send one of them"
            raise RefusedError(400, sentence, {"connection": "close"})
        own = f"{scope['scheme']}://{hosts[0]}".lower()
        if len(origins) > 1 or any(origin.lower() != own for origin in origins):
            raise RefusedError(403, "the request comes from a page of another site")

    def _check_key(self, scope: Scope, headers: Headers) -> None:
        if self.key is None or scope["path"] in self.open_paths:
            return
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        given = headers.get("x-api-key") or headers.get("authorization") or unquote(cookie)
        # compare_digest takes the same time wherever the first difference is
        if not hmac.compare_digest(given.removeprefix("Bearer ").encode(), self.key):
            sentence = "this server needs a key; send it as Authorization: Bearer KEY"
            raise RefusedError(401, sentence, {"www-authenticate": "Bearer"})

    def knows(self, host: str) -> bool:
        """Whether a ``Host`` header names this server."""
        try:
            parts = urlsplit(f"//{host}")
            name = (parts.hostname or "").rstrip(".")
            if parts.netloc != host or "@" in host or parts.port == 0:
                return False
        except ValueError:  # an invalid port, an unclosed bracket
            return False
        return name in self.names or (self.any_address and _is_address(name))


async def refuse_http(request: object, problem: Exception) -> JSONResponse:
    """Answer errors of the router (no such page, wrong method) in the same form."""
    assert isinstance(problem, HTTPException)
    sentence = f"{problem.detail.lower()}; docs/page.md lists the requests that are answered"
    return RefusedError(problem.status_code, sentence, problem.headers).response()


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return False
