"""classify-images watch"""

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import FILE, flag
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.pipeline.classifier import ImageClassifier


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@click.argument("folder", type=click.Path())
@options.output(
    "-o --output FILE",
    "Append the results to FILE; .csv names the format, else JSON lines [default: print].",
)
@options.sort_into
@flag(
    "--journal FILE",
    "File that records which images were processed [default: beside the results, else in the "
    "user's folder for states].",
    FILE,
)
@flag("--reload", "Load the model again when its file is replaced.")
@flag("--once", "Predict the files that are there, then stop.")
@flag(
    "--settle TIME",
    "A file that did not change for this long is complete.",
    shared.DURATION,
    default=0.3,
    show_default="0.3s",
)
@shared.as_json
@shared.as_csv
@shared.quiet
@options.min_confidence
@options.deciding
@shared.jobs
@options.max_pixels
@options.network
def watch(
    model: str,
    folder: str,
    output: str | None,
    sort_into: str | None,
    journal: str | None,
    reload: bool,
    once: bool,
    settle: float,
    min_confidence: float,
    network: str | None,
    rule: options.Rule,
    as_csv: bool,
    as_json: bool,
    quiet: bool,  # read by `note`
    jobs: int | None,
    max_pixels: int,
) -> int:
    """Predict the images of FOLDER with MODEL as they arrive, each one once.

    A result is written when a file is complete: a JSON line, a CSV row or a line of text with the
    time, the label, its probability and the novelty. Files that are there already come first.
    After a restart the command goes on where it was stopped, even by a power failure: a journal
    keeps which files are done. Ctrl-C ends it.
    """
    from visualwords.apps.command_line.exit_codes import DONE, SKIPPED
    from visualwords.apps.command_line.sort_into import Sorter
    from visualwords.apps.command_line.terminal import note, say
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.model_io import golden_images
    from visualwords.apps.watching.journal import Journal, open_results
    from visualwords.apps.watching.watcher import Arrivals, ReloadedModel, Results, Watcher
    from visualwords.errors import FolderError

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    form = "csv" if as_csv or (output or "").lower().endswith(".csv") else "text"
    if as_json or (output is not None and form == "text"):
        form = "json"
    if not os.path.isdir(folder):
        raise FolderError(f"{folder}: not a folder; create it first")

    def load() -> "ImageClassifier":
        classifier = ImageClassifier.load(model, network=network)
        rule.change(classifier, model)
        classifier.set_params(n_jobs=shared.n_threads(jobs), max_pixels=max_pixels)
        classifier.score_images(golden_images())  # loads what the first image would wait for
        return classifier

    place = journal or (f"{output}.journal" if output else _state_file(folder))
    outside = [path for path in (sort_into, output, place, model) if path]
    with ExitStack() as stack:
        file = None if output is None else stack.enter_context(open_results(output))
        kept = stack.enter_context(Journal(place, file))
        watcher = Watcher(
            ReloadedModel(load, model if reload else None),
            Arrivals(folder, kept.is_done, settle=settle, outside=outside),
            Results(form, file),
            kept,
            sorter=None if sort_into is None else Sorter(sort_into),
            min_confidence=min_confidence,
            say=say,
        )
        note(f"predicting the files of {folder}" if once else f"watching {folder}; Ctrl-C ends it")
        watcher.run(once=once)
    return SKIPPED if watcher.n_skipped else DONE


def _state_file(folder: str) -> str:
    """Where the journal of a folder is if its results are printed."""
    import hashlib

    import platformdirs

    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16]
    place = platformdirs.user_state_path("visualwords", appauthor=False) / "watch"
    place.mkdir(parents=True, exist_ok=True)
    return str(place / f"{name}.journal")
