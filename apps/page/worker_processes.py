"""Processes that decode images and predict them, so that the server itself only speaks HTTP.

Threads would take turns: most of a prediction of a small image is Python. And an image that crashes
its decoder ends a process that nobody misses. See `visualwords.apps.page._worker_program`.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from visualwords import errors
from visualwords.apps.page.messages import Message, receive, send
from visualwords.apps.page.questions import Question
from visualwords.apps.page.refusals import RefusedError
from visualwords.errors import CrashedDecoderError, DamagedImageError, Skipped

ANSWER_SECONDS = 300.0  # by the clock; decoding has limits of its own, which are shorter
ONE_THREAD = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")


def can_fork() -> bool:
    """Return whether workers can be copies of a process: on Linux.

    macOS has `os.fork`, too, but its own libraries may fail in a copy.
    """
    return sys.platform == "linux" and hasattr(os, "fork") and bool(sys.executable)


class WorkerError(RuntimeError):
    """An error of our code in a worker; the message is its traceback."""


class WorkerProcesses:
    """One worker process for each thread that asks.

    Examples
    --------
    >>> processes = WorkerProcesses()
    >>> processes.close()
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of the link to the template
        self._template: _Template | None = None
        self._loaded: dict[int, dict[str, Any]] = {}  # what the template was asked to load
        self._n_loaded = 0
        self._unused: list[int] = []  # models that the template can forget
        self._own = threading.local()
        self._workers: set[_Worker] = set()
        self._is_closed = False

    def load(
        self, path: str | os.PathLike[str], max_pixels: int, network: str | None = None
    ) -> "AnswersOfProcesses":
        """Load a model, as `visualwords.apps.page.answering.answers_of` does."""
        with self._lock:
            self._n_loaded += 1
            number = self._n_loaded
            asked = {
                "task": "load",
                "model": number,
                "path": os.path.abspath(path) if os.path.exists(path) else os.fspath(path),
                "max_pixels": max_pixels,
                "network": None if network is None else os.fspath(network),
            }
            about = self._load(asked)
            self._loaded[number] = asked
        return AnswersOfProcesses(self, number, about)

    def forget(self, model: int) -> None:
        """Say that nobody asks a model any more."""
        self._unused.append(model)  # no lock: this may be called in the middle of anything

    def ask(self, model: int, data: bytes, **fields: Any) -> Message:
        """Return the answer of this thread's worker.

        Raises
        ------
        ImageError, RefusedError
            Those of the worker; `CrashedDecoderError` if it ends, `DamagedImageError` if that is
            for lack of time.
        """
        worker = self._worker_for(model)
        try:
            answer = worker.ask({"model": model, **fields}, data)
        except (OSError, EOFError) as problem:
            code = self._end(worker)
            if isinstance(problem, TimeoutError) or code == -signal.SIGPROF:
                raise DamagedImageError("damaged file (its decoder took too long)") from None
            raise CrashedDecoderError("damaged file (its decoder crashed)") from None
        _raise_if_refused(answer.fields)
        return answer

    def close(self) -> None:
        """End all processes; a thread that waits for one gets a `CrashedDecoderError`."""
        with self._lock:
            self._is_closed = True
            for worker in self._workers:
                worker.kill()
            self._workers.clear()
            if self._template is not None:
                self._template.end()
                self._template = None

    def _worker_for(self, model: int) -> "_Worker":
        """Return the worker of this thread; a new one if it has ended or lacks the model."""
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker is not None and (worker.newest < model or worker.has_ended):
            self._end(worker)
            worker = None
        if worker is None:
            with self._lock:
                worker = self._in_template(lambda template: template.fork(self._n_loaded))
                self._workers.add(worker)
            self._own.worker = worker
        return worker

    def _end(self, worker: "_Worker") -> int:
        """End a worker; return its exit code."""
        self._own.worker = None
        with self._lock:
            self._workers.discard(worker)
            worker.close()
            if self._is_closed:
                return 0
            return self._in_template(lambda template: template.end_worker(worker))

    def _load(self, asked: dict[str, Any]) -> dict[str, Any]:
        answer = self._in_template(lambda template: template.ask(asked))
        if "error" in answer:
            raise getattr(errors, answer["error"], errors.VisualWordsError)(answer["reason"])
        _raise_if_refused(answer)
        return answer["about"]

    def _in_template(self, do: Callable[["_Template"], Any]) -> Any:
        """Ask the template; a new one if it has ended, which loads all models again."""
        if self._is_closed:
            raise CrashedDecoderError("the server is being stopped")
        for model in self._unused:
            self._loaded.pop(model, None)
        if self._template is not None:
            try:
                return do(self._template)
            except (OSError, EOFError):
                self._template.end()
        self._template = _Template(self._unused)
        for asked in self._loaded.values():
            self._template.ask(asked)
        return do(self._template)


class _Template:
    """The process that has loaded the models, of which workers are copies."""

    def __init__(self, unused: list[int]):
        self._unused = unused
        self._link, other = socket.socketpair()
        # -P: a folder of images may have a numpy.py. A session of its own: Ctrl-C is the server's.
        with other:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "visualwords.apps.page._worker_program",
                    str(other.fileno()),
                ],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                env=os.environ | ONE_THREAD,
            )

    def ask(self, fields: dict[str, Any], passed: socket.socket | None = None) -> dict[str, Any]:
        forgotten, self._unused[:] = list(self._unused), []
        send(self._link, {"forget": forgotten, **fields}, passed=passed)
        answer = receive(self._link)
        if answer is None:
            raise EOFError("the process that has the models ended")
        return answer.fields

    def fork(self, newest: int) -> "_Worker":
        link, other = socket.socketpair()
        with other:
            process = self.ask({"task": "fork"}, passed=other)["process"]
        return _Worker(link, process, newest)

    def end_worker(self, worker: "_Worker") -> int:
        return self.ask({"task": "end", "process": worker.process})["code"]

    def end(self) -> None:
        self._link.close()
        self._process.kill()
        self._process.wait()


class _Worker:
    """A process that answers questions of the models that were loaded when it was made."""

    def __init__(self, link: socket.socket, process: int, newest: int):
        self.process, self.newest = process, newest
        self._link = link
        self._is_asked = False
        self._link.settimeout(ANSWER_SECONDS)
        self._poll = select.poll()
        self._poll.register(link, select.POLLIN)

    @property
    def has_ended(self) -> bool:
        """Whether it ended while nothing was asked."""
        return bool(self._poll.poll(0))

    def ask(self, fields: dict[str, Any], data: bytes) -> Message:
        self._is_asked = True
        send(self._link, fields, data)
        answer = receive(self._link)
        if answer is None:
            raise EOFError("the worker ended")
        self._is_asked = False
        return answer

    def kill(self) -> None:
        """End the process; a thread that waits for its answer is told, and closes the link."""
        with suppress(OSError):
            os.kill(self.process, signal.SIGKILL)
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        if not self._is_asked:
            self.close()

    def close(self) -> None:
        self._link.close()


class AnswersOfProcesses:
    """Answers of a model that worker processes have; see `Answers` in `served_models`.

    Parameters
    ----------
    processes : WorkerProcesses
    model : int
        What these call the model.
    about : dict
        The description of the model.
    """

    def __init__(self, processes: WorkerProcesses, model: int, about: dict[str, Any]):
        self._processes, self._model, self._about = processes, model, about

    def __del__(self) -> None:
        self._processes.forget(self._model)

    def about(self) -> dict[str, Any]:
        """Return a description of the model."""
        return self._about

    def predict(self, data: bytes, question: Question) -> dict[str, Any]:
        """Return the prediction for an image file."""
        return self._ask(data, task="predict", question=asdict(question)).fields["found"]

    def explain(self, data: bytes, top: int, label: str | None) -> dict[str, Any]:
        """Return the explanation of a prediction."""
        return self._ask(data, task="explain", top=top, label=label).fields["found"]

    def preview(self, data: bytes) -> bytes:
        """Return the image as a small JPEG."""
        return self._ask(data, task="preview").data

    def _ask(self, data: bytes, **fields: Any) -> Message:
        return self._processes.ask(self._model, data, **fields)


def _raise_if_refused(answer: dict[str, Any]) -> None:
    """Raise what a worker raised."""
    if "status" in answer:
        raise RefusedError(answer["status"], answer["reason"], answer["headers"])
    if "kind" in answer:
        raise Skipped("", answer["reason"], answer["kind"]).error()
    if "traceback" in answer:
        raise WorkerError(f"in a worker process:\n{answer['traceback']}")
