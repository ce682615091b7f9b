"""When models of a studio are trained: a quick one after every change, a better one on request."""

import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visualwords.apps.command_line.terminal import typed
from visualwords.apps.page.classifier_answers import ClassifierAnswers
from visualwords.apps.page.guards import RefusedError, logger
from visualwords.apps.page.served_models import ServedModels, answers_of
from visualwords.apps.studio.class_folders import HIDDEN, Listed, own_folder
from visualwords.apps.studio.tested_models import Shelf, TestedModel
from visualwords.apps.studio.trainer import Job, warm_up
from visualwords.apps.studio.training_process import TrainingProcess
from visualwords.apps.studio.workspace import Workspace
from visualwords.errors import VisualWordsError
from visualwords.files import read_settings

QUIET = 0.35  # seconds without a change before a quick model is trained
LONGEST_WAIT = 2.5  # seconds after which it is trained while images still come
FOLDS = 5
BUDGET = 20.0  # of "auto" for the better model, for each of its trainings
UNKNOWN = 0.05
MOST_NOTES = 40
MOST_TABLE = 1 << 28  # bytes
KINDS = ("better", "quick")
SAYS_UNKNOWN = "unknown"  # a file that is there if strange images are to be "unknown"


@dataclass
class Running:
    """A training that is under way, or the outcome of the last one.

    Attributes
    ----------
    number : of the job; 0 before the first
    is_on : whether it is under way
    version : of the folder, as it was at the start
    since : seconds of the clock at the start
    stage, done, total, status, notes, failed : what it reported
    ready_after, tested_after : seconds until the model could be used, and until it was tested
    """

    number: int = 0
    is_on: bool = False
    version: str = ""
    since: float = 0.0
    stage: str = ""
    done: int = 0
    total: int = 0
    status: str = ""
    notes: list[str] = field(default_factory=list)
    failed: str = ""
    ready_after: float | None = None
    tested_after: float | None = None


class Learning:
    """The models of a studio, and the processes that train them.

    Parameters
    ----------
    workspace : Workspace
    models : ServedModels
        Gets the models as they are ready.
    max_pixels : int
        Larger images are left out.
    n_jobs, cache_dir : as in `visualwords.ImageClassifier`
    """

    def __init__(
        self,
        workspace: Workspace,
        models: ServedModels,
        *,
        max_pixels: int,
        n_jobs: int | None = None,
        cache_dir: str | None = None,
    ):
        self.workspace, self.models = workspace, models
        self.max_pixels, self.n_jobs, self.cache_dir = max_pixels, n_jobs, cache_dir
        self.folder = own_folder(workspace.root, f"{HIDDEN}/models")
        self.shelf = Shelf(self.folder)
        self.running = {kind: Running() for kind in KINDS}
        self.knows_unknown = (self.folder / SAYS_UNKNOWN).exists()
        self._changed_at: float | None = None  # of the first change that no model knows
        self._last_change = 0.0
        self._number = 0
        self._lock = threading.RLock()
        self._loading = threading.Lock()
        self._is_closed = threading.Event()
        self._processes = {kind: TrainingProcess(self._hear) for kind in KINDS}
        self._jobs: dict[int, str] = {}
        threading.Thread(target=self._begin, daemon=True).start()

    def note_change(self) -> None:
        """Say that images or classes have changed."""
        with self._lock:
            now = time.monotonic()
            self._last_change = now
            self._changed_at = self._changed_at or now

    def know_unknown(self, wanted: bool) -> None:
        """Let models say "unknown" to strange images, or not; a restart keeps the choice."""
        mark = self.folder / SAYS_UNKNOWN
        if wanted:
            mark.touch()
        else:
            mark.unlink(missing_ok=True)
        self.knows_unknown = wanted

    def train_better(self) -> None:
        """Start the better model, in the place of one that is under way."""
        listed = self.workspace.listed()
        if len(listed.classes) < 2:
            raise RefusedError(409, "a model needs images of two classes; add some")
        self.cancel()
        self._start("better", listed)

    def cancel(self) -> None:
        """Stop the training of the better model."""
        with self._lock:
            self._processes["better"].stop()
            self.running["better"] = Running(self.running["better"].number)

    def preferred(self) -> TestedModel | None:
        """Return the model to use: the better one unless it lacks classes, else the quick one."""
        listed = self.workspace.listed()
        better, quick = self.shelf.newest("better"), self.shelf.newest("quick")
        if better is not None and better.classes == listed.classes:
            return better
        return quick or better

    def file_of(self, kind: str, suffix: str = ".vw") -> Path:
        """Return the path of a model, its report (.html) or its table (.json)."""
        return self.folder / f"{kind}{suffix}"

    def command(self, kind: str, output: str | None = None) -> str:
        """Return the command that trains the same model."""
        target = output or str(self.file_of(kind))
        words = ["train", str(self.workspace.root), "-o", target]
        if kind == "quick":
            words += ["--recipe", "tiny"]
        else:
            words += ["--budget", f"{BUDGET:g}s"]
        words += ["--folds", str(FOLDS)]
        if self.knows_unknown:
            words += ["--unknown", f"{UNKNOWN:g}"]
        if kind == "better":
            words += ["--report", os.path.splitext(target)[0] + ".html"]
        return typed("classify-images", *words)

    def close(self) -> None:
        """Stop all trainings."""
        self._is_closed.set()
        for process in self._processes.values():
            process.stop()

    def _begin(self) -> None:
        """Load the models of the last time, and watch for changes."""
        self._processes["quick"].start()
        ClassifierAnswers(warm_up(), "warm", self.max_pixels)  # the first model answers at once
        for kind in reversed(KINDS):
            if self.file_of(kind).is_file():
                self._load(kind)
        newest = self.shelf.newest("quick")
        if newest is None or set(newest.rows) != set(self.workspace.listed().by_id):
            self.note_change()
        while not self._is_closed.wait(0.1):
            if self._is_due():
                listed = self.workspace.listed()
                with self._lock:
                    self._changed_at = None
                if len(listed.classes) > 1:
                    self._start("quick", listed)

    def _is_due(self) -> bool:
        with self._lock:
            if self._changed_at is None or self.running["quick"].is_on:
                return False
            now = time.monotonic()
            return now - self._last_change > QUIET or now - self._changed_at > LONGEST_WAIT

    def _start(self, kind: str, listed: Listed) -> None:
        with self._lock:
            self._number += 1
            self._jobs[self._number] = kind
            self.running[kind] = Running(
                self._number, True, listed.version, time.monotonic(), stage="starting"
            )
            job = Job(
                number=self._number,
                kind=kind,
                root=str(self.workspace.root),
                output=str(self.folder / f"new-{kind}.vw"),
                recipe="tiny" if kind == "quick" else "auto",
                budget=BUDGET,
                unknown=UNKNOWN if self.knows_unknown else None,
                max_pixels=self.max_pixels,
                folds=FOLDS,
                report=kind == "better",
                command=self.command(kind),
                n_jobs=self.n_jobs,
                cache_dir=self.cache_dir,
                is_patient=kind == "better",
            )
        self._processes[kind].send(job)

    def _hear(self, news: dict[str, Any]) -> None:
        """Take over what a training process reports."""
        kind = self._jobs.get(news["job"])
        if kind is None:
            return
        with self._lock:
            running = self.running[kind]
            if running.number != news["job"] or not running.is_on:
                return  # of a training that was stopped
            for name in ("stage", "done", "total", "status"):
                if name in news:
                    setattr(running, name, news[name])
            if "note" in news:
                running.notes = [*running.notes, news["note"]][-MOST_NOTES:]
            if "failed" in news:
                running.failed, running.is_on = news["failed"], False
        try:
            if "model" in news:
                self._take_model(kind, running)
            if "finished" in news:
                self._take_table(kind, running)
        except (OSError, ValueError) as problem:  # a full disk, mostly
            with self._lock:
                running.failed, running.is_on = f"the model can't be kept: {problem}", False

    def _take_model(self, kind: str, running: Running) -> None:
        os.replace(self.folder / f"new-{kind}.vw", self.file_of(kind))
        self._load(kind)
        running.ready_after = time.monotonic() - running.since

    def _take_table(self, kind: str, running: Running) -> None:
        report = self.folder / f"new-{kind}.html"
        if report.is_file():
            os.replace(report, self.file_of(kind, ".html"))
        table = json.loads(read_settings(self.folder / f"new-{kind}.json", MOST_TABLE))
        self.shelf.add(table)
        (self.folder / f"new-{kind}.json").unlink(missing_ok=True)
        if kind == "better":
            with self._lock:  # its memory is given back
                process, self._processes[kind] = self._processes[kind], TrainingProcess(self._hear)
            threading.Thread(target=process.stop, daemon=True).start()
        with self._lock:
            running.tested_after = time.monotonic() - running.since
            running.is_on = False
        self._prefer()

    def _load(self, kind: str) -> None:
        with self._loading:
            try:
                answers = answers_of(self.file_of(kind), self.max_pixels)
            except VisualWordsError as problem:
                logger.warning("%s", problem)
                return
            self.models.put(kind, answers)
        self._prefer()

    def _prefer(self) -> None:
        """Let the preferred model answer requests that name none."""
        model = self.preferred()
        if model is not None and model.kind in self.models.names:
            self.models.put(model.kind, self.models.find(model.kind))
