"""classify-images predict"""

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from visualwords.apps.classify_images.prediction_output import Form
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.predictions import Answer

Labelled = list[tuple[str, str | None]]  # images with their labels, None for no class


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@click.argument("images", type=click.Path(), nargs=-1, required=True)
@options.output(
    "-o --output FILE",
    "Write the results to FILE; .csv and .json name the format [default: print them].",
)
@shared.flag(
    "--top N",
    "Number of classes to print for each image, best first [default: 1; of JSON all].",
    shared.COUNT,
)
@options.sort_into
@shared.as_csv
@shared.raw
@options.min_confidence
@options.deciding
@options.network
@shared.streams
@options.reading
def predict(
    model: str,
    images: tuple[str, ...],
    top: int | None,
    min_confidence: float,
    sort_into: str | None,
    output: str | None,
    network: str | None,
    rule: options.Rule,
    stream: dict[str, Any],
    allow_url: bool,
    as_csv: bool,
    raw: bool,
    run: "Run",
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
    from visualwords.apps.classify_images.prediction_output import Form, follow, print_answers
    from visualwords.apps.command_line.terminal import results_in
    from visualwords.errors import FolderError

    if output is not None:
        as_csv = as_csv or (output.lower().endswith(".csv") and not run.as_json)
        run.as_json = run.as_json or (output.lower().endswith(".json") and not as_csv)
    if as_csv and run.as_json:
        raise click.UsageError("--csv and --json exclude each other")
    live = _streams_of(images, allow_url, output, sort_into)
    classifier = run.load(model, network, rule)
    if min_confidence and classifier.calibration_ is None:
        raise FolderError(
            f"{model}: the model has no probabilities, because its training images were "
            "too few; omit --min-confidence or train on more images"
        )
    name = "json" if run.as_json else "csv" if as_csv else "table"
    form = Form(name, top or (len(classifier.classes_) if run.as_json else 1), min_confidence, raw)
    if live:
        classifier.set_params(cache_dir=None)  # a frame is seen once
        run.skip(list(follow(classifier, live, form, stream)))
        run.check_strict()
        return run.exit_code()
    paths = _listed(run, images, sort_into)
    labelled: Labelled = []
    with results_in(output, held=run.strict):
        print_answers(_answers(run, classifier, paths, form, labelled), form, run.skipped)
    if sort_into is not None and labelled:
        _sort(run, labelled, sort_into, classifier)
    code = run.exit_code()
    if not labelled:
        raise FolderError("none of the images could be read")
    return code


def _answers(
    run: "Run", classifier: "ImageClassifier", paths: list[str], form: "Form", labelled: Labelled
) -> "Iterator[list[Answer]]":
    """Predict images as they come; put their labels into ``labelled``.

    On a terminal few rows follow the bar of their progress, and many take its place.
    """
    from visualwords.apps.classify_images.prediction_output import MOST_ROWS
    from visualwords.apps.pipeline.predictions import label_each

    waiting: list[Answer] = []
    is_watched, are_many = sys.stdout.isatty(), len(paths) > MOST_ROWS
    with run.progress(hidden=is_watched and are_many) as progress:
        for answers, skipped in label_each(
            classifier, paths, form.top, form.min_confidence, progress=progress
        ):
            run.skip(skipped)
            labelled += ((one.path, one.label if one.is_confident else None) for one in answers)
            if is_watched and not are_many:
                waiting += answers
            else:
                yield answers
    yield waiting
    run.check_strict()


def _streams_of(
    sources: tuple[str, ...], allow_url: bool, output: str | None, sort_into: str | None
) -> list[str]:
    """The videos, cameras and addresses; none where all sources are images or folders."""
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


def _sort(run: "Run", labelled: Labelled, folder: str, classifier: "ImageClassifier") -> None:
    from visualwords.apps.command_line.sort_into import folder_of_rejected, sort_images
    from visualwords.apps.command_line.terminal import note

    rejected = folder_of_rejected([str(name) for name in classifier.classes_])
    labels = [rejected if label is None else label for _, label in labelled]
    with run.progress() as progress:
        sort_images([path for path, _ in labelled], labels, folder, progress=progress)
    note(f"{folder}: {len(labels)} images in {len(set(labels))} folders")


def _listed(run: "Run", names: tuple[str, ...], sort_into: str | None) -> list[str]:
    """The image files, without copies that an earlier run sorted into the folder."""
    from visualwords.folders import list_files

    paths: list[str] = []
    for name in names:
        if name == "-":
            given = sys.stdin.buffer.read()
            lines = given.split(b"\0") if b"\0" in given else given.splitlines()
            listed = [os.fsdecode(line) for line in lines if line]
        else:
            listed = [name]
        for path in listed:
            if os.path.isdir(path):
                files, skipped = list_files(path)
                paths += files
                run.skip(skipped)
            else:
                paths.append(path)
    if sort_into is None:
        return paths
    sorted_already = os.path.join(os.path.realpath(sort_into), "")
    return [path for path in paths if not os.path.realpath(path).startswith(sorted_already)]
