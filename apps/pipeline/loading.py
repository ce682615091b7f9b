"""Model files of all kinds: what a file holds decides which parts of the package are imported."""

import os
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, TypeVar

from visualwords.errors import ModelFileError
from visualwords.model_file import read_model

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector
    from visualwords.apps.pipeline.classifier import ImageClassifier

__all__ = ["IMAGE_CLASSIFIER", "OBJECT_DETECTOR", "load", "model_path", "restored"]

IMAGE_CLASSIFIER = "image-classifier"
OBJECT_DETECTOR = "object-detector"
SHIPPED = "pedestrian"

Model = TypeVar("Model")


def model_path(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The path of a model file; "pedestrian" is that of the bundled detector."""
    if path == SHIPPED:
        return str(files("visualwords.apps.detection").joinpath("pedestrian.vw"))
    return path


def restored(path: str | os.PathLike[str], restore: Callable[[], Model]) -> Model:
    """What ``restore()`` makes of a model file; whatever goes wrong is told in a sentence."""
    try:
        return restore()
    except ModelFileError as problem:
        raise ModelFileError(f"{os.fspath(path)}: {problem}") from None
    except Exception as problem:  # a manifest by another hand can be wrong in any way
        reason = " ".join(str(problem).split())
        raise ModelFileError(
            f"{os.fspath(path)}: the manifest does not describe a model "
            f"({type(problem).__name__}: {reason})"
        ) from None


def load(
    path: str | os.PathLike[str], *, network: str | os.PathLike[str] | None = None
) -> "ImageClassifier | PedestrianDetector":
    """Read a model file, or the detector that ships with the package.

    Parameters
    ----------
    path : path-like
        A file written by ``save`` or by a command's ``train``; or the word "pedestrian" (a file of
        that name is "./pedestrian").
    network : path-like, optional
        The ONNX file that the model's recipe needs, or its folder; by default it is looked for
        beside the model, and in the folders of the environment variable VISUALWORDS_NETWORKS.

    Returns
    -------
    ImageClassifier or PedestrianDetector

    Raises
    ------
    ModelFileError
        If the file is not a usable model. Nothing in a model file is ever executed.
    """
    path = model_path(path)
    manifest, arrays = read_model(path)
    if manifest.get("kind") == OBJECT_DETECTOR:
        from visualwords.apps.detection.detector import PedestrianDetector

        return restored(path, lambda: PedestrianDetector.restore(manifest, arrays))
    from visualwords.apps.pipeline import model_io
    from visualwords.apps.pipeline.classifier import ImageClassifier

    return restored(
        path, lambda: model_io.restore(manifest, arrays, path, ImageClassifier, network)
    )
