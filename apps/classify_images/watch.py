"""classify-images watch"""

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import verb
from visualwords.apps.command_line.terminal import note, say
from visualwords.apps.command_line.verb import DONE, SKIPPED, argument, flag, n_threads

if TYPE_CHECKING:
    from visualwords import ImageClassifier


class Watch(options.Deciding):
    """Predict the images of FOLDER with MODEL as they arrive, each one once.

    A result is written when a file is complete: a JSON line, a CSV row or a line of text with the
    time, the label, its probability and the novelty. Files that are there already come first.
    After a restart the command goes on where it was stopped, even by a power failure: a journal
    keeps which files are done. Ctrl-C ends it.

    Parameters
    ----------
    output
        Append the results to FILE; .csv names the format, else JSON lines [default: print].
    journal
        File that records which images were processed [default: beside the results, else in the
        user's folder for states].
    reload
        Load the model again when its file is replaced.
    once
        Predict the files that are there, then stop.
    settle
        A file that did not change for this long is complete.
    """

    model: str = argument()
    folder: str = argument()
    output: str | None = flag("-o --output FILE", kind=verb.OUTPUT)
    sort_into: str | None = options.sort_into
    journal: str | None = flag("--journal FILE")
    reload: bool = flag("--reload")
    once: bool = flag("--once")
    settle: float = flag("--settle TIME", default="0.3s")
    as_json: bool = verb.as_json
    as_csv: bool = verb.as_csv
    quiet: Any = verb.quiet
    min_confidence: float = options.min_confidence
    jobs: int | None = verb.jobs
    max_pixels: int = options.max_pixels
    network: str | None = options.network

    def run(self) -> int:
        """Predict until interrupted."""
        from visualwords.apps.command_line.sort_into import Sorter
        from visualwords.apps.watching.journal import Journal, open_results
        from visualwords.apps.watching.watcher import Arrivals, ReloadedModel, Results, Watcher
        from visualwords.errors import FolderError

        others = "json" if self.output else "text"
        form = options.form_of(self.output, others, json=self.as_json, csv=self.as_csv)
        if not os.path.isdir(self.folder):
            raise FolderError(f"{self.folder}: not a folder; create it first")
        place = self.journal or (f"{self.output}.journal" if self.output else _state(self.folder))
        outside = [path for path in (self.sort_into, self.output, place, self.model) if path]
        with ExitStack() as stack:
            file = None if self.output is None else stack.enter_context(open_results(self.output))
            kept = stack.enter_context(Journal(place, file))
            watcher = Watcher(
                ReloadedModel(self.ready_model, self.model if self.reload else None),
                Arrivals(self.folder, kept.is_done, settle=self.settle, outside=outside),
                Results(form, file),
                kept,
                sorter=None if self.sort_into is None else Sorter(self.sort_into),
                min_confidence=self.min_confidence,
                say=say,
            )
            what = "predicting the files of {}" if self.once else "watching {}; Ctrl-C ends it"
            note(what.format(self.folder))
            watcher.run(once=self.once)
        return SKIPPED if watcher.n_skipped else DONE

    def ready_model(self) -> "ImageClassifier":
        """The model, ready to predict."""
        from visualwords.apps.pipeline.model_io import golden_images

        limits = {"n_jobs": n_threads(self.jobs), "max_pixels": self.max_pixels}
        classifier = self.load(self.model, self.network, **limits)
        classifier.score_images(golden_images())  # loads what the first image would wait for
        return classifier


def _state(folder: str) -> str:
    """Where the journal of a folder is if its results are printed."""
    import hashlib

    import platformdirs

    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16]
    place = platformdirs.user_state_path("visualwords", appauthor=False) / "watch"
    place.mkdir(parents=True, exist_ok=True)
    return str(place / f"{name}.journal")
