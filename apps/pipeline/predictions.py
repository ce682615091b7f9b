"""Labels for many images, the unreadable ones listed instead of raised."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from visualwords.apps.classify_images.sort_into import UNKNOWN
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.errors import Skipped
from visualwords.progress import Progress

__all__ = ["Answer", "label_images"]


@dataclass(frozen=True)
class Answer:
    """What a model predicts for one image.

    Attributes
    ----------
    path : str
    label : str
        The best class; "unknown" where the model is not confident enough.
    scores : dict of class → decision value, best first
    probabilities : dict of class → probability of the same classes, or None
    is_confident : bool
    """

    path: str
    label: str
    scores: dict[str, float]
    probabilities: dict[str, float] | None
    is_confident: bool

    def to_json(self) -> dict[str, Any]:
        """Return the answer as what JSON can hold."""
        return {
            "path": self.path,
            "label": self.label,
            "confident": self.is_confident,
            "scores": self.scores,
            "probabilities": self.probabilities,
        }


def label_images(
    model: ImageClassifier,
    paths: Sequence[str],
    top: int = 1,
    min_confidence: float = 0.0,
    *,
    progress: Progress | None = None,
) -> tuple[list[Answer], list[Skipped]]:
    """Label images.

    Parameters
    ----------
    model : ImageClassifier
    paths : sequence of str
    top : int
        How many classes an answer has.
    min_confidence : float
        Probability from which the best class is the label.
    progress : Progress, optional

    Returns
    -------
    answers : list of Answer
    skipped : list of Skipped
    """
    found = model.score_images(paths, progress=progress)
    if not len(found.kept):
        return [], found.skipped
    scores = found.values
    chances = None if model.sigmoids_ is None else model.probabilities(scores)
    column = {str(name): i for i, name in enumerate(model.classes_)}
    answers = []
    for row, (i, ranked) in enumerate(zip(found.kept, model.rank(scores, top))):
        best = ranked[0][0]
        known = (
            None
            if chances is None
            else {name: float(chances[row, column[name]]) for name, _ in ranked}
        )
        confident = known is None or known[best] >= min_confidence
        label = best if confident else UNKNOWN
        answers.append(Answer(paths[i], label, dict(ranked), known, confident))
    return answers, found.skipped
