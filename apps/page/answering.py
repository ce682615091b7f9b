"""From a model's name to what the server can say with it."""

import os
from typing import Any

import visualwords
from visualwords.apps.page.classifier_answers import ClassifierAnswers
from visualwords.apps.page.detector_answers import DetectorAnswers
from visualwords.apps.page.server import Answers


def answers_of(model: str | os.PathLike[str], max_pixels: int) -> Answers:
    """Load a model and make it ready, so that the first image is answered as fast as the next.

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
