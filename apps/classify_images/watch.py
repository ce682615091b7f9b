"""classify-images watch"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.watching.watcher import Watcher


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@click.argument("folder", type=click.Path())
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Append the results to FILE; .csv names the format, else JSON lines [default: print].",
)
@options.sort_into
@click.option(
    "--journal",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Where the files that are done are kept [default: beside the results, else in the user's "
    "folder for states].",
)
@click.option("--reload", is_flag=True, help="Load the model again when its file is replaced.")
@click.option("--once", is_flag=True, help="Predict the files that are there, then stop.")
@click.option(
    "--settle",
    type=options.Seconds(),
    default=0.3,
    show_default="0.3s",
    metavar="TIME",
    help="A file that did not change for this long is complete.",
)
@options.min_confidence
@options.network
@options.deciding
@shared.as_json
@shared.as_csv
@shared.jobs
@options.max_pixels
@shared.quiet
def watch(
    model: str,
    folder: str,
    output: str | None,
    once: bool,
    as_csv: bool,
    as_json: bool,
    quiet: bool,  # read by `note`
    **settings: Any,
) -> int:
    """Predict the images of FOLDER with MODEL as they arrive, each one once.

    A result is written when a file is complete: a JSON line, a CSV row or a line of text with the
    time, the label, its probability and the novelty. Files that are there already come first.
    After a restart the command goes on where it was stopped, even by a power failure: a journal
    keeps which files are done. Ctrl-C ends it.
    """
    from visualwords.apps.command_line.exit_codes import DONE, SKIPPED
    from visualwords.apps.command_line.terminal import check_output, note

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    if output is not None:
        check_output(output)
    form = "csv" if as_csv or (output or "").lower().endswith(".csv") else "text"
    if as_json or (output is not None and form == "text"):
        form = "json"
    with _watcher(model, folder, output, form, **settings) as watcher:
        line = f"predicting the files of {folder}" if once else f"watching {folder}; Ctrl-C ends it"
        note(line)
        watcher.run(once=once)
    return SKIPPED if watcher.n_skipped else DONE


@contextmanager
def _watcher(
    model: str,
    folder: str,
    output: str | None,
    form: str,
    *,
    sort_into: str | None,
    journal: str | None,
    reload: bool,
    settle: float,
    min_confidence: float,
    network: str | None,
    costs: tuple[tuple[tuple[str, str], float], ...],
    thresholds: tuple[tuple[str, float], ...],
    unknown: float | None,
    jobs: int | None,
    max_pixels: int,
) -> "Iterator[Watcher]":
    """Give what predicts the files of a folder, ready to run."""
    from visualwords.apps.classify_images.sort_into import Sorter
    from visualwords.apps.command_line.terminal import say
    from visualwords.apps.pipeline.image_classifier import ImageClassifier
    from visualwords.apps.pipeline.loading import load_image_classifier
    from visualwords.apps.pipeline.saving import golden_images
    from visualwords.apps.watching.journal import Journal, open_results
    from visualwords.apps.watching.watcher import Arrivals, ReloadedModel, Results, Watcher
    from visualwords.errors import FolderError

    def load() -> ImageClassifier:
        classifier = load_image_classifier(model, network)
        options.decide_otherwise(classifier, model, costs, thresholds, unknown)
        classifier.set_params(n_jobs=shared.n_threads(jobs), max_pixels=max_pixels)
        classifier.score_images(golden_images())  # loads what the first image would wait for
        return classifier

    if not os.path.isdir(folder):
        raise FolderError(f"{folder}: not a folder; create it first")
    place = journal or (f"{output}.journal" if output else _state_file(folder))
    outside = [path for path in (sort_into, output, place, model) if path]
    with ExitStack() as stack:
        file = None if output is None else stack.enter_context(open_results(output))
        kept = stack.enter_context(Journal(place, file))
        yield Watcher(
            ReloadedModel(load, model if reload else None),
            Arrivals(folder, kept.is_done, settle=settle, outside=outside),
            Results(form, file),
            kept,
            sorter=None if sort_into is None else Sorter(sort_into),
            min_confidence=min_confidence,
            say=say,
        )


def _state_file(folder: str) -> str:
    """Return where the journal of a folder is if its results are printed."""
    import hashlib

    import platformdirs

    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16]
    place = platformdirs.user_state_path("visualwords", appauthor=False) / "watch"
    place.mkdir(parents=True, exist_ok=True)
    return str(place / f"{name}.journal")
