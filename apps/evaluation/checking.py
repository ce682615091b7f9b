"""What is wrong with a folder of labelled images, before a model learns it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from visualwords.apps.evaluation.trial import Trial, cross_validate
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.costs import check_looking, check_training
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.near_duplicates import draw_portraits
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.duplicates import find_duplicates, find_near_duplicates
from visualwords.folders import ImageFolder
from visualwords.progress import Progress

__all__ = ["Finding", "check_folder", "suspicious_labels"]

FEW_IMAGES = 10  # of a class
LARGEST_RATIO = 20  # between the sizes of two classes
TINY = 48  # pixels of the longer side
MOST_NAMED = 5  # classes in a sentence
SURE = 0.8  # probability of another class from which a label is suspicious

# What is found, in the order of its harm; True where it is a problem rather than a note.
KINDS = {
    "unreadable": True,
    "in several splits": True,
    "in several classes": True,
    "nearly the same in several splits": True,
    "nearly the same in several classes": True,
    "suspicious label": True,
    "class of one image": True,
    "small class": False,
    "uneven classes": False,
    "duplicate": False,
    "near duplicate": False,
    "tiny image": False,
    "folder": False,
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or looks like it.

    Attributes
    ----------
    kind : one of `KINDS`
    about : the files or classes concerned
    sentence : what was found
    """

    kind: str
    about: list[str]
    sentence: str

    @property
    def is_problem(self) -> bool:
        """Whether it harms a model or its figures; else it is only worth knowing."""
        return KINDS[self.kind]

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON can hold it."""
        return {**asdict(self), "problem": self.is_problem}


def check_folder(
    folder: ImageFolder,
    model: ImageClassifier,
    *,
    n_folds: int = 5,
    labels: bool = True,
    progress: Progress | None = None,
) -> list[Finding]:
    """Look for what harms learning or makes its figures lie.

    Parameters
    ----------
    folder : ImageFolder
    model : ImageClassifier
        Its parameters say how images are read and described; it is not changed.
    n_folds : int
        Of the cross-validation that finds suspicious labels.
    labels : bool
        Whether to look for suspicious labels, which takes as long as training.
    progress : Progress, optional

    Returns
    -------
    list of Finding, the most harmful first
    """
    env = model.environment(progress)
    data = Dataset.of_folder(folder)
    check_looking(data)
    if labels and isinstance(model.recipe, Recipe):
        check_training(model.recipe, data, model.memory, progress)
    looks, skipped = draw_portraits(data, env)
    findings = [Finding("folder", [folder.path], sentence) for sentence in folder.warnings]
    findings += [Finding("unreadable", [path], reason) for path, reason in folder.skipped]
    findings += [Finding("unreadable", [one.source], one.reason) for one in skipped]
    has_look = np.isfinite(looks[:, 0])
    readable = data.part(np.flatnonzero(has_look))
    findings += _of_classes(folder.labels, readable.labels.tolist())
    findings += _of_duplicates(readable, looks if has_look.all() else looks[has_look])
    if labels and len(readable.classes) > 1 and np.bincount(readable.codes).min() > 1:
        findings += suspicious_labels(cross_validate(model, readable, n_folds, progress=progress))
    order = list(KINDS)
    return sorted(findings, key=lambda finding: order.index(finding.kind))


def suspicious_labels(trial: Trial) -> list[Finding]:
    """The images whose label the model contradicts and is sure of it.

    Confident learning [Northcutt21]: a class is confident from the mean probability that it gets
    on images labelled with it. An image is suspicious if another class is confident there, with
    a probability of at least `SURE`, while its own is not; the greatest contradiction comes first.

    References
    ----------
    .. [Northcutt21] C. Northcutt, L. Jiang, I. Chuang, "Confident Learning: Estimating
       Uncertainty in Dataset Labels", JAIR 70, 2021.
    """
    if trial.probabilities is None:
        return []
    codes = np.array([trial.classes.index(label) for label in trial.truth])
    rows = np.arange(len(codes))
    own = trial.probabilities[rows, codes]
    counts = np.bincount(codes, minlength=len(trial.classes))
    confident = np.bincount(codes, own, len(trial.classes)) / np.maximum(counts, 1)
    guesses = trial.probabilities.argmax(axis=1)
    sure = trial.probabilities[rows, guesses]
    is_sure = sure >= np.maximum(confident[guesses], SURE)
    wrong = (guesses != codes) & is_sure & (own < confident[codes])
    order = np.flatnonzero(wrong)[np.argsort((own - sure)[wrong], kind="stable")]
    return [
        Finding(
            "suspicious label",
            [trial.paths[i]],
            f"labelled {trial.truth[i]} ({own[i]:.0%}), looks like {trial.classes[guesses[i]]} "
            f"({sure[i]:.0%})",
        )
        for i in order
    ]


def _of_classes(labels: list[str], readable: list[str]) -> Iterable[Finding]:
    counts = Counter(dict.fromkeys(labels, 0))
    counts.update(readable)
    for label, count in sorted(counts.items()):
        if count < 2:
            sentence = f"{count} readable image: it can't be learned and tested"
            yield Finding("class of one image", [label], sentence)
        elif count < FEW_IMAGES:
            sentence = f"{count} images; {FEW_IMAGES} or more are better"
            yield Finding("small class", [label], sentence)
    if counts:
        (most, n_most), *_, (least, n_least) = [*counts.most_common(), *counts.most_common()[-1:]]
        if n_most > LARGEST_RATIO * max(n_least, 1):
            sentence = f"{n_most:,} images of {most}, {n_least:,} of {least}"
            yield Finding("uneven classes", [most, least], sentence)


def _of_duplicates(data: Dataset, portraits: np.ndarray) -> Iterable[Finding]:
    sizes = portraits[:, -2:].astype(np.int64)
    for i in np.flatnonzero(sizes.max(axis=1, initial=0) < TINY):
        width, height = sizes[i]
        yield Finding("tiny image", [data.names[i]], f"{width}×{height} pixels")
    same = find_duplicates(data.fingerprints)
    for group in same:
        yield _duplicates(data, group, "duplicate", "are one picture")
    same_as = {group[0]: group for group in same}  # one of each stands for all
    extra = {i for group in same for i in group[1:]}
    alone = [i for i in range(len(data)) if i not in extra]
    near = find_near_duplicates(portraits[alone])
    for one in near.sets:
        group = sorted(k for i in one for k in same_as.get(alone[i], [alone[i]]))
        yield _duplicates(data, group, "near duplicate", "look alike")
    for first, second, similarity in near.links:
        what = f"look alike (similarity {similarity:.3f})"
        yield _duplicates(data, [alone[first], alone[second]], "near duplicate", what)


def _duplicates(data: Dataset, group: list[int], kind: str, what: str) -> Finding:
    """What is wrong with files that are the same, or nearly."""
    prefix, where = "" if kind == "duplicate" else "nearly the same ", ""
    for name, values in (("splits", data.splits), ("classes", data.labels)):
        found = sorted({str(values[i]) for i in group})
        if len(found) > 1:
            many = [f"{len(found):,} in all"] if len(found) > MOST_NAMED else []
            where = f", in {' and '.join([*found[:MOST_NAMED], *many])}"
            kind = f"{prefix}in several {name}"
            break
    return Finding(kind, [data.names[i] for i in group], f"{len(group):,} files {what}{where}")
