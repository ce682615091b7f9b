"""When models of a studio are trained: a quick one after every change, a better one on request."""

import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visualwords.apps.command_line.terminal import printable, typed
from visualwords.apps.page.answers import ClassifierAnswers
from visualwords.apps.page.guards import RefusedError, logger
from visualwords.apps.page.served_models import ServedModels, answers_of
from visualwords.apps.studio.change_log import HIDDEN, own_folder
from visualwords.apps.studio.tested_models import UNKNOWN, Shelf, TestedModel
from visualwords.apps.studio.trainer import BUDGET, FOLDS, warm_up
from visualwords.apps.studio.workspace import Workspace
from visualwords.errors import VisualWordsError
from visualwords.files import write_atomically

QUIET = 0.35  # seconds without a change before a quick model is trained
LONGEST_WAIT = 2.5  # seconds after which it is trained while images still come
MOST_NOTES = 200
KINDS = ("better", "quick")
NEVER_UNKNOWN = "never-unknown"  # a file that is there if every image shall get a class


@dataclass
class Running:
    """A training that is under way, or the outcome of the last one.

    Attributes
    ----------
    number : of the job; 0 before the first
    is_on : whether it is under way
    since : seconds of the clock at the start
    phase : "training", "testing" (the model can be used meanwhile) or "report"
    folds : for each fold that has begun, its name ("fold 2 of 5") and the seconds of the clock
    notes, failed : what it said
    """

    number: int = 0
    is_on: bool = False
    since: float = 0.0
    phase: str = "preparing"
    folds: list[tuple[str, float]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: str = ""

    def to_json(self) -> dict[str, Any]:
        """The state that the page shows."""
        now = time.monotonic()
        return {
            "on": self.is_on,
            "phase": self.phase,
            "seconds": round(now - self.since, 1) if self.is_on else None,
            "fold": self.folds[-1][0] if self.folds else "",
            "left": self._left(now),
            "notes": [printable(note) for note in self.notes],
            "failed": printable(self.failed),
        }

    def _left(self, now: float) -> float | None:
        """Seconds until all folds are done, by those that are; None before the first is."""
        if self.phase != "testing" or len(self.folds) < 2:
            return None
        n_done, (_, first), (name, last) = len(self.folds) - 1, self.folds[0], self.folds[-1]
        n_left = int(name.rpartition(" ")[2]) - n_done
        return round(max(1.0, n_left * (last - first) / n_done - (now - last)), 1)


class TrainingProcess:
    """A process that trains one model after another; started when it is needed.

    Parameters
    ----------
    hear : function of a dict, called in a thread with each of the process's news
    """

    def __init__(self, hear: Callable[[dict[str, Any]], None]):
        self.hear = hear
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def send(self, job: dict[str, Any] | None = None) -> None:
        """Give the process a job; with none, start it, so that the first need not wait."""
        try:
            with self._lock:
                if self._process is None or self._process.poll() is not None:
                    self._process = self._started()
                if job is not None:
                    print(json.dumps(job), file=self._process.stdin, flush=True)
        except OSError as problem:
            sentence = f"the training process can't be started: {problem}"
            self.hear({"job": job and job["number"], "failed": sentence})

    def stop(self) -> None:
        """End the process, whatever it does; its files are complete or not there."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]

    def _started(self) -> "subprocess.Popen[str]":
        # -P: a folder of images may have a numpy.py. A session of its own: Ctrl-C is the server's.
        command = [sys.executable, "-P", "-m", "visualwords.apps.studio.trainer"]
        process = subprocess.Popen(
            command,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        return process

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        number = 0
        with process.stdout as lines:  # type: ignore[union-attr]
            for line in lines:
                with suppress(ValueError):  # what a library prints
                    news = json.loads(line)
                    number = news["job"]
                    self.hear(news)
        if process.wait() and self._process is process:
            sentence = "the training process ended early; there may not be enough memory"
            self.hear({"job": number, "failed": sentence})


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
        self.workspace, self.models, self.max_pixels = workspace, models, max_pixels
        self._settings = {"max_pixels": max_pixels, "n_jobs": n_jobs, "cache_dir": cache_dir}
        self.folder = own_folder(workspace.root, f"{HIDDEN}/models")
        self.shelf = Shelf(self.folder)
        self.running = {kind: Running() for kind in KINDS}
        self._due = self._latest = math.inf  # when a quick model is trained; at the latest
        self._lock = threading.RLock()
        self._is_closed = threading.Event()
        self._processes = {kind: TrainingProcess(self._hear) for kind in KINDS}
        threading.Thread(target=self._begin, daemon=True).start()

    @property
    def says_unknown(self) -> bool:
        """Whether images that are unlike all classes get none; a restart keeps the choice."""
        return not os.path.lexists(self.folder / NEVER_UNKNOWN)

    def say_unknown(self, wanted: bool) -> None:
        """Choose whether images that are unlike all classes get none."""
        if wanted:
            (self.folder / NEVER_UNKNOWN).unlink(missing_ok=True)
        else:
            write_atomically(self.folder / NEVER_UNKNOWN, b"")

    def note_change(self) -> None:
        """Say that images or classes have changed."""
        now = time.monotonic()
        with self._lock:
            self._latest = now + LONGEST_WAIT if self._due == math.inf else self._latest
            self._due = min(now + QUIET, self._latest)

    def train_better(self) -> None:
        """Start the better model, in the place of one that is under way."""
        listed = self.workspace.listed()
        if len(listed.classes) < 2:
            raise RefusedError(409, "a model needs images of two classes; add some")
        self.cancel()
        self._start("better")

    def cancel(self) -> None:
        """Stop the training of the better model; a model that is ready stays."""
        with self._lock:
            self._processes["better"].stop()
            self.running["better"] = Running(self.running["better"].number)

    def preferred(self) -> TestedModel | None:
        """The tests to show: of the better model unless it lacks classes, else of the quick one.

        Tests of another better model, whose place an untested one has taken, count no more.
        """
        better, quick = self.shelf.newest("better"), self.shelf.newest("quick")
        if better is not None and better.table["classes"] == self.workspace.listed().classes:
            with suppress(OSError):
                if self.shelf.time_of(better) >= os.stat(self.file_of("better")).st_mtime:
                    return better
        return quick or better

    def file_of(self, kind: str, suffix: str = ".vw") -> Path:
        """The path of a model, or of its report (.html)."""
        return self.folder / f"{kind}{suffix}"

    def command(self, kind: str, output: str, *, unknown: bool) -> str:
        """The command that trains the same model."""
        words = ["train", str(self.workspace.root), "-o", output, "--folds", str(FOLDS)]
        words += ["--recipe", "tiny"] if kind == "quick" else ["--budget", f"{BUDGET:g}s"]
        words += ["--unknown", f"{UNKNOWN:g}"] if unknown else []
        words += ["--report", f"{os.path.splitext(output)[0]}.html"] if kind == "better" else []
        return typed("classify-images", *words)

    def close(self) -> None:
        """Stop all trainings."""
        self._is_closed.set()
        for process in self._processes.values():
            process.stop()

    def _begin(self) -> None:
        """Load the models of the last time, and train quick ones as images change."""
        self._processes["quick"].send()
        ClassifierAnswers(warm_up(), "warm", self.max_pixels)  # the first model answers at once
        for kind in KINDS:
            if self.file_of(kind).is_file():
                self._load(kind)
        newest = self.shelf.newest("quick")
        if newest is None or newest.rows.keys() != self.workspace.listed().by_id.keys():
            self.note_change()
        while not self._is_closed.wait(0.1):
            if time.monotonic() > self._due and not self.running["quick"].is_on:
                self._due = math.inf
                if len(self.workspace.listed().classes) > 1:
                    self._start("quick")

    def _start(self, kind: str) -> None:
        with self._lock:
            number = 1 + max(running.number for running in self.running.values())
            self.running[kind] = Running(number, True, time.monotonic())
            job = {
                "number": number,
                "kind": kind,
                "root": str(self.workspace.root),
                "output": str(self.file_of(f"new-{kind}")),
                "unknown": self.says_unknown,
                "command": self.command(kind, str(self.file_of(kind)), unknown=False),
                "settings": self._settings,
            }
        self._processes[kind].send(job)

    def _hear(self, news: dict[str, Any]) -> None:
        """Take over what a training process reports."""
        with self._lock:
            kind = next((k for k in KINDS if self.running[k].number == news["job"]), KINDS[0])
            running = self.running[kind]
            if running.number != news["job"] or not running.is_on:
                return  # of a training that was stopped
            running.phase = news.get("phase", running.phase)
            running.failed = news.get("failed", "")
            running.notes = [*running.notes, *filter(None, [news.get("note")])][-MOST_NOTES:]
            if "fold" in news:
                running.folds.append((news["fold"], time.monotonic()))
            running.is_on = not running.failed
        try:
            if "model" in news:
                os.replace(self.file_of(f"new-{kind}"), self.file_of(kind))
                self._load(kind)
            if "finished" in news:
                with suppress(FileNotFoundError):
                    os.replace(self.file_of(f"new-{kind}", ".html"), self.file_of(kind, ".html"))
                self.shelf.add(news["finished"])
                running.is_on = False
        except OSError as problem:  # a full disk, mostly
            running.failed, running.is_on = f"the model can't be kept: {problem}", False

    def _load(self, kind: str) -> None:
        """Let a model answer requests."""
        try:
            self.models.put(kind, answers_of(self.file_of(kind), self.max_pixels))
        except VisualWordsError as problem:
            logger.warning("%s", problem)
        if len(self.models.names) == len(KINDS):  # which one is to answer requests?
            known = {one["label"] for one in self.models.find("better").about()["classes"]}
            lacks = known != set(map(printable, self.workspace.listed().classes))
            kind = "quick" if lacks else "better"
            self.models.put(kind, self.models.find(kind))
