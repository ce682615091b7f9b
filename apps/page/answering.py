"""From a model's name to the answers of the server."""

import os
from collections.abc import Sequence
from typing import Any

import visualwords
from visualwords.apps.page.served_models import Answers, ServedModels
from visualwords.apps.page.worker_processes import WorkerProcesses
from visualwords.errors import FolderError


def answers_of(
    model: str | os.PathLike[str],
    max_pixels: int,
    network: str | os.PathLike[str] | None = None,
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
    # Here, not above: a server whose processes answer does without them, and their memory.
    from visualwords.apps.page.classifier_answers import ClassifierAnswers
    from visualwords.apps.page.detector_answers import DetectorAnswers

    loaded: Any = visualwords.load(model, network=network)
    name = os.path.splitext(os.path.basename(model))[0]
    if hasattr(loaded, "detect"):
        return DetectorAnswers(loaded, name, max_pixels)
    return ClassifierAnswers(loaded, name, max_pixels)


def served_models(
    paths: Sequence[str],
    max_pixels: int,
    network: str | None = None,
    *,
    in_processes: bool = False,
) -> ServedModels:
    """Load models that are called by their file names without the extension.

    Parameters
    ----------
    paths : of model files, or "pedestrian"
    max_pixels, network : as in `answers_of`
    in_processes : bool
        Whether worker processes load them and answer; ``close`` of what is returned ends these.
    """
    names = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FolderError(f"two models are called {twice}; rename one of the files")

    processes = WorkerProcesses()
    load_one = processes.load if in_processes else answers_of

    def load(path: str) -> Answers:
        return load_one(path, max_pixels, network)

    files = {name: path for name, path in zip(names, paths) if os.path.isfile(path)}
    try:
        found = {name: load(path) for name, path in zip(names, paths)}
    except BaseException:
        processes.close()
        raise
    return ServedModels(found, load, files, processes.close)
