"""Trying models on images whose labels are known: held back, or fold by fold; one or two."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from visualwords.apps.evaluation.figures import Alarms, ClassCurve, Evaluation, bootstrap, compare
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.costs import check_scores
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.decision import Decision
from visualwords.apps.pipeline.near_duplicates import find_duplicates, keep_together
from visualwords.apps.pipeline.stages import Environment
from visualwords.classifiers.calibration import divide
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.errors import FolderError, Skipped
from visualwords.folders import ImageFolder
from visualwords.progress import Progress, Silent

__all__ = ["PairedTrials", "Trial", "cross_validate", "pair_trials", "ready_for_folds", "run_trial"]

LISTS, ARRAYS = ("paths", "truth", "guesses", "groups"), ("scores", "probabilities", "novelty")


@dataclass(frozen=True)
class Trial:
    """What a model predicted for labelled images.

    Attributes
    ----------
    classes : list of str
        Those the model knows: the columns of scores and probabilities.
    paths, truth, guesses : list of str
        The images that could be read, their labels, and what the model predicted.
    scores : (n, n_classes) float64
        Decision values; of two classes the first has minus the second's.
    probabilities : (n, n_classes) float64 or None
        None where the model has none.
    skipped : list of Skipped
    n_known : int
        How many of the images the model was trained on; more than 0 flatters it.
    n_folds : int
        How many models of other images were tried; 0 if it was one model.
    groups : list of str or None, optional
        What each image belongs to (one object, patient or scene); intervals are those of groups.
    novelty : (n,) float64 or None
        How unlike the training images each image is; None where it is unknown.
    decision : Decision or None
        What made labels of probabilities; None where the folds' models differ in their classes.
    """

    classes: list[str]
    paths: list[str]
    truth: list[str]
    guesses: list[str]
    scores: np.ndarray
    probabilities: np.ndarray | None
    skipped: list[Skipped]
    n_known: int = 0
    n_folds: int = 0
    groups: list[str | None] | None = None
    novelty: np.ndarray | None = None
    decision: Decision | None = None

    def __repr__(self) -> str:
        folds = f", {self.n_folds} folds" * bool(self.n_folds)
        return f"<Trial: {self.evaluation.headline}{folds}>"

    @cached_property
    def evaluation(self) -> Evaluation:
        """The figures."""
        return compare(self.truth, self.guesses, self.classes, self.groups)

    @property
    def right(self) -> np.ndarray:
        """Whether each guess is right, (n,) bool."""
        return np.array(self.guesses) == np.array(self.truth)

    def part(self, positions: Sequence[int]) -> "Trial":
        """The trial of some of its images."""
        chosen = list(positions)
        lists = {name: getattr(self, name) for name in LISTS if getattr(self, name) is not None}
        arrays = {name: getattr(self, name) for name in ARRAYS if getattr(self, name) is not None}
        fields: dict[str, Any] = {n: [one[i] for i in chosen] for n, one in lists.items()}
        return replace(self, **fields, **{n: one[chosen] for n, one in arrays.items()})

    @cached_property
    def curves(self) -> list[ClassCurve]:
        """Of all classes that have test images, where others have too and probabilities exist."""
        if self.probabilities is None:
            return []
        truth, columns = np.array(self.truth), zip(self.classes, self.probabilities.T)
        curves = [ClassCurve(name, column, truth == name) for name, column in columns]
        return [curve for curve in curves if 0 < curve.positive.sum() < len(truth)]

    @cached_property
    def alarm(self) -> Alarms | None:
        """What the model's alarm does; None without one, or without images on both sides."""
        alarm = None if self.decision is None else self.decision.alarm
        if alarm is None or self.probabilities is None:
            return None
        positive = np.isin(self.truth, alarm.names)
        if positive.all() or not positive.any():
            return None
        chances = alarm.probability(self.probabilities)
        curve = ClassCurve(" or ".join(alarm.names), chances, positive)
        return Alarms(list(alarm.names), curve, curve.at(alarm.threshold, 1.0))

    @cached_property
    def cost(self) -> tuple[float, tuple[float, float]] | None:
        """The mean cost of a label, and its 95 % interval (bootstrap, over groups).

        Images of classes that the model does not know are left out. None where it has no costs,
        or knows the class of no image.
        """
        column = {name: i for i, name in enumerate(self.classes)}
        known = [i for i, name in enumerate(self.truth) if name in column]
        if self.decision is None or self.decision.costs is None or not known:
            return None
        codes = np.array([column.get(self.guesses[i], -1) for i in known], np.intp)
        truth = np.array([column[self.truth[i]] for i in known], np.intp)
        costs = self.decision.expected_costs(codes, truth)
        groups = None if self.groups is None else [self.groups[i] for i in known]
        return float(costs.mean()), bootstrap(costs, groups)

    def to_json(self) -> dict[str, Any]:
        """The figures as what JSON can hold."""
        figures = self.evaluation.to_json()
        if self.cost is not None:
            figures["mean_cost"], interval = self.cost
            figures["mean_cost_interval_95"] = list(interval)
        if self.alarm is not None:
            figures["alarm"] = self.alarm.to_json()
        for curve in self.curves:
            figures["classes"][curve.name] |= curve.to_json()
        return figures

    @property
    def certainty(self) -> np.ndarray:
        """Probabilities of the classes, else their scores, (n, n_classes)."""
        return self.scores if self.probabilities is None else self.probabilities

    @cached_property
    def confidence(self) -> np.ndarray:
        """How sure the model was of each guess: its probability, else its score.

        Of an image that is unknown, it is that of the best class.
        """
        column = {name: i for i, name in enumerate(self.classes)}
        best = self.certainty.argmax(axis=1).tolist()
        codes = [column.get(guess, code) for guess, code in zip(self.guesses, best)]
        return self.certainty[np.arange(len(codes)), codes]


def run_trial(
    model: ImageClassifier, images: ImageFolder | Dataset, *, progress: Progress | None = None
) -> Trial:
    """Let a model label images whose labels are known.

    Parameters
    ----------
    model : ImageClassifier
        Fitted.
    images : ImageFolder or Dataset
    progress : Progress, optional

    Raises
    ------
    FolderError
        If none of the images can be read.
    """
    data = _dataset(images)
    check_scores(data, len(model.classes_))
    found = model.score_images(data, progress=progress)
    if not len(found.kept):
        raise FolderError(f"{data.origin}: none of the {len(data)} images can be read")
    readable = data.part(found.kept)
    digests = np.frombuffer(b"".join(content.digest for content in readable.contents), np.uint64)
    decided = model.decide(found)
    return Trial(
        classes=model.classes_.tolist(),
        paths=readable.names,
        truth=readable.labels.tolist(),
        guesses=decided.labels.tolist(),
        scores=both_classes(found.values),
        probabilities=decided.probabilities,
        skipped=found.skipped,
        n_known=int(np.isin(digests, model.training_digests_).sum()),
        groups=readable.groups,
        novelty=decided.novelty,
        decision=model.decision_,
    )


def cross_validate(
    model: ImageClassifier,
    images: ImageFolder | Dataset,
    n_folds: int = 5,
    *,
    progress: Progress | None = None,
) -> Trial:
    """Try a model on every image once, each time trained on the other folds.

    Folds have the classes in the same proportions and keep groups and near duplicates together. A
    model whose recipe is "auto" chooses one anew in every fold, so that no image influences its
    own trial.

    Parameters
    ----------
    model : ImageClassifier
        Its parameters count; it is not changed.
    images : ImageFolder or Dataset
    n_folds : int
    progress : Progress, optional
    """
    from sklearn.base import clone

    data = ready_for_folds(_dataset(images), model.environment(progress))
    trials, progress = [], progress or Silent()
    divisions = list(divide(data.folds(n_folds, model.random_state)))
    for number, (training, testing) in enumerate(divisions, 1):
        progress.status(f"fold {number} of {len(divisions)}")
        learner = clone(model).fit(data.part(training), progress=progress, warn=False)
        trials.append(run_trial(learner, data.part(testing), progress=progress))
    return _joined(trials)


def ready_for_folds(data: Dataset, env: Environment) -> Dataset:
    """The images with near duplicates in one group; a class of one image is refused."""
    counts = np.bincount(data.codes)
    if counts.min() < 2:
        raise FolderError(
            f"{data.origin}: class {str(data.classes[counts.argmin()])!r} has only 1 image; folds "
            "need 2 of each class"
        )
    return data.grouped(keep_together(data, find_duplicates(data, env)[0]))


def _dataset(images: ImageFolder | Dataset) -> Dataset:
    return images if isinstance(images, Dataset) else Dataset.of_folder(images)


def _joined(trials: list[Trial]) -> Trial:
    """The trials of all folds as one; a class that a fold did not know scores lowest."""
    classes = sorted({name for trial in trials for name in trial.classes})

    def aligned(name: str, missing: float) -> np.ndarray | None:
        parts = [getattr(trial, name) for trial in trials]
        if any(part is None for part in parts):
            return None
        rows = np.full((sum(map(len, parts)), len(classes)), missing)
        starts = np.cumsum([0, *map(len, parts)])
        for start, part, trial in zip(starts, parts, trials):
            columns = np.searchsorted(classes, trial.classes)
            rows[start : start + len(part), columns] = part
        return rows

    lists: dict[str, Any] = {
        name: [one for trial in trials for one in getattr(trial, name) or []]
        for name in (*LISTS, "skipped")
    }
    novelty = [trial.novelty for trial in trials if trial.novelty is not None]
    return Trial(
        classes,
        **lists,
        scores=np.asarray(aligned("scores", -np.inf)),
        probabilities=aligned("probabilities", 0.0),
        n_folds=len(trials),
        novelty=np.concatenate(novelty) if len(novelty) == len(trials) else None,
        decision=trials[0].decision if all(t.classes == classes for t in trials) else None,
    )


class Changed(NamedTuple):
    """An image that two models label differently.

    Attributes
    ----------
    path, label : the image and its true label
    first, second : what the models predict
    verdict : which is right: "better" if the second is, "worse" if the first is, or "both wrong"
    """

    path: str
    label: str
    first: str
    second: str
    verdict: str


@dataclass(frozen=True)
class PairedTrials:
    """The trials of two models on the images that both could read, in the same order.

    Attributes
    ----------
    first, second : Trial
    """

    first: Trial
    second: Trial

    @cached_property
    def gains(self) -> np.ndarray:
        """Of each image 1 if only the second model is right, −1 if only the first is, else 0."""
        return self.second.right.astype(int) - self.first.right

    @cached_property
    def changed(self) -> list[Changed]:
        """Images with another label: those that became worse, then better, then the others."""
        a, b = self.first, self.second
        verdicts = ("both wrong", "better", "worse")  # by the gain, 0, 1 or −1
        named = [verdicts[gain] for gain in self.gains]
        images = map(Changed, a.paths, a.truth, a.guesses, b.guesses, named)
        found = [one for one in images if one.first != one.second]
        return sorted(found, key=lambda one: -verdicts.index(one.verdict))

    @property
    def n_worse(self) -> int:
        """Images that only the first model gets right."""
        return int((self.gains < 0).sum())

    @property
    def n_better(self) -> int:
        """Images that only the second model gets right."""
        return int((self.gains > 0).sum())

    @property
    def p_value(self) -> float:
        """McNemar's exact test: how often chance alone would give such unequal numbers [1]_.

        It takes images as independent; with groups, look at the interval.

        References
        ----------
        .. [1] Q. McNemar: Note on the sampling error of the difference between correlated
           proportions or percentages, Psychometrika 12, 1947.
        """
        from scipy.stats import binomtest

        n = self.n_worse + self.n_better
        return 1.0 if n == 0 else float(binomtest(self.n_better, n).pvalue)

    @property
    def difference(self) -> float:
        """Accuracy of the second model minus that of the first."""
        return self.second.evaluation.accuracy - self.first.evaluation.accuracy

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the difference: bootstrap over images, or over groups."""
        return bootstrap(self.gains, self.first.groups)

    def __str__(self) -> str:
        low, high = self.interval
        grouped = ", over groups" if self.first.evaluation.n_groups else ""
        return (
            f"{len(self.changed)} of {len(self.first.paths)} labels changed: {self.n_better} "
            f"better, {self.n_worse} worse; accuracy {100 * self.difference:+.1f} points (95 % "
            f"interval {100 * low:+.1f} to {100 * high:+.1f}{grouped}), McNemar's exact test "
            f"p = {self.p_value:.2g}"
        )

    def to_json(self) -> dict[str, Any]:
        """The comparison as what JSON can hold."""
        return {
            "images": len(self.first.paths),
            "only_first_right": self.n_worse,
            "only_second_right": self.n_better,
            "accuracy_difference": self.difference,
            "accuracy_difference_interval_95": list(self.interval),
            "mcnemar_p_value": self.p_value,
            "changed": [one._asdict() for one in self.changed],
        }


def pair_trials(first: Trial, second: Trial) -> PairedTrials:
    """Two trials of the same images, without those that one model could not read.

    Raises
    ------
    ValueError
        If no image is in both.
    """
    places = {path: i for i, path in enumerate(second.paths)}
    pairs = [(i, places[path]) for i, path in enumerate(first.paths) if path in places]
    if not pairs:
        raise ValueError("the two models could not read the same images")
    return PairedTrials(first.part([i for i, _ in pairs]), second.part([i for _, i in pairs]))
