"""The process that trains models for a studio.

Jobs come as lines of JSON on the standard input, news go as lines to the standard output. The
process ends when its input does, so that it never outlives the server, however that ends.
"""

import json
import os
import queue
import sys
import threading
import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from visualwords.apps.evaluation.checking import suspicious_labels
from visualwords.apps.evaluation.trial import Trial, cross_validate
from visualwords.apps.pipeline.contents import Contents
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.pipeline.saving import golden_images, today
from visualwords.apps.report import write_report
from visualwords.apps.studio.class_folders import id_of
from visualwords.errors import ImageError, VisualWordsError
from visualwords.files import write_atomically
from visualwords.folders import ImageFolder
from visualwords.progress import StageTimes

MOST_THUMBNAILS = 5000  # as of the command
MOST_DOUBTED = 60  # suspicious labels that get a picture beside them
REPORT_EVERY = 0.1  # seconds between news of one stage
NICENESS = 10  # of work that takes long: the page goes first


@dataclass(frozen=True)
class Job:
    """What to train.

    Attributes
    ----------
    number : int
    kind : "quick" or "better"
    root : folder of classes
    output : the model file; a table of the trial (.json) and the report (.html) go beside it
    recipe, budget, unknown, max_pixels : as in `ImageClassifier`
    folds : of the cross-validation
    report : whether to write one
    command : str
        The equivalent command, for the report.
    n_jobs, cache_dir : as in `ImageClassifier`
    is_patient : whether it leaves the processor to others
    """

    number: int
    kind: str
    root: str
    output: str
    recipe: str
    budget: float
    unknown: float | None
    max_pixels: int
    folds: int
    report: bool
    command: str
    n_jobs: int | None = None
    cache_dir: str | None = None
    is_patient: bool = False


class News:
    """Progress of a job as lines of JSON.

    Parameters
    ----------
    number : of the job
    """

    def __init__(self, number: int):
        self.number = number
        self._stage, self._done, self._total = "", 0, 0
        self._told = 0.0

    def tell(self, **news: Any) -> None:
        """Send news."""
        sys.stdout.write(json.dumps({"job": self.number, **news}) + "\n")
        sys.stdout.flush()

    def start(self, stage: str, total: int) -> None:
        """Begin a stage."""
        self._stage, self._done, self._total = stage, 0, total
        self._tell()

    def advance(self, steps: int = 1) -> None:
        """Finish some steps."""
        self._done += steps
        if time.monotonic() - self._told > REPORT_EVERY:
            self._tell()

    def status(self, line: str) -> None:
        """Say what comes next."""
        self.tell(status=line)

    def note(self, line: str) -> None:
        """Say a result."""
        self.tell(note=line)

    def _tell(self) -> None:
        self._told = time.monotonic()
        self.tell(stage=self._stage, done=self._done, total=self._total)


def run(job: Job, news: News) -> None:
    """Train, save, test by cross-validation, and write what the studio shows of it."""
    if job.is_patient and hasattr(os, "nice"):
        os.nice(NICENESS)
    times = StageTimes(news)
    folder = ImageFolder(job.root)
    data = Dataset.of_folder(folder, contents=Contents())
    ids = {path: _id(path) for path in data.names}  # now: people move images while it is trained
    model = ImageClassifier(
        job.recipe,
        n_jobs=job.n_jobs,
        cache_dir=job.cache_dir,
        budget=job.budget,
        unknown=job.unknown,
        max_pixels=job.max_pixels,
        thumbnails=len(data) <= MOST_THUMBNAILS,
    )
    model.fit(data, progress=times, warn=False)
    model.save(job.output, date=today())
    news.tell(model=job.output, recipe=model.recipe_.name, images=int(model.class_counts_.sum()))
    trial = None
    if min(np.bincount(data.codes)) > 1:
        news.status(f"testing in {job.folds} folds")
        trial = cross_validate(model, data, job.folds, progress=times)
        times.stop()
    if trial is not None and job.report:
        path = os.path.splitext(job.output)[0] + ".html"
        name = os.path.basename(job.root)
        write_report(
            path,
            model,
            trial,
            title=name,
            command=job.command,
            seconds=times.seconds.copy(),
            progress=news,
        )
    table = _table(job, model, data, ids, trial)
    path = os.path.splitext(job.output)[0] + ".json"
    write_atomically(path, json.dumps(table).encode())
    news.tell(finished=path)


def _table(
    job: Job, model: ImageClassifier, data: Dataset, ids: dict[str, str], trial: Trial | None
) -> dict[str, Any]:
    """Return what is known of each image and of the model."""
    known: dict[str, Any] = {
        "kind": job.kind,
        "recipe": model.recipe_.name,
        "time": time.time(),
        "images": int(model.class_counts_.sum()),
        "classes": model.classes_.tolist(),
        "command": job.command,
        "tried": model.tried_,
        "folds": job.folds if trial is not None else 0,
        "skipped": [[os.path.relpath(s.source, job.root), s.reason] for s in model.skipped_],
        "copies": [[ids[path] for path in one] for one in model.copies_],
        "rows": [],
        "doubts": [],
    }
    if trial is None:
        return known
    chances = trial.scores if trial.probabilities is None else trial.probabilities
    column = {name: i for i, name in enumerate(trial.classes)}
    ordered = np.sort(chances, axis=1)
    margins = ordered[:, -1] - ordered[:, -2]
    novelty = np.full(len(trial.paths), -1.0) if trial.novelty is None else trial.novelty
    best = chances.argmax(axis=1)
    for i, path in enumerate(trial.paths):
        own = float(chances[i, column[trial.truth[i]]]) if trial.truth[i] in column else 0.0
        known["rows"].append(
            {
                "id": ids[path],
                "truth": trial.truth[i],
                "guess": trial.guesses[i],
                "confidence": round(float(trial.confidence[i]), 4),
                "own": round(own, 4),
                "margin": round(float(margins[i]), 4),
                "novelty": round(float(novelty[i]), 4),
            }
        )
    looks_like = {path: trial.classes[best[i]] for i, path in enumerate(trial.paths)}
    known["doubts"] = _doubts(model, data, trial, ids, looks_like)
    return known


def _doubts(
    model: ImageClassifier,
    data: Dataset,
    trial: Trial,
    ids: dict[str, str],
    looks_like: dict[str, str],
) -> list[dict[str, Any]]:
    """Return images with a suspicious label, each with the most similar one of the other class."""
    found = suspicious_labels(trial)[:MOST_DOUBTED]
    if not found or model.gallery_ is None:
        return []
    left_out = {one.source for one in model.skipped_}
    names = [name for name in data.names if name not in left_out]
    paths = [finding.about[0] for finding in found]
    doubted = data.part(map(data.names.index, paths))  # with the bytes: they may have been moved
    try:
        positions, _ = model.gallery_.query(model.transform(doubted), len(names))
    except ImageError:  # more bytes than are kept, and a file is no longer there
        return []
    doubts = []
    for finding, path, order in zip(found, paths, positions):
        label = looks_like[path]
        twin = next(
            (names[i] for i in order if model.gallery_.labels[i] == label and names[i] != path),
            None,
        )
        doubts.append(
            {
                "id": ids[path],
                "label": label,
                "sentence": finding.sentence,
                "twin": None if twin is None else ids[twin],
            }
        )
    return doubts


def _id(path: str) -> str:
    try:
        return id_of(path)
    except OSError:  # gone since its folder was listed
        return ""


@lru_cache(maxsize=1)
def warm_up() -> ImageClassifier:
    """Train on a few small images, once: what is compiled and loaded then need not be later."""
    images = [image for one in golden_images() for image in (one, np.ascontiguousarray(one[::-1]))]
    labels = ["first", "second"] * (len(images) // 2)
    return ImageClassifier("tiny", n_jobs=1).fit(images, labels, warn=False)


def main() -> None:
    """Run jobs until the input ends."""
    jobs: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()
    warm_up()
    while True:
        job = Job(**jobs.get())
        news = News(job.number)
        try:
            run(job, news)
        except (VisualWordsError, OSError) as problem:
            news.tell(failed=str(problem))
        except Exception as problem:
            news.tell(failed=f"training failed: {type(problem).__name__}: {problem}")


def _read(jobs: "queue.Queue[dict[str, Any]]") -> None:
    for line in sys.stdin:
        jobs.put(json.loads(line))
    os._exit(0)


def as_line(job: Job) -> bytes:
    """Return a job as the process reads it."""
    return (json.dumps(asdict(job)) + "\n").encode()


if __name__ == "__main__":
    main()
