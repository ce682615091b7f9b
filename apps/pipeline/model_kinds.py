"""What kinds of model files there are, and what is common to reading them."""

import os
from collections.abc import Callable
from importlib.resources import files
from typing import TypeVar

from visualwords.errors import ModelFileError

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
