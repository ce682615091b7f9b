"""Detections in an image, as plain values for JSON."""

import copy
import time
from typing import Any

import numpy as np

import visualwords
from visualwords.apps.command_line.terminal import printable
from visualwords.apps.page.guards import RefusedError
from visualwords.apps.page.questions import Question
from visualwords.images import read_image, shrink

MAX_SIDE = 1600  # larger images are shrunk: the time stays bounded
PERSON = "person"


class DetectorAnswers:
    """Answers of a detector; see `visualwords.apps.page.server.Answers`.

    Parameters
    ----------
    model : PedestrianDetector
    name : str
    max_pixels : int
    """

    def __init__(self, model: Any, name: str, max_pixels: int):
        self.model = model
        self.name = name
        self.max_pixels = max_pixels
        model.detect(np.zeros((160, 120, 3), np.uint8))  # warm up: compile and load

    def about(self) -> dict[str, Any]:
        """Return a description of the model."""
        facts = {"images": f"shrunk to {MAX_SIDE} pixels if larger"}
        facts["visualwords"] = visualwords.__version__
        label = printable(self.model.label)
        objects = "people who stand or walk" if label == PERSON else f"objects of class {label}"
        return {
            "kind": "detector",
            "name": self.name,
            "summary": f"Detects {objects} and draws a box around each.",
            "classes": [{"label": label, "images": None}],
            "facts": [{"name": name, "value": value} for name, value in facts.items()],
            "explains": False,
        }

    def predict(self, data: bytes, question: Question) -> dict[str, Any]:
        """Return the boxes of an image, best first."""
        start = time.perf_counter()
        image = read_image(data, "rgb", self.max_pixels)
        small = shrink(image, MAX_SIDE)
        model = self.model
        if question.least is not None:  # of a copy: other threads use the model, too
            model = copy.copy(model).set_params(threshold=question.least)
        boxes, confidences = model.detect(small)
        zoom = image.shape[1] / small.shape[1]
        found = zip(np.round(zoom * boxes, 1).tolist(), confidences.tolist())
        listed = [{"box": box, "confidence": round(share, 4)} for box, share in found]
        return {
            "kind": "detector",
            "boxes": sorted(listed, key=lambda one: -one["confidence"]),
            "width": image.shape[1],
            "height": image.shape[0],
            "seconds": round(time.perf_counter() - start, 4),
        }

    def explain(self, data: bytes, top: int, label: str | None) -> dict[str, Any]:
        """Refuse: a detector has no evidence map."""
        raise RefusedError(404, "a detector has no evidence map; ask /api/predict for its boxes")
