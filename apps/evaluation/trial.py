"""Trying a model on images whose labels are known: held back, or fold by fold."""

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.base import clone

from visualwords.apps.evaluation.figures import Evaluation, compare
from visualwords.apps.pipeline.cached_scores import judge_or_recall
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder
from visualwords.progress import Progress, Silent

__all__ = ["Trial", "cross_validate", "run_trial"]


@dataclass(frozen=True)
class Trial:
    """What a model said about labelled images.

    Attributes
    ----------
    classes : list of str
        Those the model knows: the columns of scores and probabilities.
    paths, truth, guesses : list of str
        The images that could be read, their labels, and what the model said.
    scores : (n, n_classes) float64
        Decision values; of two classes the first has minus the second's.
    probabilities : (n, n_classes) float64 or None
        None where the model has none.
    skipped : list of (path, reason)
    n_known : int
        How many of the images the model was trained on; more than 0 flatters it.
    n_folds : int
        How many models of other images were tried; 0 if it was one model.
    """

    classes: list[str]
    paths: list[str]
    truth: list[str]
    guesses: list[str]
    scores: np.ndarray
    probabilities: np.ndarray | None
    skipped: list[tuple[str, str]]
    n_known: int = 0
    n_folds: int = 0

    @cached_property
    def evaluation(self) -> Evaluation:
        """The figures."""
        return compare(self.truth, self.guesses, self.classes)

    @cached_property
    def _guess_codes(self) -> list[int]:
        column = {name: i for i, name in enumerate(self.classes)}
        return [column[guess] for guess in self.guesses]

    @cached_property
    def confidence(self) -> np.ndarray:
        """How sure the model was of each guess: its probability, else its score."""
        certain = self.scores if self.probabilities is None else self.probabilities
        return certain[np.arange(len(self.guesses)), self._guess_codes]


def run_trial(
    model: ImageClassifier, images: ImageFolder, *, progress: Progress | None = None
) -> Trial:
    """Let a model label images whose labels are known.

    Parameters
    ----------
    model : ImageClassifier
        Fitted.
    images : ImageFolder
    progress : Progress, optional

    Raises
    ------
    FolderError
        If none of the images can be read.
    """
    judgement = judge_or_recall(model, images.paths, progress or Silent())
    if not len(judgement.kept):
        raise FolderError(f"{images.path}: none of the {len(images)} images can be read")
    scores = judgement.scores
    digests = np.frombuffer(b"".join(judgement.digests), np.uint64)
    return Trial(
        classes=model.classes_.tolist(),
        paths=[images.paths[i] for i in judgement.kept],
        truth=[images.labels[i] for i in judgement.kept],
        guesses=model.labels_of(scores).tolist(),
        scores=both_classes(scores),
        probabilities=None if model.sigmoids_ is None else model.probabilities(scores),
        skipped=[(images.paths[i], reason) for i, reason in judgement.skipped],
        n_known=int(np.isin(digests, model.training_digests_).sum()),
    )


def cross_validate(
    model: ImageClassifier,
    images: ImageFolder,
    n_folds: int = 5,
    *,
    progress: Progress | None = None,
) -> Trial:
    """Try a model on every image once, each time trained on the other folds.

    Folds have the classes in the same proportions and keep groups together. A model whose recipe
    is "auto" chooses one anew in every fold, so that no image has a say in its own trial.

    Parameters
    ----------
    model : ImageClassifier
        Its parameters count; it is not changed.
    images : ImageFolder
    n_folds : int
    progress : Progress, optional
    """
    smallest, count = min(Counter(images.labels).items(), key=lambda pair: pair[1])
    if count < 2:
        raise FolderError(
            f"{images.path}: class {smallest!r} has only 1 image; folds need 2 of each class"
        )
    trials = []
    for training, testing in _folds(images, n_folds, model.random_state):
        learner = clone(model)
        learner.fit(training.paths, training.labels, progress=progress or Silent(), warn=False)
        trials.append(run_trial(learner, testing, progress=progress))
    return _joined(trials)


def _folds(
    images: ImageFolder, n_folds: int, seed: int
) -> Iterator[tuple[ImageFolder, ImageFolder]]:
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    groups = None
    if any(group is not None for group in images.groups):
        groups = [f"group {g}" if g else f"image {i}" for i, g in enumerate(images.groups)]
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(min(n_folds, len(images)), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer images than folds is fine here
        divisions = list(splitter.split(images.paths, images.labels, groups))
    for training, testing in divisions:
        yield images.select(training), images.select(testing)


def _joined(trials: list[Trial]) -> Trial:
    """Return the trials of all folds as one; a class that a fold did not know scores lowest."""
    classes = sorted({name for trial in trials for name in trial.classes})
    aligned = [_aligned(trial, classes) for trial in trials]
    known = [trial.probabilities for trial in aligned if trial.probabilities is not None]
    return Trial(
        classes=classes,
        paths=[path for trial in trials for path in trial.paths],
        truth=[label for trial in trials for label in trial.truth],
        guesses=[label for trial in trials for label in trial.guesses],
        scores=np.vstack([trial.scores for trial in aligned]),
        probabilities=np.vstack(known) if len(known) == len(trials) else None,
        skipped=[pair for trial in trials for pair in trial.skipped],
        n_folds=len(trials),
    )


def _aligned(trial: Trial, classes: list[str]) -> Trial:
    columns = [classes.index(name) for name in trial.classes]
    scores = np.full((len(trial.paths), len(classes)), -np.inf)
    scores[:, columns] = trial.scores
    probabilities = None
    if trial.probabilities is not None:
        probabilities = np.zeros_like(scores)
        probabilities[:, columns] = trial.probabilities
    return replace(trial, classes=classes, scores=scores, probabilities=probabilities)
