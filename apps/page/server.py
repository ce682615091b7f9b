"""The application: its addresses and their handlers."""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from visualwords.apps.page.bodies import Bodies
from visualwords.apps.page.guards import LOOPBACK_NAMES, CheckHost, LimitRate, SafeHeaders
from visualwords.apps.page.limits import Limits
from visualwords.apps.page.openapi import describe_api
from visualwords.apps.page.refusals import AnswerRefusals, RefusedError, refuse_http
from visualwords.apps.page.worker_threads import Workers
from visualwords.errors import ImageError

STATIC = {  # address → file and media type; nothing else is served
    "/": ("index.html", "text/html"),
    "/api": ("api.html", "text/html"),
    "/style.css": ("style.css", "text/css"),
    "/api.js": ("api.js", "text/javascript"),
    "/asking.js": ("asking.js", "text/javascript"),
    "/drawing.js": ("drawing.js", "text/javascript"),
    "/intake.js": ("intake.js", "text/javascript"),
    "/panels.js": ("panels.js", "text/javascript"),
    "/table.js": ("table.js", "text/javascript"),
    "/script.js": ("script.js", "text/javascript"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
REPORT_POLICY = (  # a report has its style and images inside, and no scripts
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


class Answers(Protocol):
    """Answers of a kind of model; called in worker threads."""

    def about(self) -> dict[str, Any]:
        """Return a description of the model."""

    def predict(self, data: bytes, top: int, least: float | None) -> dict[str, Any]:
        """Return the prediction for an image file."""

    def explain(self, data: bytes, top: int, label: str | None) -> dict[str, Any]:
        """Return the explanation of a prediction."""

    def preview(self, data: bytes) -> bytes:
        """Return the image as a small JPEG."""


def create_app(
    answers: Answers,
    *,
    limits: Limits | None = None,
    names: Iterable[str] = LOOPBACK_NAMES,
    any_address: bool = False,
    report: bytes | None = None,
) -> Starlette:
    """Make the server's ASGI application.

    Parameters
    ----------
    answers : Answers
    limits : Limits, optional
    names, any_address : accepted host names (`guards.CheckHost`)
    report : bytes, optional
        The HTML report of the model, offered at ``/report``.
    """
    limits = limits or Limits()
    api = _Api(answers, limits, has_report=report is not None)
    pages = {path: _constant(_static(name), kind) for path, (name, kind) in STATIC.items()}
    if report is not None:
        pages["/report"] = _constant(report, "text/html", REPORT_POLICY)
    return Starlette(
        routes=[
            *(Route(path, page, methods=["GET"]) for path, page in pages.items()),
            Route("/openapi.json", api.document, methods=["GET"]),
            Route("/api/model", api.model, methods=["GET"]),
            Route("/api/predict", api.predict, methods=["POST"]),
            Route("/api/explain", api.explain, methods=["POST"]),
            Route("/api/preview", api.preview, methods=["POST"]),
        ],
        middleware=[
            Middleware(SafeHeaders),
            Middleware(AnswerRefusals),
            Middleware(CheckHost, names=names, any_address=any_address),
            Middleware(LimitRate, rate=limits.rate, burst=limits.burst),
        ],
        exception_handlers={HTTPException: refuse_http},
        lifespan=api.lifespan,
    )


class _Api:
    """The handlers of the API."""

    def __init__(self, answers: Answers, limits: Limits, has_report: bool):
        self.answers = answers
        self.limits = limits
        self.has_report = has_report
        self.bodies = Bodies(limits)

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self.workers = Workers(self.limits)
        yield
        self.workers.close()

    async def document(self, request: Request) -> Response:
        return JSONResponse(describe_api(self.limits))

    async def model(self, request: Request) -> Response:
        limits = {"max_bytes": self.limits.max_bytes, "max_pixels": self.limits.max_pixels}
        return JSONResponse(self.answers.about() | {"report": self.has_report, "limits": limits})

    async def predict(self, request: Request) -> Response:
        asked = _top(request), _least(request)
        return JSONResponse(await self._work(request, self.answers.predict, *asked))

    async def explain(self, request: Request) -> Response:
        label = request.query_params.get("label")
        return JSONResponse(await self._work(request, self.answers.explain, _top(request), label))

    async def preview(self, request: Request) -> Response:
        return Response(await self._work(request, self.answers.preview), media_type="image/jpeg")

    async def _work(self, request: Request, work: Any, *arguments: Any) -> Any:
        async with self.bodies.hold(request) as data:
            try:
                return await self.workers.run(request, work, data, *arguments)
            except ImageError as problem:
                raise RefusedError(422, f"this image can't be used: {problem}") from None


def _top(request: Request) -> int:
    """Return the requested number of classes."""
    top = request.query_params.get("top", "5")
    if not (top.isascii() and top.isdecimal() and len(top) < 6 and int(top)):
        raise RefusedError(
            400, "top is the number of classes to return; give a number from 1 to 99999"
        )
    return int(top)


def _least(request: Request) -> float | None:
    """Return the lowest confidence of boxes, if the request has one."""
    least = request.query_params.get("least")
    if least is None:
        return None
    if not re.fullmatch(r"0?\.\d{1,6}", least) or not float(least):
        raise RefusedError(400, "least is the lowest confidence; give a number between 0 and 1")
    return float(least)


def _static(name: str) -> bytes:
    return files("visualwords.apps.page").joinpath("static", name).read_bytes()


def _constant(content: bytes, media_type: str, policy: str | None = None) -> Any:
    headers = {"cache-control": "no-cache"}
    if policy is not None:
        headers["content-security-policy"] = policy

    async def answer(request: Request) -> Response:
        return Response(content, headers=headers, media_type=media_type)

    return answer
