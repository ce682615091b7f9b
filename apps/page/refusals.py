"""Error answers: a status and one sentence, always as JSON."""

import logging
import traceback
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from visualwords.apps.command_line.terminal import printable

logger = logging.getLogger("visualwords.page")


class RefusedError(Exception):
    """A request that is refused with a sentence.

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
        """Return the answer."""
        return JSONResponse({"error": str(self)}, self.status, self.headers)


class AnswerRefusals:
    """Turns exceptions into answers; an unexpected one is logged, and the server keeps running.

    Parameters
    ----------
    app : ASGI application
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def note_start(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, note_start)
        except RefusedError as refused:
            await refused.response()(scope, receive, send)
        except Exception:
            # Clients send the path, and parts of messages: nothing of it controls a terminal.
            lines = traceback.format_exc().rstrip("\n").split("\n")
            details = "\n".join(map(printable, lines))
            logger.error("%r %r failed\n%s", scope["method"], scope["path"], details)
            if not started:
                sentence = "the server failed on this request; its log has the details"
                await RefusedError(500, sentence).response()(scope, receive, send)
        return None


async def refuse_http(request: object, problem: Exception) -> JSONResponse:
    """Answer errors of the router (no such page, wrong method) in the same form."""
    assert isinstance(problem, HTTPException)
    sentence = f"{problem.detail.lower()}; docs/page.md lists the requests that are answered"
    return RefusedError(problem.status_code, sentence, problem.headers).response()
