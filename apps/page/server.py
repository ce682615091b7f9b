"""The application: its addresses and their handlers."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from visualwords.apps.command_line.terminal import printable
from visualwords.apps.page.bodies import Bodies
from visualwords.apps.page.guards import (
    LOOPBACK_NAMES,
    CheckHost,
    CheckKey,
    LimitRate,
    SafeHeaders,
)
from visualwords.apps.page.limits import Limits
from visualwords.apps.page.metrics import CountAnswers, Metrics
from visualwords.apps.page.openapi import describe_api
from visualwords.apps.page.questions import Question
from visualwords.apps.page.refusals import AnswerRefusals, RefusedError, logger, refuse_http
from visualwords.apps.page.served_models import Answers, ServedModels
from visualwords.apps.page.uploads import images_of, one_image
from visualwords.apps.page.worker_threads import Workers
from visualwords.errors import CrashedDecoderError, ImageError

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
RELOAD_SECONDS = 1.0  # between two looks at the model files
REPORT_POLICY = (  # a report has its style and images inside, and no scripts
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


def create_app(
    models: ServedModels,
    *,
    limits: Limits | None = None,
    names: Iterable[str] = LOOPBACK_NAMES,
    any_address: bool = False,
    report: bytes | None = None,
    key: str | None = None,
    reload: bool = False,
) -> Starlette:
    """Make the server's ASGI application.

    Parameters
    ----------
    models : ServedModels
    limits : Limits, optional
    names, any_address : accepted host names (`guards.CheckHost`)
    report : bytes, optional
        The HTML report of the first model, offered at ``/report``.
    key : str, optional
        What requests must know (`guards.CheckKey`).
    reload : bool
        Load models again when their files are replaced.
    """
    limits = limits or Limits()
    api = ModelApi(models, limits, reload=reload, report=lambda: report)
    pages = static_pages("visualwords.apps.page", STATIC)
    if report is not None:
        pages["/report"] = _constant(report, "text/html", REPORT_POLICY)
    return guarded(
        api,
        [*get_routes(pages), *api.routes()],
        limits=limits,
        names=names,
        any_address=any_address,
        key=key,
    )


def guarded(
    api: "ModelApi",
    routes: Sequence[Route],
    *,
    limits: Limits,
    names: Iterable[str] = LOOPBACK_NAMES,
    any_address: bool = False,
    key: str | None = None,
) -> Starlette:
    """Return an application whose every request passes the guards and is counted.

    Parameters are those of `create_app`; ``routes`` are all that it answers.
    """
    api.metrics.paths = frozenset(route.path for route in routes)
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(CountAnswers, metrics=api.metrics),
            Middleware(SafeHeaders),
            Middleware(AnswerRefusals),
            Middleware(CheckHost, names=names, any_address=any_address),
            Middleware(LimitRate, rate=limits.rate, burst=limits.burst),
            *([] if key is None else [Middleware(CheckKey, key=key, open_paths=frozenset(STATIC))]),
        ],
        exception_handlers={HTTPException: refuse_http},
        lifespan=api.lifespan,
    )


def get_routes(handlers: dict[str, Any]) -> list[Route]:
    """Return the routes of what is only read."""
    return [Route(path, handler, methods=["GET"]) for path, handler in handlers.items()]


def post_routes(handlers: dict[str, Any]) -> list[Route]:
    """Return the routes of what is asked with a body."""
    return [Route(path, handler, methods=["POST"]) for path, handler in handlers.items()]


class ModelApi:
    """The handlers of requests to models.

    Parameters
    ----------
    models : ServedModels
    limits : Limits
    reload : bool
        Load models again when their files are replaced.
    report : function that returns the HTML report of the first model, or None
    """

    def __init__(
        self,
        models: ServedModels,
        limits: Limits,
        *,
        reload: bool = False,
        report: Callable[[], bytes | None] = lambda: None,
    ):
        self.models = models
        self.limits = limits
        self.report = report
        self.bodies = Bodies(limits)
        self.reloads = reload
        self.metrics = Metrics(
            {
                "visualwords_images_waiting": (
                    "Images that are worked on or wait for a worker.",
                    lambda: self.workers.n_inside,
                ),
                "visualwords_held_bytes": (
                    "Bytes of image files in memory.",
                    lambda: self.bodies.held,
                ),
            }
        )

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self.workers = Workers(self.limits)
        watching = asyncio.create_task(self._watch_files()) if self.reloads else None
        if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload_all)
        yield
        if watching is not None:
            watching.cancel()
        self.workers.close()

    def routes(self) -> list[Route]:
        """Return the routes of the API."""
        return [
            *get_routes(
                {
                    "/openapi.json": self.document,
                    "/healthz": self.health,
                    "/metrics": self.numbers,
                    "/api/model": self.model,
                    "/api/models": self.list_models,
                }
            ),
            *post_routes(
                {
                    "/api/predict": self.predict,
                    "/api/predict/batch": self.predict_batch,
                    "/api/explain": self.explain,
                    "/api/preview": self.preview,
                }
            ),
        ]

    async def document(self, request: Request) -> Response:
        return JSONResponse(describe_api(self.limits))

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "models": self.models.names})

    async def numbers(self, request: Request) -> Response:
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def model(self, request: Request) -> Response:
        limits = {"max_bytes": self.limits.max_bytes, "max_pixels": self.limits.max_pixels}
        about = self._answers(request).about()
        return JSONResponse(about | {"report": self.report() is not None, "limits": limits})

    async def list_models(self, request: Request) -> Response:
        return JSONResponse({"models": self.models.names})

    async def predict(self, request: Request) -> Response:
        question, answers = Question.of(request.query_params), self._answers(request)
        async with self.bodies.hold(request) as body:
            image = one_image(request, body)
            return JSONResponse(await self.work(request, answers.predict, image, question))

    async def predict_batch(self, request: Request) -> Response:
        question, answers = Question.of(request.query_params), self._answers(request)
        found: list[dict[str, Any]] = []
        async with self.bodies.hold(request) as body:
            for name, image in images_of(request, body):
                try:
                    answer = await self.work(request, answers.predict, image, question)
                except RefusedError as refused:
                    if refused.status not in (422, 500):
                        raise
                    answer = {"error": str(refused)}  # the others are answered nevertheless
                found.append({"name": printable(name), **answer})
        return JSONResponse({"predictions": found})

    async def explain(self, request: Request) -> Response:
        label, top = request.query_params.get("label"), Question.of(request.query_params).top
        answers = self._answers(request)
        async with self.bodies.hold(request) as body:
            image = one_image(request, body)
            return JSONResponse(await self.work(request, answers.explain, image, top, label))

    async def preview(self, request: Request) -> Response:
        answers = self._answers(request)
        async with self.bodies.hold(request) as body:
            image = one_image(request, body)
            found = await self.work(request, answers.preview, image)
        return Response(found, media_type="image/jpeg")

    def _answers(self, request: Request) -> Answers:
        return self.models.find(request.query_params.get("model"))

    async def work(self, request: Request, work: Any, image: bytes, *arguments: Any) -> Any:
        """Work on an image in a worker thread; one that can't be used is refused."""
        try:
            return await self.workers.run(request, work, image, *arguments)
        except CrashedDecoderError:
            logger.warning("the decoder of an image crashed; its request was answered with 500")
            raise RefusedError(500, "the decoder of this image crashed; try another file") from None
        except ImageError as problem:
            raise RefusedError(422, f"this image can't be used: {problem}") from None

    def _reload_all(self) -> None:
        self._loading = asyncio.create_task(self._reload(all_files=True))

    async def _watch_files(self) -> None:
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            await self._reload()

    async def _reload(self, all_files: bool = False) -> None:
        for sentence in await asyncio.to_thread(self.models.reload, all_files=all_files):
            logger.warning("%s", printable(sentence))


def static_pages(
    package: str, table: dict[str, tuple[str, str]], policy: str | None = None
) -> dict[str, Any]:
    """Return the handlers of a package's own files: address → file and media type."""
    folder = files(package).joinpath("static")
    return {
        path: _constant(folder.joinpath(name).read_bytes(), kind, policy)
        for path, (name, kind) in table.items()
    }


def _constant(content: bytes, media_type: str, policy: str | None = None) -> Any:
    headers = {"cache-control": "no-cache"}
    if policy is not None:
        headers["content-security-policy"] = policy

    async def answer(request: Request) -> Response:
        return Response(content, headers=headers, media_type=media_type)

    return answer
