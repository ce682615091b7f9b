"""The models of a server: chosen by name, and loaded again when their files are replaced."""

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from visualwords.apps.page.questions import Question
from visualwords.apps.page.refusals import RefusedError
from visualwords.errors import VisualWordsError


class Answers(Protocol):
    """Answers of a kind of model; called in worker threads."""

    def about(self) -> dict[str, Any]:
        """Return a description of the model."""

    def predict(self, data: bytes, question: Question) -> dict[str, Any]:
        """Return the prediction for an image file."""

    def explain(self, data: bytes, top: int, label: str | None) -> dict[str, Any]:
        """Return the explanation of a prediction."""

    def preview(self, data: bytes) -> bytes:
        """Return the image as a small JPEG."""


class ServedModels:
    """Models by name; the first one answers requests that name none.

    Parameters
    ----------
    answers : dict of name → Answers
    load : function of a path, optional
        Loads a model again; raises `VisualWordsError` if its file is no good.
    paths : dict of name → path, optional
        Of the models that have a file.
    close : function, optional
        Ends what models need, when nobody asks them any more.
    """

    def __init__(
        self,
        answers: Mapping[str, Answers],
        load: Callable[[str], Answers] | None = None,
        paths: Mapping[str, str] | None = None,
        close: Callable[[], None] = lambda: None,
    ):
        self.close = close
        self._answers = dict(answers)
        self._load = load
        self._paths = dict(paths or {}) if load is not None else {}
        self._seen = {name: _state_of(path) for name, path in self._paths.items()}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """The names of all models, in order."""
        return list(self._answers)

    def find(self, name: str | None) -> Answers:
        """Return a model; a request that began with it keeps it when it is replaced."""
        if not self._answers:
            raise RefusedError(409, "there is no model yet; train one first")
        if name is None:
            return next(iter(self._answers.values()))
        if name not in self._answers:
            raise RefusedError(404, f"there is no such model; choose from {', '.join(self.names)}")
        return self._answers[name]

    def put(self, name: str, answers: Answers) -> None:
        """Put a model first, in the place of one of the same name."""
        self._answers = {name: answers} | {
            other: kept for other, kept in self._answers.items() if other != name
        }

    def reload(self, *, all_files: bool = False) -> list[str]:
        """Load models whose files have changed; return a sentence about each.

        A file that is no good is reported once, and the model before it stays in use.
        """
        sentences = []
        with self._lock:
            for name, path in self._paths.items():
                state = _state_of(path)
                if state is None or (state == self._seen[name] and not all_files):
                    continue
                self._seen[name] = state
                try:
                    assert self._load is not None
                    self._answers[name] = self._load(path)
                    sentences.append(f"{path}: loaded again")
                except VisualWordsError as problem:
                    sentences.append(f"{problem}; the model before stays in use")
        return sentences


def _state_of(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:  # between two versions of it
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
