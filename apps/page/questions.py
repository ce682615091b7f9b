"""What a request asks for, beside its image: checked before the image is worked on."""

from dataclasses import dataclass
from typing import Any

from visualwords.apps.page.refusals import RefusedError

MOST_CLASSES = 99_999


@dataclass(frozen=True)
class Question:
    """Parameters of a prediction.

    Attributes
    ----------
    top : how many classes an answer has
    least : the lowest confidence of boxes (detectors); None for the model's own
    min_confidence : the probability below which the label is "unknown"
    unknown : the share of known images that may be "unknown"; None for the model's own
    thresholds : classes, and the probability from which each is the label
    """

    top: int = 5
    least: float | None = None
    min_confidence: float = 0.0
    unknown: float | None = None
    thresholds: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, parameters: Any) -> "Question":
        """Read the query of a request (Starlette's ``query_params``)."""
        return cls(
            _top(parameters.get("top", "5")),
            _share(parameters, "least", "the lowest confidence of boxes"),
            _share(parameters, "min_confidence", "the lowest probability of a label") or 0.0,
            _share(parameters, "unknown", "the share of known images that may be unknown"),
            tuple(_threshold(text) for text in parameters.getlist("threshold")),
        )

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Question":
        """Return the question of which JSON has these fields."""
        thresholds = tuple((label, share) for label, share in fields["thresholds"])
        return cls(**fields | {"thresholds": thresholds})


def _top(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text)):
        sentence = f"top is the number of classes to return; give a number from 1 to {MOST_CLASSES}"
        raise RefusedError(400, sentence)
    return int(text)


def _share(parameters: Any, name: str, meaning: str) -> float | None:
    text = parameters.get(name)
    if text is None:
        return None
    found = _number(text)
    if not 0 < found < 1:
        raise RefusedError(400, f"{name} is {meaning}; give a number between 0 and 1")
    return found


def _threshold(text: str) -> tuple[str, float]:
    label, _, number = text.rpartition(":")
    found = _number(number)
    if not label or not 0 <= found <= 1:
        sentence = "threshold is a class and a probability from 0 to 1, such as defect:0.2"
        raise RefusedError(400, sentence)
    return label, found


def _number(text: str) -> float:
    """Return a plain decimal number; −1 for any other text."""
    plain = text.isascii() and len(text) <= 8 and text.replace(".", "", 1).isdecimal()
    return float(text) if plain else -1.0
