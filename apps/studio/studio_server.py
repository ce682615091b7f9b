"""The application of the studio: the page that learns, beside the page that answers."""

import asyncio
import json
import os
import re
from collections.abc import Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from visualwords.apps.command_line.terminal import printable, typed
from visualwords.apps.page.guards import LOOPBACK_NAMES, PAGE_POLICY, RefusedError
from visualwords.apps.page.limits import Limits
from visualwords.apps.page.questions import Question
from visualwords.apps.page.server import (
    REPORT_POLICY,
    ModelApi,
    guarded,
    preview,
    routes_of,
    static_pages,
)
from visualwords.apps.page.server import STATIC as PAGE_STATIC
from visualwords.apps.studio.answers_to_people import (
    changed_json,
    images_json,
    model_json,
    running_json,
)
from visualwords.apps.studio.change_log import PartlyMovedError
from visualwords.apps.studio.class_folders import shown
from visualwords.apps.studio.learning import Learning
from visualwords.apps.studio.pictures import small_picture
from visualwords.apps.studio.review_queue import near_copies, questions
from visualwords.apps.studio.tested_models import what_changed
from visualwords.apps.studio.workspace import Workspace
from visualwords.cache import open_cache
from visualwords.errors import ImageError
from visualwords.images import read_bytes

STATIC = {
    "/": "studio.html",
    "/studio.css": "studio.css",
    **{
        f"/studio-{name}.js": f"studio-{name}.js"
        for name in ("main", "state", "grid", "intake", "review", "models", "dialogs")
    },
}
POLICY = f"{PAGE_POLICY}; frame-src 'self'"
FRAMED_REPORT = {
    "content-security-policy": REPORT_POLICY.replace(
        "frame-ancestors 'none'", "frame-ancestors 'self'"
    ),
    "x-frame-options": "SAMEORIGIN",
}
FOR_EVER = "private, max-age=31536000, immutable"  # the id of an image changes with its content
TOKEN = re.compile(r"[0-9a-zA-Z-]{8,40}")
MOST_NUMBERS = 100_000  # images of one request


def create_studio(
    workspace: Workspace,
    learning: Learning,
    *,
    limits: Limits,
    names: Iterable[str] = LOOPBACK_NAMES,
) -> Starlette:
    """Make the ASGI application of a studio.

    Parameters
    ----------
    workspace : Workspace
    learning : Learning
    limits : Limits
    names : accepted host names (`visualwords.apps.page.guards.CheckHost`)
    """
    api = StudioApi(workspace, learning, limits)
    pages = static_pages("visualwords.apps.page", PAGE_STATIC)
    pages["/page"] = pages.pop("/")
    own = static_pages("visualwords.apps.studio", STATIC, POLICY)
    return guarded(api, pages | own, names=names)


class StudioApi(ModelApi):
    """The handlers of a studio, beside those of its models.

    Parameters
    ----------
    workspace : Workspace
    learning : Learning
    limits : Limits
    """

    def __init__(self, workspace: Workspace, learning: Learning, limits: Limits):
        super().__init__(learning.models, limits, report=self._report)
        self.workspace, self.learning = workspace, learning
        self._cache = None if learning.cache_dir is None else open_cache(learning.cache_dir)

    def routes(self) -> list[Any]:
        """Return the routes of the studio and of its models."""
        read = {
            "/studio/status": self.status,
            "/studio/images": self.images,
            "/studio/queue": self.queue,
            "/studio/changed": self.changed,
            "/studio/thumbnail/{id}": self.thumbnail,
            "/studio/picture/{id}": self.picture,
            "/studio/explain/{id}": self.explain_image,
            "/studio/model.vw": self.model_file,
            "/report": self.report_page,
        }
        done = {
            "/studio/class": self.add_class,
            "/studio/class/rename": self.rename_class,
            "/studio/class/delete": self.delete_class,
            "/studio/add": self.add_image,
            "/studio/move": self.move,
            "/studio/delete": self.delete,
            "/studio/accept": self.accept,
            "/studio/undo": self.undo,
            "/studio/redo": self.redo,
            "/studio/train": self.train,
            "/studio/cancel": self.cancel,
            "/studio/settings": self.settings,
        }
        return [*super().routes(), *routes_of("GET", read), *routes_of("POST", done)]

    # what there is

    async def status(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self._status))

    def _status(self) -> dict[str, Any]:
        listed = self.workspace.listed()
        log, learning = self.workspace.log, self.learning
        preferred = learning.preferred()
        return {
            "version": listed.version,
            "folder": printable(str(self.workspace.root)),
            "undo": printable(log.done[-1].what) if log.done else None,
            "redo": printable(log.undone[-1].what) if log.undone else None,
            "accepted": len(log.accepted),
            "training": {kind: running_json(one) for kind, one in learning.running.items()},
            "models": [model_json(one) for one in learning.shelf.models],
            "preferred": None if preferred is None else preferred.number,
            "answering": learning.models.names[:1],
            "report": learning.file_of("better", ".html").is_file(),
            "unknown": learning.knows_unknown,
            "limits": {"max_bytes": self.limits.max_bytes},
            "commands": self._commands(),
        }

    def _commands(self) -> dict[str, str]:
        kind = (self.learning.models.names or ["quick"])[0]
        model = str(self.learning.file_of(kind))
        return {
            "train": printable(self.learning.command(kind, "model.vw")),
            "predict": printable(typed("classify-images", "predict", model, "new.jpg")),
            "serve": printable(typed("classify-images", "serve", model)),
        }

    async def images(self, request: Request) -> Response:
        listed = await asyncio.to_thread(self.workspace.listed)
        return JSONResponse(images_json(listed, self.learning.preferred()))

    async def queue(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self._queue))

    def _queue(self) -> dict[str, Any]:
        model, accepted = self.learning.preferred(), self.workspace.log.accepted
        if model is None:
            return {"questions": [], "pairs": []}
        listed = self.workspace.listed()
        found = questions(model, listed, accepted)
        for question in found:
            question |= {name: shown(question[name]) for name in ("label", "guess")}
        return {"questions": found, "pairs": near_copies(model, listed, accepted)}

    async def changed(self, request: Request) -> Response:
        wanted = [request.query_params.get(name, "") for name in ("first", "second")]
        known = {str(model.number): model for model in self.learning.shelf.models}
        if not all(number in known for number in wanted):
            raise RefusedError(404, "there is no such model; choose from those of the list")
        first, second = (known[number] for number in wanted)
        listed = await asyncio.to_thread(self.workspace.listed)
        paired = await asyncio.to_thread(what_changed, first, second, listed.images)
        if paired is None:
            raise RefusedError(409, "the two models were not tested on the same images")
        return JSONResponse(await asyncio.to_thread(changed_json, paired))

    async def thumbnail(self, request: Request) -> Response:
        picture = await self._drawn(request, small_picture, self._cache, self.limits.max_pixels)
        return Response(picture, media_type="image/jpeg", headers={"cache-control": FOR_EVER})

    async def picture(self, request: Request) -> Response:
        picture = await self._drawn(request, preview, self.limits.max_pixels)
        return Response(picture, media_type="image/jpeg", headers={"cache-control": FOR_EVER})

    async def explain_image(self, request: Request) -> Response:
        answers = self.models.find(None)
        label, top = request.query_params.get("label"), Question.of(request.query_params).top
        return JSONResponse(await self._drawn(request, answers.explain, top, label))

    async def _drawn(self, request: Request, work: Any, *arguments: Any) -> Any:
        """Return what is made of an image of the folder, in a worker thread."""
        image = await asyncio.to_thread(self.workspace.image, request.path_params["id"])
        try:
            data = await asyncio.to_thread(read_bytes, str(self.workspace.path_of(image)))
        except ImageError as problem:
            raise RefusedError(404, f"the image can't be read: {problem}") from None
        return await self.work(request, work, data, *arguments)

    async def model_file(self, request: Request) -> Response:
        names = self.models.names
        if not names:
            raise RefusedError(409, "there is no model yet; add images of two classes")
        path = self.learning.file_of(names[0])
        name = f"{os.path.basename(self.workspace.root) or 'model'}.vw"
        return FileResponse(path, filename=name, media_type="application/octet-stream")

    async def report_page(self, request: Request) -> Response:
        content = await asyncio.to_thread(self._report)
        if content is None:
            raise RefusedError(404, "there is no report yet; train the better model")
        headers = dict(FRAMED_REPORT)
        if "download" in request.query_params:
            headers["content-disposition"] = 'attachment; filename="report.html"'
        return Response(content, media_type="text/html", headers=headers)

    def _report(self) -> bytes | None:
        try:
            return self.learning.file_of("better", ".html").read_bytes()
        except OSError:
            return None

    # what people do

    async def add_class(self, request: Request) -> Response:
        asked = await self._asked(request)
        label = await self._change(self.workspace.add_class, _text(asked, "name"))
        return JSONResponse({"class": shown(label)})

    async def rename_class(self, request: Request) -> Response:
        asked = await self._asked(request)
        old = await self._label(_text(asked, "class"))
        new = await self._change(self.workspace.rename_class, old, _text(asked, "name"))
        await asyncio.to_thread(self.learning.shelf.rename, old, new)
        return JSONResponse({"class": shown(new)})

    async def delete_class(self, request: Request) -> Response:
        label = await self._label(_text(await self._asked(request), "class"))
        await self._change(self.workspace.delete_class, label)
        return JSONResponse({})

    async def add_image(self, request: Request) -> Response:
        asked = request.query_params
        token = asked.get("change", "")
        if TOKEN.fullmatch(token) is None:
            raise RefusedError(400, "change is what files that are added together share; send it")
        label = await self._label(asked.get("class", ""))
        async with self.bodies.hold(request) as body:
            # Decoded with the limits of all uploads, and its picture is then in the cache.
            await self.work(request, small_picture, body, self._cache, self.limits.max_pixels)
            name = asked.get("name", "")
            image, is_new = await self._change(self.workspace.add_image, label, name, body, token)
        return JSONResponse({"id": image.id, "new": is_new})

    async def move(self, request: Request) -> Response:
        asked = await self._asked(request)
        label = await self._label(_text(asked, "class"))
        moved = await self._change(self.workspace.move_images, _numbers(asked), label)
        return JSONResponse({"images": moved})

    async def delete(self, request: Request) -> Response:
        numbers = _numbers(await self._asked(request))
        return JSONResponse({"images": await self._change(self.workspace.delete_images, numbers)})

    async def accept(self, request: Request) -> Response:
        numbers = _numbers(await self._asked(request))
        done = await self._change(self.workspace.accept_images, numbers, retrain=False)
        return JSONResponse({"images": done})

    async def undo(self, request: Request) -> Response:
        done = await self._change(self.workspace.log.undo)
        return JSONResponse({"what": None if done is None else printable(done)})

    async def redo(self, request: Request) -> Response:
        done = await self._change(self.workspace.log.redo)
        return JSONResponse({"what": None if done is None else printable(done)})

    async def train(self, request: Request) -> Response:
        await asyncio.to_thread(self.learning.train_better)
        return JSONResponse({})

    async def cancel(self, request: Request) -> Response:
        await asyncio.to_thread(self.learning.cancel)
        return JSONResponse({})

    async def settings(self, request: Request) -> Response:
        asked = await self._asked(request)
        if not isinstance(asked.get("unknown"), bool):
            raise RefusedError(400, "unknown is true or false")
        await self._change(self.learning.know_unknown, asked["unknown"])
        return JSONResponse({})

    async def _change(self, action: Any, *arguments: Any, retrain: bool = True) -> Any:
        """Change files in a thread; a full disk is an answer, not a failure of the server."""
        try:
            done = await asyncio.to_thread(action, *arguments)
        except OSError as problem:
            where = f" ({printable(str(problem.filename))})" if problem.filename else ""
            reason = (problem.strerror or str(problem)).lower() + where
            outcome = "a part was" if isinstance(problem, PartlyMovedError) else "nothing was"
            sentence = f"{outcome} changed: {reason}; free some space or check the folder"
            raise RefusedError(507, sentence) from None
        if retrain:
            self.learning.note_change()
        return done

    async def _label(self, name: str) -> str:
        """Return the class that the page shows by this name."""
        listed = await asyncio.to_thread(self.workspace.listed)
        for label in listed.folders:
            if shown(label) == name:
                return label
        raise RefusedError(404, "the class is no longer there; it was renamed or deleted")

    async def _asked(self, request: Request) -> dict[str, Any]:
        if not request.headers.get("content-type", "").startswith("application/json"):
            raise RefusedError(415, "send JSON, with Content-Type: application/json")
        async with self.bodies.hold(request) as body:
            try:
                asked = json.loads(body)
            except (ValueError, RecursionError):
                raise RefusedError(400, "the request is no JSON") from None
        if not isinstance(asked, dict):
            raise RefusedError(400, "send a JSON object")
        return asked


def _text(asked: dict[str, Any], name: str) -> str:
    found = asked.get(name)
    if not isinstance(found, str):
        raise RefusedError(400, f"{name} is missing; send a text")
    return found


def _numbers(asked: dict[str, Any]) -> list[str]:
    found = asked.get("images")
    if not isinstance(found, list) or len(found) > MOST_NUMBERS:
        raise RefusedError(400, "images is a list of what /studio/images calls them")
    return [str(number) for number in found]
