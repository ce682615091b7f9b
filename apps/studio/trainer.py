"""The process that trains models for a studio.

Jobs come as lines of JSON on the standard input, news go as lines to the standard output. The
process ends when its input does, so that it never outlives the server, however that ends.
"""

import json
import os
import queue
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from visualwords.apps.evaluation.checking import suspicious_labels
from visualwords.apps.evaluation.trial import Trial, cross_validate
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.report import write_report
from visualwords.apps.studio.tested_models import UNKNOWN
from visualwords.apps.studio.workspace import id_of
from visualwords.errors import ImageError, VisualWordsError
from visualwords.folders import ImageFolder
from visualwords.progress import Silent, StageTimes

FOLDS = 5
BUDGET = 20.0  # of "auto" for the better model, for each of its trainings
ENOUGH = 5  # images of every class from which novelty is no mere guess
MOST_THUMBNAILS = 5000  # as of the command
MOST_DOUBTED = 60  # suspicious labels that get a similar image beside them
NICENESS = 10  # of work that takes long: the page goes first


class News(Silent):
    """Progress of a job as lines of JSON: what a person can make something of.

    Parameters
    ----------
    number : of the job
    """

    def __init__(self, number: int):
        self.number = number

    def tell(self, **news: Any) -> None:
        """Send news."""
        print(json.dumps({"job": self.number, **news}) + "\n", end="", flush=True)

    def status(self, line: str) -> None:
        """Say which fold is next; a search's guess at how long it takes is not passed on."""
        if line.startswith("fold "):
            self.tell(phase="testing", fold=line)

    def note(self, line: str) -> None:
        """Say a result."""
        self.tell(note=line)


def run(
    news: News,
    *,
    kind: str,
    root: str,
    output: str,
    unknown: bool,
    command: str,
    settings: dict[str, Any],
) -> None:
    """Train, save, test by cross-validation, and tell what the studio shows of it.

    Parameters
    ----------
    news : News
    kind : "quick" or "better"
    root : folder of classes
    output : the model file; the report (.html) goes beside it
    unknown : whether images unlike all classes get the label "unknown"
    command : the equivalent command, for the report
    settings : parameters of `ImageClassifier`
    """
    is_better = kind == "better"
    if is_better and hasattr(os, "nice"):
        os.nice(NICENESS)
    times, path = StageTimes(news), Path(output)
    data = Dataset.of(ImageFolder(root))
    ids = {name: _id(name) for name in data.names}  # now: people move images while it is trained
    smallest = int(np.bincount(data.codes).min())
    knows_unknown = unknown and smallest >= ENOUGH
    model = ImageClassifier(
        "auto" if is_better else "tiny",
        budget=BUDGET,
        unknown=UNKNOWN if knows_unknown else None,
        thumbnails=len(data) <= MOST_THUMBNAILS,
        **settings,
    )
    news.tell(phase="training")
    model.fit(data, progress=times, warn=False)
    model.save(path, date=datetime.now(UTC).date().isoformat())
    news.tell(model=output)
    rows: list[dict[str, Any]] = []
    if smallest > 1:
        plain = clone(model).set_params(unknown=None)  # figures are of the classes
        trial = cross_validate(plain, data, FOLDS, progress=times)
        times.stop()
        rows = _rows(model, trial, data, ids)
        if is_better:
            news.tell(phase="report")
            page, title = path.with_suffix(".html"), os.path.basename(root)
            about: dict[str, Any] = {"title": title, "command": command, "seconds": times.seconds}
            write_report(page, model, trial, progress=news, **about)
    table = {
        "kind": kind,
        "recipe": model.recipe_.name,
        "images": int(model.class_counts_.sum()),
        "classes": model.classes_.tolist(),
        "unknown": knows_unknown,
        "copies": [[ids[name] for name in one] for one in model.duplicates_],
        "rows": rows,
    }
    news.tell(finished=table)


def _rows(
    model: ImageClassifier, trial: Trial, data: Dataset, ids: dict[str, str]
) -> list[dict[str, Any]]:
    """A row for each image, with the prediction of the model that did not learn from it."""
    chances = trial.certainty
    column = {name: i for i, name in enumerate(trial.classes)}
    novelty = np.full(len(chances), -1.0) if trial.novelty is None else trial.novelty
    named = {f"{y}/{os.path.basename(name)}": ids[name] for y, name in zip(data.labels, data.names)}
    doubts = {finding.about[0] for finding in suspicious_labels(trial)[:MOST_DOUBTED]}
    rows = []
    for path, truth, share, strange in zip(trial.paths, trial.truth, chances, novelty.tolist()):
        guess, (second, first) = trial.classes[share.argmax()], np.sort(share)[-2:].tolist()
        own = float(share[column[truth]]) if truth in column else 0.0
        row: dict[str, Any] = {"confidence": first, "own": own, "margin": first - second}
        row = {name: round(value, 4) for name, value in (row | {"novelty": strange}).items()}
        row |= {"id": ids[path], "truth": truth, "guess": guess, "suspicious": path in doubts}
        row["twin"] = _twin(model, path, guess, named) if path in doubts else None
        rows.append(row)
    return rows


def _twin(model: ImageClassifier, path: str, label: str, named: dict[str, str]) -> str | None:
    """The most similar training image of a class, by what requests call it."""
    with suppress(ImageError, ValueError):  # moved meanwhile; too few images to compare
        for name, of_class, _ in model.similar(path, len(named)):
            if of_class == label:
                return named.get(name)
    return None


def _id(path: str) -> str:
    try:
        return id_of(path)
    except OSError:  # gone since its folder was listed
        return ""


@lru_cache(maxsize=1)
def warm_up() -> ImageClassifier:
    """Train on a few small images, once: what is compiled and loaded then need not be later."""
    images = np.random.default_rng(0).integers(0, 256, (4, 96, 128, 3), dtype=np.uint8)
    return ImageClassifier("tiny", n_jobs=1).fit(list(images), list("aabb"), warn=False)


def main() -> None:
    """Run jobs until the input ends, or a better model is done."""
    jobs: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()
    warm_up()
    while True:
        job = jobs.get()
        news = News(job.pop("number"))
        try:
            run(news, **job)
        except Exception as problem:
            is_told = isinstance(problem, VisualWordsError | OSError)
            news.tell(failed=f"{'' if is_told else f'{type(problem).__name__}: '}{problem}")
        if job["kind"] == "better":  # its memory is given back
            os._exit(0)


def _read(jobs: "queue.Queue[dict[str, Any]]") -> None:
    for line in sys.stdin:
        jobs.put(json.loads(line))
    os._exit(0)


if __name__ == "__main__":
    main()
