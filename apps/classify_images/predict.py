"""classify-images predict"""

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.pipeline.image_classifier import ImageClassifier
    from visualwords.apps.pipeline.predictions import Answer


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@click.argument("images", type=click.Path(), nargs=-1, required=True)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of classes to print for each image, best first.",
)
@options.min_confidence
@options.sort_into
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the results to FILE; .csv and .json name the format [default: print them].",
)
@options.network
@options.deciding
@shared.streams
@shared.as_csv
@shared.raw
@options.reading
def predict(
    model: str,
    images: tuple[str, ...],
    top: int,
    min_confidence: float,
    sort_into: str | None,
    output: str | None,
    network: str | None,
    costs: tuple[tuple[tuple[str, str], float], ...],
    thresholds: tuple[tuple[str, float], ...],
    unknown: float | None,
    stream: dict[str, Any],
    allow_url: bool,
    as_csv: bool,
    raw: bool,
    as_json: bool,
    **reading: Any,
) -> int:
    """Predict the labels of IMAGES (files, folders of files, or - for paths on stdin) with MODEL.

    A video, the number of a camera or an address (rtsp://…) is followed frame by frame, and a
    line is printed for each; such sources and images are given in separate commands.

    Paths on stdin end with a newline, or with NUL, as find -print0 prints them.

    The class with the highest probability is the label, unless costs, thresholds or --unknown,
    given here or to train, decide otherwise. Probabilities are calibrated on training images. A
    score is the signed distance from the boundary between a class and all others. Novelty is the
    share of known images that are less strange than the image.
    """
    from visualwords.apps.classify_images.prediction_output import printer_of
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.command_line.terminal import check_output, results_in
    from visualwords.apps.pipeline.loading import load_image_classifier
    from visualwords.errors import FolderError

    if output is not None:
        check_output(output)
        as_csv = as_csv or (output.lower().endswith(".csv") and not as_json)
        as_json = as_json or (output.lower().endswith(".json") and not as_csv)
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    live = _streams_of(images, allow_url, output, sort_into)
    run = Run(as_json=as_json, **reading)
    classifier = run.prepare(load_image_classifier(model, network))
    options.decide_otherwise(classifier, model, costs, thresholds, unknown)
    if min_confidence and classifier.calibration_ is None:
        raise FolderError(
            f"{model}: the model has no probabilities, because its training images were "
            "too few; omit --min-confidence or train on more images"
        )
    form = "json" if as_json else "csv" if as_csv else "table"
    if live:
        return _follow(run, classifier, live, form, top, min_confidence, raw, stream)
    paths = _listed(run, images, sort_into)
    with results_in(output, held=run.strict):
        printer = printer_of(form, raw)
        labelled = _print_each(run, classifier, paths, printer, top, min_confidence)
        run.check_strict()
        printer.end(run.skipped)
    if sort_into is not None and labelled:
        _sort(run, labelled, sort_into, set(map(str, classifier.classes_)))
    code = run.exit_code()
    if not labelled:
        raise FolderError("none of the images could be read")
    return code


def _print_each(
    run: "Run",
    classifier: "ImageClassifier",
    paths: list[str],
    printer: Any,
    top: int,
    min_confidence: float,
) -> list[tuple[str, str | None]]:
    """Print predictions as they come; return the images with their labels, None for no class."""
    from visualwords.apps.classify_images.prediction_output import MOST_ROWS
    from visualwords.apps.pipeline.predictions import label_each

    labelled: list[tuple[str, str | None]] = []
    waiting: list[Answer] = []
    # On a terminal few rows follow the bar of their progress, and many take its place.
    is_watched, are_many = sys.stdout.isatty(), len(paths) > MOST_ROWS
    with run.progress(hidden=is_watched and are_many) as progress:
        found = label_each(classifier, paths, top, min_confidence, progress=progress)
        for answers, skipped in found:
            run.skip(skipped)
            labelled += ((one.path, one.label if one.is_confident else None) for one in answers)
            if is_watched and not are_many:
                waiting += answers
            else:
                printer.print(answers)
    printer.print(waiting)
    return labelled


def _streams_of(
    sources: tuple[str, ...], allow_url: bool, output: str | None, sort_into: str | None
) -> list[str]:
    """Return the videos, cameras and addresses; none where all sources are images or folders."""
    from visualwords.frames import kind_of_source

    shared.check_addresses(sources, allow_url)
    live = [name for name in sources if kind_of_source(name) not in ("image", "folder")]
    if live and len(live) < len(sources):
        raise click.UsageError(
            f"{live[0]} has frames and others are images; give them in separate commands"
        )
    if live and (output is not None or sort_into is not None):
        raise click.UsageError("frames are printed; omit -o and --sort-into")
    return live


def _follow(
    run: "Run",
    classifier: "ImageClassifier",
    sources: list[str],
    form: str,
    top: int,
    min_confidence: float,
    raw: bool,
    stream: dict[str, Any],
) -> int:
    """Predict frames as they come; return the exit code."""
    from visualwords.apps.classify_images.streaming import FramePrinter

    classifier.set_params(cache_dir=None)  # a frame is seen once
    printer = FramePrinter(classifier, form, top, min_confidence, raw)
    for source in sources:
        fault = printer.follow(source, **stream)
        run.skip([(source, fault)] if fault else [])
    run.check_strict()
    return run.exit_code()


def _sort(
    run: "Run", labelled: list[tuple[str, str | None]], folder: str, classes: set[str]
) -> None:
    from visualwords.apps.classify_images.sort_into import folder_of_rejected, sort_images
    from visualwords.apps.command_line.terminal import note

    rejected = folder_of_rejected(classes)
    paths = [path for path, _ in labelled]
    labels = [rejected if label is None else label for _, label in labelled]
    with run.progress() as progress:
        sort_images(paths, labels, folder, progress=progress)
    note(f"{folder}: {len(paths)} images in {len(set(labels))} folders")


def _listed(run: "Run", names: tuple[str, ...], sort_into: str | None) -> list[str]:
    """Return the image files, without copies that an earlier run sorted into the folder."""
    from visualwords.folders import list_files

    paths: list[str] = []
    for name in _with_stdin(names):
        if os.path.isdir(name):
            files, skipped = list_files(name)
            paths += files
            run.skip(skipped)
        else:
            paths.append(name)
    if sort_into is None:
        return paths
    sorted_already = os.path.join(os.path.realpath(sort_into), "")
    return [path for path in paths if not os.path.realpath(path).startswith(sorted_already)]


def _with_stdin(names: tuple[str, ...]) -> list[str]:
    """Return the names with those of stdin in place of "-"."""
    listed: list[str] = []
    for name in names:
        if name != "-":
            listed.append(name)
            continue
        given = sys.stdin.buffer.read()
        lines = given.split(b"\0") if b"\0" in given else given.splitlines()
        listed += [os.fsdecode(line) for line in lines if line]
    return listed
