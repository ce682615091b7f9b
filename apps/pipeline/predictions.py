"""Scores and labels of many images, the unreadable ones listed instead of raised.

Images come one after the other, and their rows are never in memory together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.errors import Skipped
from visualwords.progress import PartOf, Progress, Silent

if TYPE_CHECKING:
    from visualwords.apps.pipeline.fitted_classifier import FittedImageClassifier

__all__ = ["Answer", "Scores", "join_scores", "label_each", "label_images"]

PART = 4096  # images whose names and contents are known at once


@dataclass(frozen=True)
class Scores:
    """Scores of images.

    Attributes
    ----------
    values : (n, n_classes) or (n,) float64
        Of the images that could be read.
    kept : (n,) positions of these images
    skipped : the others
    distances : (n,) or None
        To the nearest training image, where the model keeps these.
    looks : (n,) float64 or None
        Distance of each image's appearance to that of training images, where the model knows it.
    """

    values: np.ndarray
    kept: np.ndarray
    skipped: list[Skipped]
    distances: np.ndarray | None = None
    looks: np.ndarray | None = None


def join_scores(parts: Iterable[Scores]) -> Scores:
    """The scores of all images, given in parts."""
    parts = list(parts)
    found = [part for part in parts if len(part.kept)]
    distances = [part.distances for part in found if part.distances is not None]
    looks = [part.looks for part in found if part.looks is not None]
    return Scores(
        np.concatenate([part.values for part in found]) if found else np.zeros(0),
        np.concatenate([part.kept for part in found]) if found else np.zeros(0, np.intp),
        [one for part in parts for one in part.skipped],
        np.concatenate(distances) if distances else None,
        np.concatenate(looks) if looks else None,
    )


@dataclass(frozen=True)
class Answer:
    """What a model predicts for one image.

    Attributes
    ----------
    path : str
        Empty where the image was not a file.
    label : str
        The most probable class, unless costs or thresholds say else; "unknown" where the image is
        unlike the training images, or the label not probable enough.
    scores : dict of class → decision value, most probable class first
    probabilities : dict of class → probability of the same classes, or None
    is_confident : bool
        Whether the label is a class.
    probability : float or None
        Of the label; of the best class where it is unknown.
    novelty : float or None
        Share of known images that are less novel; None where the model can't tell.
    alarm : bool or None
        Whether it raises the alarm of the model, if that has one.
    """

    path: str
    label: str
    scores: dict[str, float]
    probabilities: dict[str, float] | None
    is_confident: bool
    probability: float | None = None
    novelty: float | None = None
    alarm: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """The answer as what JSON can hold."""
        return {
            "path": self.path,
            "label": self.label,
            "probability": self.probability,
            "novelty": self.novelty,
            "confident": self.is_confident,
            "scores": self.scores,
            "probabilities": self.probabilities,
            **({} if self.alarm is None else {"alarm": self.alarm}),
        }


def label_images(
    model: "FittedImageClassifier",
    paths: Sequence[Any],
    top: int = 1,
    min_confidence: float = 0.0,
    *,
    progress: Progress | None = None,
) -> tuple[list[Answer], list[Skipped]]:
    """Label images.

    Parameters
    ----------
    model : ImageClassifier
    paths : sequence of paths, files as bytes, or arrays
    top : int
        How many classes an answer has.
    min_confidence : float
        Probability from which a class is the label.
    progress : Progress, optional

    Returns
    -------
    answers : list of Answer
    skipped : list of Skipped
    """
    answers: list[Answer] = []
    skipped: list[Skipped] = []
    for found, left_out in label_each(model, paths, top, min_confidence, progress=progress):
        answers += found
        skipped += left_out
    return answers, skipped


def label_each(
    model: "FittedImageClassifier",
    paths: Sequence[Any],
    top: int = 1,
    min_confidence: float = 0.0,
    *,
    progress: Progress | None = None,
) -> Iterator[tuple[list[Answer], list[Skipped]]]:
    """Yield the answers for some images at a time, as they come, and those that were left out.

    Memory does not depend on the number of images. Parameters are those of `label_images`.
    """
    progress = progress or Silent()
    progress.start("reading images", len(paths))
    for start in range(0, len(paths), PART):
        part = paths[start : start + PART]
        for found in model.score_stream(part, progress=PartOf(progress)):
            yield _answers(model, part, found, top, min_confidence), found.skipped


def _answers(
    model: "FittedImageClassifier",
    paths: Sequence[Any],
    found: Scores,
    top: int,
    min_confidence: float,
) -> list[Answer]:
    if not len(found.kept):
        return []
    scores, decided = both_classes(found.values), model.decide(found)
    chances = decided.probabilities
    order = np.argsort(-(scores if chances is None else chances), axis=1, kind="stable")
    names = [str(name) for name in model.classes_]
    column, rejected = {name: i for i, name in enumerate(names)}, model.decision_.rejected
    answers = []
    for row, i in enumerate(found.kept):
        best, label = order[row, :top], str(decided.labels[row])
        sure, known = None, None
        if chances is not None:
            sure = float(chances[row, column.get(label, order[row, 0])])
            known = {names[c]: float(chances[row, c]) for c in best}
            label = label if sure >= min_confidence else rejected
        answers.append(
            Answer(
                paths[i] if isinstance(paths[i], str) else "",
                label,
                {names[c]: float(scores[row, c]) for c in best},
                known,
                label != rejected,
                sure,
                None if decided.novelty is None else float(decided.novelty[row]),
                None if decided.alarms is None else bool(decided.alarms[row]),
            )
        )
    return answers
