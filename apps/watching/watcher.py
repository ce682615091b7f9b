"""Predict images of a folder as they arrive, and write each result at once."""

import csv
import errno
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from io import FileIO, StringIO
from typing import Any

from visualwords.apps.classify_images.sort_into import Sorter, folder_of_rejected
from visualwords.apps.command_line.csv_cells import csv_cells, short_number
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.pipeline.predictions import Answer, label_images
from visualwords.apps.watching.arrivals import Arrival, Arrivals, look_at
from visualwords.apps.watching.journal import Journal, append
from visualwords.errors import Skipped, VisualWordsError

AT_A_TIME = 64  # images of a burst that are predicted together
PATIENCE = 1.0  # seconds between two looks at a model file, and two tries on a full disk
FULL = (errno.ENOSPC, errno.EDQUOT)
COLUMNS = ["time", "path", "label", "probability", "novelty", "reason"]


class ModelFile:
    """A model that is loaded again when its file is replaced.

    Parameters
    ----------
    load : function without parameters
    path : str or None
        The file that is looked at; None for a model that stays.
    say : function
        Receives what became of a new file.
    """

    def __init__(
        self, load: Callable[[], ImageClassifier], path: str | None, say: Callable[[str], None]
    ):
        self.load, self.path, self.say = load, path, say
        self._seen = None if path is None else look_at(path)
        self._model = load()
        self._next_look = time.monotonic() + PATIENCE

    def current(self) -> ImageClassifier:
        """Return the model; a new one if the file was replaced by a good one."""
        if self.path is not None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + PATIENCE
            now = look_at(self.path)
            if now is not None and now != self._seen:
                self._seen = now
                try:
                    self._model = self.load()
                    self.say(f"{self.path}: loaded again")
                except VisualWordsError as problem:
                    self.say(f"{problem}; the model before stays in use")
        return self._model


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
        sys.stdout.write(text)
        sys.stdout.flush()
        return 0

    def line(self, found: Answer | Skipped) -> str:
        """Return the line of a result."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        if self.form == "json":
            if isinstance(found, Skipped):
                return (
                    json.dumps({"path": found.source, "skipped": found.reason, "time": now}) + "\n"
                )
            return json.dumps(found.to_json() | {"time": now}) + "\n"
        if isinstance(found, Skipped):
            cells = [now, found.source, "", "", "", found.reason]
        else:
            cells = [now, found.path, found.label, short_number(found.probability)]
            cells += [short_number(found.novelty), ""]
        if self.form == "csv":
            return _csv_line(cells)
        from visualwords.apps.command_line.terminal import printable

        return printable("  ".join(str(cell) for cell in cells if cell != "")) + "\n"


class Watcher:
    """Predicts files as they are completed, one result each; may be stopped at any time.

    Parameters
    ----------
    model : ModelFile
    folder : str
    results : Results
    journal : Journal
    sorter : Sorter, optional
        Copies images into folders of their labels.
    say : function
        Writes one line about what went wrong.
    settings : of `Arrivals`
    """

    def __init__(
        self,
        model: ModelFile,
        folder: str,
        results: Results,
        journal: Journal,
        *,
        sorter: Sorter | None = None,
        min_confidence: float = 0.0,
        say: Callable[[str], None] = lambda _: None,
        **settings: Any,
    ):
        self.model, self.results, self.journal = model, results, journal
        self.sorter, self.min_confidence, self.say = sorter, min_confidence, say
        self.arrivals = Arrivals(folder, journal.is_done, **settings)
        self.rejected = folder_of_rejected(model.current().classes_)
        self.n_done = self.n_skipped = 0

    def run(self, *, once: bool = False, started: Callable[[], None] = lambda: None) -> None:
        """Predict until the process is stopped; with ``once``, until all files are done.

        ``started`` is called when no file can be missed any more.
        """
        with self.arrivals as arrivals:
            started()
            while True:
                found = arrivals.wait(PATIENCE)
                if once and not found and arrivals.is_idle:
                    return
                for start in range(0, len(found), AT_A_TIME):
                    self._predict(found[start : start + AT_A_TIME])

    def _predict(self, arrivals: Sequence[Arrival]) -> None:
        model = self.model.current()
        paths = [arrival.path for arrival in arrivals]
        answers, skipped = label_images(model, paths, len(model.classes_), self.min_confidence)
        found: dict[str, Answer | Skipped] = {answer.path: answer for answer in answers}
        found |= {one.source: one for one in skipped}
        for arrival in arrivals:
            self._finish(arrival, found[arrival.path])

    def _finish(self, arrival: Arrival, found: Answer | Skipped) -> None:
        """Write the result of one file, unless it changed meanwhile, and remember that."""
        now = look_at(arrival.path)
        if now is None:
            self.say(f"{arrival.path}: gone before it could be read")
            return
        is_young = time.time() - arrival.modified / 1e9 < self.arrivals.settle
        if now != arrival or (isinstance(found, Skipped) and is_young):
            self.arrivals.postpone(now)  # its writer may not be done
            return
        if isinstance(found, Answer) and self.sorter is not None:
            sorter, label = self.sorter, found.label if found.is_confident else self.rejected
            self._patiently(lambda: sorter.copy(arrival.path, label))
        elif isinstance(found, Skipped):
            self.say(str(found))
            self.n_skipped += 1
        line = self.results.line(found)
        end = self._patiently(lambda: self.results.write(line))
        self._patiently(lambda: self.journal.add(arrival, end))
        self.n_done += 1

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
