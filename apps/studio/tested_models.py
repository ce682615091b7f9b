"""What models said of images when they were tested: figures, and what changed between two."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from visualwords.apps.evaluation.figures import Evaluation, compare
from visualwords.apps.evaluation.paired import PairedTrials, pair_trials
from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.studio.class_folders import ImageFile
from visualwords.files import write_atomically

MOST_KEPT = 12


@dataclass(frozen=True)
class Row:
    """What a model said of an image that it was not trained on.

    Attributes
    ----------
    id : the image
    truth, guess : its label at that time, and the predicted one
    confidence, own : probabilities of the prediction and of the label
    margin : how far the best class is ahead of the next
    novelty : from 0 to 1; −1 where the model can't tell
    """

    id: str
    truth: str
    guess: str
    confidence: float
    own: float
    margin: float
    novelty: float


@dataclass(frozen=True)
class TestedModel:
    """A model that was trained in the studio, as its table on disk describes it.

    Attributes
    ----------
    number : int
        Counts the models of a studio.
    table : dict
        As `visualwords.apps.studio.trainer` writes it.
    """

    number: int
    table: dict[str, Any]

    @property
    def kind(self) -> str:
        """Whether it is a "quick" or a "better" one."""
        return str(self.table["kind"])

    @property
    def classes(self) -> list[str]:
        return list(self.table["classes"])

    @cached_property
    def rows(self) -> dict[str, Row]:
        """What it said, by image."""
        return {row["id"]: Row(**row) for row in self.table["rows"]}

    @cached_property
    def evaluation(self) -> Evaluation | None:
        """The figures by the labels of that time; None if it could not be tested."""
        rows = self.rows.values()
        if not rows:
            return None
        return compare([row.truth for row in rows], [row.guess for row in rows], self.classes)

    def renamed(self, old: str, new: str) -> "TestedModel":
        """Return the same with another name of a class."""

        def name(label: str) -> str:
            return new if label == old else label

        rows = [
            row | {"truth": name(row["truth"]), "guess": name(row["guess"])}
            for row in self.table["rows"]
        ]
        doubts = [doubt | {"label": name(doubt["label"])} for doubt in self.table["doubts"]]
        classes = sorted(name(label) for label in self.classes)
        changes = {"rows": rows, "doubts": doubts, "classes": classes}
        return TestedModel(self.number, self.table | changes)


def what_changed(
    first: TestedModel, second: TestedModel, images: Iterable[ImageFile]
) -> PairedTrials | None:
    """Compare two models on the images that both were tested on, by the labels of now.

    A label that was corrected between the two counts as correct for both. None if they have no
    image in common.
    """
    truth = {image.id: image.label for image in images}
    trials = [_trial(model, truth) for model in (first, second)]
    try:
        return pair_trials(*trials)
    except ValueError:
        return None


def _trial(model: TestedModel, truth: dict[str, str]) -> Trial:
    rows = [row for row in model.rows.values() if row.id in truth]
    classes = model.classes
    return Trial(
        classes=classes,
        paths=[row.id for row in rows],
        truth=[truth[row.id] for row in rows],
        guesses=[row.guess for row in rows],
        scores=np.zeros((len(rows), len(classes))),
        probabilities=None,
        skipped=[],
    )


class Shelf:
    """The tested models of a studio, on disk, the newest last.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.models: list[TestedModel] = []
        for path in sorted(folder.glob("tested-*.json")):
            try:
                number = int(path.stem.removeprefix("tested-"))
                model = TestedModel(number, json.loads(path.read_bytes()))
                _ = model.rows, model.kind, model.table["doubts"], model.table["copies"]
                self.models.append(model)
            except (ValueError, TypeError, KeyError, OSError):
                continue  # a table that others wrote

    def add(self, table: dict[str, Any]) -> TestedModel:
        """Keep one more; the oldest ones go."""
        number = self.models[-1].number + 1 if self.models else 1
        model = TestedModel(number, table)
        self._write(model)
        self.models = [*self.models, model]
        for old in self.models[:-MOST_KEPT]:
            self._path(old).unlink(missing_ok=True)
        self.models = self.models[-MOST_KEPT:]
        return model

    def rename(self, old: str, new: str) -> None:
        """Take over another name of a class."""
        self.models = [model.renamed(old, new) for model in self.models]
        for model in self.models:
            self._write(model)

    def newest(self, kind: str | None = None) -> TestedModel | None:
        """Return the last model, or the last one of a kind."""
        wanted = [model for model in self.models if kind in (None, model.kind)]
        return wanted[-1] if wanted else None

    def _path(self, model: TestedModel) -> Path:
        return self.folder / f"tested-{model.number:06d}.json"

    def _write(self, model: TestedModel) -> None:
        write_atomically(self._path(model), json.dumps(model.table).encode())
