"""Predict images of a folder as they arrive, and write each result at once.

A file is complete when its size and time have not changed for a while. Systems report changes, too,
but not all of them, not on network drives, and not when a file is complete.
"""

import csv
import errno
import json
import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from io import FileIO, StringIO
from typing import Any, Generic, TypeVar

from visualwords.apps.command_line.csv_cells import csv_cells, short_number
from visualwords.apps.command_line.sort_into import Sorter, folder_of_rejected
from visualwords.apps.command_line.terminal import printable
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.predictions import Answer, label_images
from visualwords.apps.watching.journal import FileState, Journal, append, look_at
from visualwords.errors import Skipped, VisualWordsError
from visualwords.folders import list_files

Model = TypeVar("Model")

AT_A_TIME = 64  # images of a burst that are predicted together
SHARE = 0.05  # of the time that goes into looking at the folder, at most
PATIENCE = 1.0  # seconds between two looks at a model file, and two tries on a full disk
UNREADABLE_SECONDS = 5.0  # that a file stays unchanged before it is reported as unreadable
FULL = (errno.ENOSPC, errno.EDQUOT)
COLUMNS = ["time", "path", "label", "probability", "novelty", "reason"]
# Of files that programs rename when they are complete.
UNFINISHED = (".part", ".partial", ".tmp", ".temp", ".crdownload", ".filepart", ".swp")


class ReloadedModel(Generic[Model]):
    """A model that is loaded again when its file is replaced.

    Parameters
    ----------
    load : function without parameters
    path : str or None
        The file to look at; None for a model that stays.

    Attributes
    ----------
    model : the one in use
    """

    def __init__(self, load: Callable[[], Model], path: str | None):
        self._load, self._path = load, path
        self._seen = None if path is None else look_at(path)
        self.model = load()

    def refresh(self) -> str | None:
        """Load a new file, unless it is not usable; return a sentence about it."""
        now = None if self._path is None else look_at(self._path)
        if now is None or now == self._seen:
            return None
        self._seen = now
        try:
            self.model = self._load()
        except VisualWordsError as problem:
            return f"{problem}; the model before stays in use"
        return f"{self._path}: loaded again"


class Arrivals:
    """Complete files of a folder and its sub-folders.

    Parameters
    ----------
    folder : str
    is_done : function
        Whether a file, as it is, needs no more work.
    settle : float
        Seconds after which an unchanged file is complete.
    outside : sequence of str
        Folders and files below that are not looked at.
    """

    def __init__(
        self,
        folder: str,
        is_done: Callable[[FileState], bool],
        *,
        settle: float = 0.3,
        outside: Sequence[str] = (),
    ):
        self.folder, self.is_done, self.settle = folder, is_done, settle
        real = os.path.realpath(folder)
        places = [os.path.relpath(os.path.realpath(path), real) for path in outside]
        self._outside = tuple(os.path.join(folder, place, "") for place in places)
        self._waiting: dict[str, tuple[FileState, float]] = {}  # and since when they are so
        self.pause = 0.0  # seconds until the next look

    @property
    def is_idle(self) -> bool:
        """Whether no file is known that may be completed soon."""
        return not self._waiting

    def look(self) -> list[FileState]:
        """Look at all files; return the complete ones, in order of their names."""
        start = time.monotonic()
        before, self._waiting = self._waiting, {}
        complete = []
        for path in list_files(self.folder)[0]:
            state = look_at(path) if self._may_be_image(path) else None
            if state is None or self.is_done(state):
                continue
            age = max(0.0, time.time() - state.modified / 1e9)
            seen, since = before.get(path, (state, start - age))
            since = since if seen == state else start
            if start - since >= self.settle:
                complete.append(state)
            else:
                self._waiting[path] = state, since
        self.pause = min(max(self.settle / 4, (time.monotonic() - start) / SHARE, 0.01), PATIENCE)
        return complete

    def postpone(self, state: FileState, seconds: float) -> None:
        """Take a file back that may not be complete; it has some seconds more."""
        self._waiting[state.path] = state, time.monotonic() + seconds - self.settle

    def _may_be_image(self, path: str) -> bool:
        name = os.path.basename(path).lower()
        is_unfinished = name.startswith(".") or name.endswith(UNFINISHED)
        return not is_unfinished and not os.path.join(path, "").startswith(self._outside)


class Results:
    """Where results go: a file that is appended to, or stdout.

    Parameters
    ----------
    form : "json", "csv" or "text"
    file : file of `visualwords.apps.watching.journal.open_results`, optional
    """

    def __init__(self, form: str, file: FileIO | None = None):
        self.form, self.file = form, file
        if form == "csv" and (file is None or not file.seek(0, os.SEEK_END)):
            self.write(_csv_line(COLUMNS))

    def write(self, text: str) -> int:
        """Append a line; return where the file ends now."""
        if self.file is not None:
            return append(self.file, text.encode("utf-8", "surrogateescape"))
        print(text, end="", flush=True)
        return 0

    def line(self, result: Answer | Skipped) -> str:
        """The line of a result."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        if isinstance(result, Skipped):
            shown = {"path": result.source, "skipped": result.reason}
            cells = [now, result.source, "", "", "", result.reason]
        else:
            shown = result.to_json()
            numbers = [short_number(result.probability), short_number(result.novelty)]
            cells = [now, result.path, result.label, *numbers, ""]
        if self.form == "json":
            return json.dumps(shown | {"time": now}) + "\n"
        if self.form == "csv":
            return _csv_line(cells)
        return printable("  ".join(cell for cell in cells if cell)) + "\n"


class Watcher:
    """Predicts files as they are completed, one result each; may be stopped at any time.

    Parameters
    ----------
    model : ReloadedModel
    arrivals : Arrivals
    results : Results
    journal : Journal
    sorter : Sorter, optional
        Copies images into folders of their labels.
    min_confidence : float
        Probability below which the label is "unknown".
    say : function
        Writes one line about what went wrong.
    """

    def __init__(
        self,
        model: ReloadedModel[ImageClassifier],
        arrivals: Arrivals,
        results: Results,
        journal: Journal,
        *,
        sorter: Sorter | None = None,
        min_confidence: float = 0.0,
        say: Callable[[str], None] = lambda _: None,
    ):
        self.model, self.arrivals, self.results, self.journal = model, arrivals, results, journal
        self.sorter, self.min_confidence, self.say = sorter, min_confidence, say
        self.rejected = folder_of_rejected(model.model.classes_)
        self.n_skipped = 0

    def run(self, *, once: bool = False) -> None:
        """Predict until the process is stopped; with ``once``, until all files are done."""
        next_look = 0.0  # at the model file
        while True:
            complete = self.arrivals.look()
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + PATIENCE
                if sentence := self.model.refresh():
                    self.say(sentence)
            for start in range(0, len(complete), AT_A_TIME):
                self._predict(complete[start : start + AT_A_TIME])
            if not complete:
                if once and self.arrivals.is_idle:
                    return
                time.sleep(self.arrivals.pause)

    def _predict(self, files: Sequence[FileState]) -> None:
        model, paths = self.model.model, [file.path for file in files]
        answers, skipped = label_images(model, paths, len(model.classes_), self.min_confidence)
        results: dict[str, Answer | Skipped] = {answer.path: answer for answer in answers}
        results |= {one.source: one for one in skipped}
        for file in files:
            self._finish(file, results[file.path])

    def _finish(self, file: FileState, result: Answer | Skipped) -> None:
        """Write the result of one file, unless it changed meanwhile, and record that."""
        now = look_at(file.path)
        if now is None:
            self.say(f"{file.path}: gone before it could be read")
            return
        left = UNREADABLE_SECONDS - (time.time() - file.modified / 1e9)
        is_early = isinstance(result, Skipped) and 0 < left <= UNREADABLE_SECONDS
        if now != file or is_early:  # its writer may not be done
            self.arrivals.postpone(now, left if is_early else self.arrivals.settle)
            return
        if isinstance(result, Skipped):
            self.say(str(result))
            self.n_skipped += 1
        elif self.sorter is not None:
            sorter, label = self.sorter, result.label if result.is_confident else self.rejected
            self._patiently(lambda: sorter.copy(file.path, label))
        line = self.results.line(result)
        end = self._patiently(lambda: self.results.write(line))
        self._patiently(lambda: self.journal.add(file, end))

    def _patiently(self, write: Callable[[], Any]) -> Any:
        """Write; wait as long as the disk is full."""
        is_said = False
        while True:
            try:
                return write()
            except OSError as problem:
                if problem.errno not in FULL:
                    raise
                if not is_said:
                    self.say("the disk is full; waiting until there is space")
                is_said = True
                time.sleep(PATIENCE)


def _csv_line(cells: Sequence[Any]) -> str:
    text = StringIO(newline="")
    csv.writer(text).writerow(csv_cells(cells))
    return text.getvalue()
