"""Model files of all kinds: what a file holds decides which parts of the package are imported."""

import os
from importlib.resources import files
from typing import TYPE_CHECKING

from visualwords.errors import ModelFileError
from visualwords.model_file import read_model

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector
    from visualwords.apps.pipeline.image_classifier import ImageClassifier

__all__ = ["IMAGE_CLASSIFIER", "OBJECT_DETECTOR", "load", "load_image_classifier", "model_path"]

IMAGE_CLASSIFIER = "image-classifier"
OBJECT_DETECTOR = "object-detector"
SHIPPED = "pedestrian"


def model_path(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return the path of a model file; "pedestrian" is that of the bundled detector."""
    if path == SHIPPED:
        return str(files("visualwords.apps.detection").joinpath("pedestrian.vw"))
    return path


def load(
    path: str | os.PathLike[str], *, network: str | os.PathLike[str] | None = None
) -> "ImageClassifier | PedestrianDetector":
    """Read a model file, or the detector that comes with the package.

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
    try:
        if manifest["kind"] == IMAGE_CLASSIFIER:
            given = None if network is None else os.fspath(network)
            from visualwords.apps.pipeline.saving import restore_image_classifier

            return restore_image_classifier(manifest, arrays, os.fspath(path), given)
        if manifest["kind"] == OBJECT_DETECTOR:
            from visualwords.apps.detection.detector import PedestrianDetector

            return PedestrianDetector.restore(manifest, arrays)
        raise ModelFileError(f"a model of kind {manifest['kind']!r}, which is not known here")
    except ModelFileError as problem:
        raise ModelFileError(f"{os.fspath(path)}: {problem}") from None
    except Exception as problem:  # a manifest by another hand can be wrong in any way
        reason = " ".join(str(problem).split())
        raise ModelFileError(
            f"{os.fspath(path)}: the manifest does not describe a model "
            f"({type(problem).__name__}: {reason})"
        ) from None


def load_image_classifier(
    path: str | os.PathLike[str], network: str | os.PathLike[str] | None = None
) -> "ImageClassifier":
    """Read a model file that labels whole images; any other raises `ModelFileError`."""
    from visualwords.apps.pipeline.image_classifier import ImageClassifier

    model = load(path, network=network)
    if not isinstance(model, ImageClassifier):
        raise ModelFileError(
            f"{os.fspath(path)}: finds objects; use it with detect-pedestrians run --model"
        )
    return model
