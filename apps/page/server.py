"""The application: its addresses and their handlers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, TypeVar, Unpack

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from visualwords.apps.command_line.terminal import printable
from visualwords.apps.page.guards import Access, Guard, RefusedError, logger, refuse_http
from visualwords.apps.page.limits import Bodies, Limits, Workers
from visualwords.apps.page.questions import Question, images_of, one_image
from visualwords.apps.page.served_models import Answers, ServedModels
from visualwords.apps.page.serving import WatchHeads
from visualwords.errors import ImageError
from visualwords.images import encode_image, read_image

Found = TypeVar("Found")
Handler = Callable[[Request], Awaitable[Response]]

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
SCRIPTS = ("asking.js", "camera.js", "drawing.js", "intake.js", "panels.js", "table.js")
STATIC = {"/": "index.html"}  # address → file; nothing else is served
STATIC |= {f"/{name}": name for name in (*SCRIPTS, "script.js", "style.css", "icon.svg")}
PREVIEW_SIDE = 1280
RELOAD_SECONDS = 1.0  # between two looks at the model files
REPORT_POLICY = (  # a report has its style and images inside, and no scripts
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


def create_app(
    models: ServedModels,
    *,
    limits: Limits | None = None,
    report: bytes | None = None,
    reload: bool = False,
    **access: Unpack[Access],
) -> Starlette:
    """Make the server's ASGI application.

    Parameters
    ----------
    models : ServedModels
    limits : Limits, optional
    report : bytes, optional
        The HTML report of the first model, offered at ``/report``.
    reload : bool
        Load models again when their files are replaced.
    access : names, any_address and key of `guards.Guard`
    """
    api = ModelApi(models, limits or Limits(), reload=reload, report=lambda: report)
    pages = static_pages("visualwords.apps.page", STATIC)
    if report is not None:
        pages["/report"] = _constant(report, "text/html", REPORT_POLICY)
    return guarded(api, pages, **access)


def guarded(api: "ModelApi", pages: Mapping[str, Handler], **access: Unpack[Access]) -> Starlette:
    """An application whose every request passes the guards.

    Anyone may read ``pages`` but the report, for they hold no data.
    """
    open_paths = frozenset(pages) - {"/report"}
    guard = Middleware(Guard, open_paths=open_paths, **access)
    return Starlette(
        routes=[*routes_of("GET", pages), *api.routes()],
        middleware=[Middleware(WatchHeads), guard],
        exception_handlers={HTTPException: refuse_http},
        lifespan=api.lifespan,
    )


def routes_of(method: str, handlers: Mapping[str, Handler]) -> list[Route]:
    """The routes of addresses that are asked by one method."""
    return [Route(path, handler, methods=[method]) for path, handler in handlers.items()]


def preview(data: bytes, max_pixels: int, side: int = PREVIEW_SIDE) -> bytes:
    """An image of any format as an upright JPEG of moderate size."""
    return encode_image(read_image(data, "rgb", max_pixels, max_side=side), "jpeg", quality=85)


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

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self.workers = Workers(self.limits)
        watching = asyncio.create_task(self._watch_files()) if self.reloads else None
        yield
        if watching is not None:
            watching.cancel()
        self.workers.close()

    def routes(self) -> list[Route]:
        """The routes of the API."""
        read = {"/healthz": self.health, "/api/model": self.model, "/api/models": self.list_models}
        asked = {"/api/predict": self.predict, "/api/predict/batch": self.predict_batch}
        asked |= {"/api/explain": self.explain, "/api/preview": self.preview}
        return [*routes_of("GET", read), *routes_of("POST", asked)]

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "models": self.models.names})

    async def model(self, request: Request) -> Response:
        limits = {"max_bytes": self.limits.max_bytes, "max_pixels": self.limits.max_pixels}
        about = self._answers(request).about()
        return JSONResponse(about | {"report": self.report() is not None, "limits": limits})

    async def list_models(self, request: Request) -> Response:
        return JSONResponse({"models": self.models.names})

    async def predict(self, request: Request) -> Response:
        question, answers = Question.of(request.query_params), self._answers(request)
        return JSONResponse(await self._of_image(request, answers.predict, question))

    async def predict_batch(self, request: Request) -> Response:
        question, answers = Question.of(request.query_params), self._answers(request)
        found: list[dict[str, Any]] = []
        async with self.bodies.hold(request) as body:
            for name, image in await images_of(request, body):
                try:
                    answer = await self.work(request, answers.predict, image, question)
                except RefusedError as refused:
                    if refused.status != 422:
                        raise
                    answer = {"error": str(refused)}  # the others are answered nevertheless
                found.append({"name": printable(name), **answer})
        return JSONResponse({"predictions": found})

    async def explain(self, request: Request) -> Response:
        label, top = request.query_params.get("label"), Question.of(request.query_params).top
        answers = self._answers(request)
        return JSONResponse(await self._of_image(request, answers.explain, top, label))

    async def preview(self, request: Request) -> Response:
        found = await self._of_image(request, preview, self.limits.max_pixels)
        return Response(found, media_type="image/jpeg")

    def _answers(self, request: Request) -> Answers:
        return self.models.find(request.query_params.get("model"))

    async def _of_image(
        self, request: Request, work: Callable[..., Found], *arguments: object
    ) -> Found:
        """The result of the work on the image of a request."""
        async with self.bodies.hold(request) as body:
            return await self.work(request, work, await one_image(request, body), *arguments)

    async def work(
        self, request: Request, work: Callable[..., Found], image: bytes, *arguments: object
    ) -> Found:
        """Work on an image in a worker thread; one that can't be used is refused."""
        try:
            return await self.workers.run(request, work, image, *arguments)
        except ImageError as problem:
            reason = str(problem).removeprefix("image 0: ")
            raise RefusedError(422, f"this image can't be used: {reason}") from None

    async def _watch_files(self) -> None:
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            for sentence in await asyncio.to_thread(self.models.reload):
                logger.warning("%s", printable(sentence))


def static_pages(
    package: str, table: Mapping[str, str], policy: str | None = None
) -> dict[str, Handler]:
    """The handlers of a package's own files: address → file."""
    folder = files(package).joinpath("static")
    return {
        path: _constant(folder.joinpath(name).read_bytes(), TYPES[name.rpartition(".")[2]], policy)
        for path, name in table.items()
    }


def _constant(content: bytes, media_type: str, policy: str | None = None) -> Handler:
    headers = {"cache-control": "no-cache"}
    if policy is not None:
        headers["content-security-policy"] = policy

    async def answer(request: Request) -> Response:
        return Response(content, headers=headers, media_type=media_type)

    return answer
