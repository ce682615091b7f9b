"""The program that loads models, and forks the worker processes that answer questions of them.

It is started by `visualwords.apps.page.worker_processes`. Models are loaded and warmed up once; a
worker is a copy that shares their memory and is there in some milliseconds. It decodes and predicts
one image after the other; what an image does to it costs the answer for that image.
"""

import gc
import os
import signal
import socket
import sys
import traceback
import warnings
from contextlib import suppress
from typing import Any, NoReturn

from visualwords.apps.page.answering import answers_of
from visualwords.apps.page.messages import Message, receive, send
from visualwords.apps.page.questions import Question
from visualwords.apps.page.refusals import RefusedError
from visualwords.apps.page.served_models import Answers
from visualwords.errors import ImageError, VisualWordsError
from visualwords.isolation import become_expendable
from visualwords.parallel import one_library_thread


def main(descriptor: str) -> None:
    """Do what the server asks for, until it closes the link."""
    link = socket.socket(fileno=int(descriptor))
    models: dict[int, Answers] = {}
    with one_library_thread():  # before the fork: workers do not have to ask again
        while (asked := receive(link, takes_socket=True)) is not None:
            for model in asked.fields["forget"]:
                models.pop(model, None)
            task = asked.fields["task"]
            if task == "load":
                send(link, _load(models, asked.fields))
            elif task == "fork":
                send(link, {"process": _fork(link, models, asked.sockets)})
            elif task == "end":
                send(link, {"code": _end(asked.fields["process"])})


def _load(models: dict[int, Answers], asked: dict[str, Any]) -> dict[str, Any]:
    try:
        answers = answers_of(asked["path"], asked["max_pixels"], asked["network"])
    except VisualWordsError as problem:
        return {"error": type(problem).__name__, "reason": str(problem)}
    except Exception:
        return {"traceback": traceback.format_exc()}
    models[asked["model"]] = answers
    gc.collect()
    gc.freeze()  # a collection in a worker does not write to, and so copy, all this memory
    return {"about": answers.about()}


def _fork(link: socket.socket, models: dict[int, Answers], sockets: list[int]) -> int:
    """Return the number of a new process that answers on the socket."""
    with warnings.catch_warnings():
        # Python warns where a process has threads. Those of libraries wait for work, of which
        # there is none: every library keeps to one thread here.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if not process:
        link.close()
        _work(socket.socket(fileno=sockets[0]), models)
    os.close(sockets[0])
    return process


def _end(process: int) -> int:
    """End a worker, if it has not ended; return its exit code, minus a signal that ended it."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    except ChildProcessError:
        return 0


def _work(link: socket.socket, models: dict[int, Answers]) -> NoReturn:
    """Answer questions until the server closes the link."""
    try:
        become_expendable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # decoders complain there of images
        while (asked := receive(link)) is not None:
            answer, data = _answered(models, asked)
            send(link, answer, data)
    finally:
        os._exit(0)


def _answered(models: dict[int, Answers], asked: Message) -> tuple[dict[str, Any], bytes]:
    try:
        answers, task = models[asked.fields["model"]], asked.fields["task"]
        if task == "predict":
            question = Question.from_json(asked.fields["question"])
            return {"found": answers.predict(asked.data, question)}, b""
        if task == "explain":
            top, label = asked.fields["top"], asked.fields["label"]
            return {"found": answers.explain(asked.data, top, label)}, b""
        return {}, answers.preview(asked.data)
    except RefusedError as refused:
        return {"status": refused.status, "reason": str(refused), "headers": refused.headers}, b""
    except ImageError as problem:
        return {"kind": problem.kind, "reason": str(problem)}, b""
    except Exception:
        return {"traceback": traceback.format_exc()}, b""


if __name__ == "__main__":
    main(sys.argv[1])
