"""The models of a server: chosen by name, and loaded again when their files are replaced."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from visualwords.apps.page.guards import RefusedError
from visualwords.apps.page.questions import Question
from visualwords.apps.watching.watcher import ReloadedModel
from visualwords.errors import FolderError


class Answers(Protocol):
    """Answers of a kind of model; called in worker threads."""

    def about(self) -> dict[str, Any]:
        """A description of the model."""

    def predict(self, data: bytes, question: Question) -> dict[str, Any]:
        """The prediction for an image file."""

    def explain(self, data: bytes, top: int, label: str | None) -> dict[str, Any]:
        """The explanation of a prediction."""


class ServedModels:
    """Models by name; the first one answers requests that name none.

    Parameters
    ----------
    answers : dict of name → Answers
    files : dict of name → ReloadedModel, optional
        Of the models that have a file.
    """

    def __init__(
        self,
        answers: Mapping[str, Answers],
        files: Mapping[str, ReloadedModel[Answers]] | None = None,
    ):
        self._answers = dict(answers)
        self._files = files or {}

    @property
    def names(self) -> list[str]:
        """The names of all models, in order."""
        return list(self._answers)

    def find(self, name: str | None) -> Answers:
        """A model; a request that began with it keeps it when it is replaced."""
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

    def reload(self) -> list[str]:
        """Load models whose files have changed; return a sentence about each.

        A file that is no good is reported once, and the model before it stays in use.
        """
        sentences = []
        for name, file in self._files.items():
            if sentence := file.refresh():
                self._answers[name] = file.model
                sentences.append(sentence)
        return sentences


def answers_of(
    model: str | os.PathLike[str], max_pixels: int, network: str | os.PathLike[str] | None = None
) -> Answers:
    """Load a model and warm it up, so that the first image takes no longer than the next.

    Parameters
    ----------
    model : path of a model file, or "pedestrian"
    max_pixels : int
        Larger images are refused.
    network : path-like, optional
        The ONNX file that the model needs, or its folder.
    """
    from visualwords import ImageClassifier, load
    from visualwords.apps.page.answers import ClassifierAnswers, DetectorAnswers

    loaded = load(model, network=network)
    name = _name_of(model)
    if isinstance(loaded, ImageClassifier):
        return ClassifierAnswers(loaded, name, max_pixels)
    return DetectorAnswers(loaded, name, max_pixels)


def served_models(
    paths: Sequence[str], max_pixels: int, network: str | None = None
) -> ServedModels:
    """Load models that are called by their file names without the extension.

    Parameters are those of `answers_of`, with several paths.
    """
    names = [_name_of(path) for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FolderError(f"two models are called {twice}; rename one of the files")

    files = {}
    for name, path in zip(names, paths):
        load = partial(answers_of, path, max_pixels, network)
        files[name] = ReloadedModel(load, path if os.path.isfile(path) else None)
    return ServedModels({name: file.model for name, file in files.items()}, files)


def _name_of(path: str | os.PathLike[str]) -> str:
    return os.path.splitext(os.path.basename(path))[0]
