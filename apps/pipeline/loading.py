"""Model files of all kinds: what a file holds decides which parts of the package are imported."""

import os
from typing import TYPE_CHECKING

from visualwords.model_file import OBJECT_DETECTOR, model_path, read_model, restored

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector
    from visualwords.apps.pipeline.classifier import ImageClassifier

__all__ = ["load"]


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
