"""From a model's name to the answers of the server."""

import os
from typing import Any

import visualwords
from visualwords.apps.page.classifier_answers import ClassifierAnswers
from visualwords.apps.page.detector_answers import DetectorAnswers
from visualwords.apps.page.server import Answers


def answers_of(model: str | os.PathLike[str], max_pixels: int) -> Answers:
    """Load a model and warm it up, so that the first image takes no longer than the next.

    Parameters
    ----------
    model : path of a model file, or "pedestrian"
    max_pixels : int
        Larger images are refused.
    """
    loaded: Any = visualwords.load(model)
    name = os.path.splitext(os.path.basename(model))[0]
    if hasattr(loaded, "detect"):
        return DetectorAnswers(loaded, name, max_pixels)
    return ClassifierAnswers(loaded, name, max_pixels)
