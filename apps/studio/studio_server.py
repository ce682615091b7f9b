"""The application of the studio: the page that learns, beside the page that answers."""

import asyncio
import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Unpack

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from visualwords.apps.command_line.terminal import printable, typed
from visualwords.apps.page import server as page
from visualwords.apps.page.guards import PAGE_POLICY, Access, RefusedError
from visualwords.apps.page.limits import Limits
from visualwords.apps.page.questions import Question
from visualwords.apps.studio.change_log import PartlyMovedError
from visualwords.apps.studio.learning import Learning
from visualwords.apps.studio.tested_models import images_json, look_alikes, questions, what_changed
from visualwords.apps.studio.workspace import Workspace, shown
from visualwords.errors import ImageError
from visualwords.files import open_regular
from visualwords.images import read_bytes

SCRIPTS = ("main", "state", "grid", "intake", "review", "models", "dialogs")
STATIC = {"/": "studio.html", "/studio.css": "studio.css"}
STATIC |= {f"/studio-{name}.js": f"studio-{name}.js" for name in SCRIPTS}
POLICY = f"{PAGE_POLICY}; frame-src 'self'"
FRAMED_REPORT = {
    "content-security-policy": page.REPORT_POLICY.replace("ancestors 'none'", "ancestors 'self'"),
    "x-frame-options": "SAMEORIGIN",
}
FOR_EVER = "private, max-age=31536000, immutable"  # the id of an image changes with its content
SMALL = 240  # pixels of the longer side of pictures in the grid
TOKEN = re.compile(r"[0-9a-zA-Z-]{8,40}")
MOST_NUMBERS = 100_000  # images of one request

Asked = dict[str, Any]


def create_studio(
    workspace: Workspace, learning: Learning, *, limits: Limits, **access: Unpack[Access]
) -> Starlette:
    """Make the ASGI application of a studio.

    Parameters
    ----------
    workspace : Workspace
    learning : Learning
    limits : Limits
    access : as in `visualwords.apps.page.server.create_app`
    """
    api = StudioApi(workspace, learning, limits)
    pages = page.static_pages("visualwords.apps.page", page.STATIC)
    pages["/page"] = pages.pop("/")
    own = page.static_pages("visualwords.apps.studio", STATIC, POLICY)
    return page.guarded(api, pages | own, **access)


class StudioApi(page.ModelApi):
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

    def routes(self) -> list[Route]:
        """The routes of the studio and of its models."""
        folder, learning = self.workspace, self.learning
        values = {
            "/studio/status": self._status,
            "/studio/images": lambda _: images_json(folder.listed(), learning.preferred()),
            "/studio/queue": self._queue,
            "/studio/changed": self._changed,
        }
        read: dict[str, page.Handler] = {
            "/studio/thumbnail/{id}": partial(self._picture, side=SMALL),
            "/studio/picture/{id}": self._picture,
            "/studio/explain/{id}": self._explain,
            "/studio/model.vw": self._model_file,
            "/report": self._report_page,
        }
        read |= {path: partial(self._value, work) for path, work in values.items()}
        changes = {
            "/studio/class": lambda asked: {"class": shown(folder.add_class(_text(asked, "name")))},
            "/studio/class/rename": self._rename_class,
            "/studio/class/delete": lambda asked: folder.delete_class(self._label(asked)),
            "/studio/move": self._move,
            "/studio/delete": lambda asked: folder.delete_images(_numbers(asked)),
            "/studio/undo": lambda _: {"what": printable(folder.log.undo() or "")},
            "/studio/redo": lambda _: {"what": printable(folder.log.redo() or "")},
            "/studio/settings": self._settings,
        }
        others = {  # what no model needs to learn
            "/studio/accept": lambda asked: folder.accept_images(_numbers(asked)),
            "/studio/train": lambda _: learning.train_better(),
            "/studio/cancel": lambda _: learning.cancel(),
        }
        posts: dict[str, page.Handler] = {"/studio/add": self._add_image}
        posts |= {path: partial(self._act, work) for path, work in changes.items()}
        posts |= {path: partial(self._act, work, learn=False) for path, work in others.items()}
        return [*super().routes(), *page.routes_of("GET", read), *page.routes_of("POST", posts)]

    # what there is

    async def _value(self, work: Callable[[Request], Asked], request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(work, request))

    def _status(self, request: Request) -> Asked:
        log, learning, preferred = self.workspace.log, self.learning, self.learning.preferred()
        return {
            "version": self.workspace.listed().version,
            "folder": printable(str(self.workspace.root)),
            "undo": printable(log.done[-1].what) if log.done else None,
            "redo": printable(log.undone[-1].what) if log.undone else None,
            "accepted": len(log.accepted),
            "training": {kind: one.to_json() for kind, one in learning.running.items()},
            "models": [one.to_json() for one in learning.shelf.models],
            "preferred": None if preferred is None else preferred.number,
            "answering": learning.models.names[:1],
            "report": learning.file_of("better", ".html").is_file(),
            "unknown": learning.says_unknown,
            "limits": {"max_bytes": self.limits.max_bytes},
            "commands": self._commands(),
        }

    def _commands(self) -> dict[str, str]:
        kind = (self.learning.models.names or ["quick"])[0]
        tested, model = self.learning.shelf.newest(kind), str(self.learning.file_of(kind))
        unknown = self.learning.says_unknown if tested is None else bool(tested.table["unknown"])
        train = self.learning.command(kind, "model.vw", unknown=unknown)
        words = {"predict": [model, "new.jpg"], "serve": [model]}
        others = {verb: typed("classify-images", verb, *rest) for verb, rest in words.items()}
        return {name: printable(one) for name, one in {"train": train, **others}.items()}

    def _queue(self, request: Request) -> Asked:
        model = self.learning.preferred()
        if model is None:
            return {"questions": [], "pairs": []}
        about = model, self.workspace.listed(), self.workspace.log.accepted
        return {"questions": questions(*about), "pairs": look_alikes(*about)}

    def _changed(self, request: Request) -> Asked:
        known = {str(model.number): model for model in self.learning.shelf.models}
        numbers = [request.query_params.get(name, "") for name in ("first", "second")]
        if not known.keys() >= set(numbers):
            raise RefusedError(404, "there is no such model; choose from those of the list")
        first, second = (known[number] for number in numbers)
        changed = what_changed(first, second, self.workspace.listed())
        if changed is None:
            raise RefusedError(409, "the two models were not tested on the same images")
        return changed

    async def _picture(self, request: Request, side: int = page.PREVIEW_SIDE) -> Response:
        work = partial(page.preview, max_pixels=self.limits.max_pixels, side=side)
        picture = await self._of_own_image(request, work)
        return Response(picture, media_type="image/jpeg", headers={"cache-control": FOR_EVER})

    async def _explain(self, request: Request) -> Response:
        top, label = Question.of(request.query_params).top, request.query_params.get("label")
        work = partial(self.models.find(None).explain, top=top, label=label)
        return JSONResponse(await self._of_own_image(request, work))

    async def _of_own_image(self, request: Request, work: Callable[[bytes], Any]) -> Any:
        """The result of the work on an image of the folder, in a worker thread."""
        image = await asyncio.to_thread(self.workspace.image, request.path_params["id"])
        try:
            data = await asyncio.to_thread(read_bytes, str(self.workspace.root / image.place))
        except ImageError as problem:
            raise RefusedError(404, f"the image can't be read: {problem}") from None
        return await self.work(request, work, data)

    async def _model_file(self, request: Request) -> Response:
        names = self.models.names
        if not names:
            raise RefusedError(409, "there is no model yet; add images of two classes")
        name = f"{os.path.basename(self.workspace.root) or 'model'}.vw"
        path = self.learning.file_of(names[0])
        return FileResponse(path, filename=name, media_type="application/octet-stream")

    async def _report_page(self, request: Request) -> Response:
        content = await asyncio.to_thread(self._report)
        if content is None:
            raise RefusedError(404, "there is no report yet; train the better model")
        headers = dict(FRAMED_REPORT)
        if "download" in request.query_params:
            headers["content-disposition"] = 'attachment; filename="report.html"'
        return Response(content, media_type="text/html", headers=headers)

    def _report(self) -> bytes | None:
        path = self.learning.file_of("better", ".html")
        with suppress(OSError), open_regular(path, follow_links=False) as file:
            return file.read()
        return None

    # what people do

    async def _act(
        self, action: Callable[[Asked], Asked | int | None], request: Request, learn: bool = True
    ) -> Response:
        """Do what a request in JSON asks for."""
        if not request.headers.get("content-type", "").startswith("application/json"):
            raise RefusedError(415, "send JSON, with Content-Type: application/json")
        async with self.bodies.hold(request) as body:
            try:
                asked = json.loads(body)
            except (ValueError, RecursionError):
                raise RefusedError(400, "the request is no JSON") from None
        if not isinstance(asked, dict):
            raise RefusedError(400, "send a JSON object")
        done = await self._change(action, asked, learn=learn)
        return JSONResponse({"images": done} if isinstance(done, int) else done or {})

    async def _change(self, action: Callable[..., Any], *arguments: Any, learn: bool = True) -> Any:
        """Change files in a thread; a full disk is an answer, not a failure of the server."""
        try:
            done = await asyncio.to_thread(action, *arguments)
        except OSError as problem:
            where = f" ({printable(str(problem.filename))})" if problem.filename else ""
            reason = (problem.strerror or str(problem)).lower() + where
            outcome = "a part was" if isinstance(problem, PartlyMovedError) else "nothing was"
            sentence = f"{outcome} changed: {reason}; free some space or check the folder"
            raise RefusedError(507, sentence) from None
        if learn:
            self.learning.note_change()
        return done

    def _label(self, asked: Asked) -> str:
        return self.workspace.label(_text(asked, "class"))

    def _move(self, asked: Asked) -> int:
        label = self._label(asked)
        return self.workspace.move_images(_numbers(asked), label)

    def _rename_class(self, asked: Asked) -> Asked:
        name = self.workspace.rename_class(self._label(asked), _text(asked, "name"))
        return {"class": shown(name)}

    def _settings(self, asked: Asked) -> None:
        if not isinstance(asked.get("unknown"), bool):
            raise RefusedError(400, "unknown is true or false")
        self.learning.say_unknown(asked["unknown"])

    async def _add_image(self, request: Request) -> Response:
        asked = request.query_params
        token = asked.get("change", "")
        if TOKEN.fullmatch(token) is None:
            raise RefusedError(400, "change is what files that are added together share; send it")
        label = await asyncio.to_thread(self.workspace.label, asked.get("class", ""))
        async with self.bodies.hold(request) as body:
            # Decoded with the limits of all uploads before it is kept.
            await self.work(request, page.preview, body, self.limits.max_pixels, SMALL)
            name = asked.get("name", "")
            image, is_new = await self._change(self.workspace.add_image, label, name, body, token)
        return JSONResponse({"id": image.id, "new": is_new})


def _text(asked: Asked, name: str) -> str:
    found = asked.get(name)
    if not isinstance(found, str):
        raise RefusedError(400, f"{name} is missing; send a text")
    return found


def _numbers(asked: Asked) -> list[str]:
    found = asked.get("images")
    if not isinstance(found, list) or len(found) > MOST_NUMBERS:
        raise RefusedError(400, "images is a list of what /studio/images calls them")
    return [str(number) for number in found]
