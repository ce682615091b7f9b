"""classify-images predict"""

import csv
import os
import sys
from typing import Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.classify_images.verb import Verb


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@click.argument("images", type=click.Path(), nargs=-1, required=True)
@click.option("--top", type=click.IntRange(min=1), default=1, show_default=True, metavar="N")
@click.option("--csv", "as_csv", is_flag=True, help="Print the results as CSV.")
@options.reading
def predict(
    model: str, images: tuple[str, ...], top: int, as_csv: bool, as_json: bool, **reading: Any
) -> int:
    """Label IMAGES (files, or folders of files) with MODEL.

    A score is the distance from the boundary between a class and all others: positive speaks for
    the class, and the class with the highest score is the label.
    """
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.loading import load
    from visualwords.errors import FolderError
    from visualwords.folders import list_files

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    run = Run(as_json=as_json, **reading)
    classifier = run.prepare(load(model))
    paths: list[str] = []
    for name in images:
        if os.path.isdir(name):
            files, skipped = list_files(name)
            paths += files
            run.skip(skipped)
        else:
            paths.append(name)
    extraction = run.read(classifier, paths)
    kept = [paths[i] for i in extraction.kept]
    answers = []
    if kept:
        scores = classifier.decide(extraction)
        answers = [
            {"path": path, "label": ranked[0][0], "scores": dict(ranked)}
            for path, ranked in zip(kept, classifier.rank(scores, top))
        ]
    if as_json:
        run.print_summary({"predictions": answers})
    elif as_csv:
        _print_csv(answers)
    elif answers:
        _print_table(answers)
    code = run.exit_code()
    if not answers:
        raise FolderError("none of the images could be read")
    return code


def _print_csv(answers: list[dict[str, Any]]) -> None:
    writer = csv.writer(sys.stdout)
    writer.writerow(["path", "rank", "label", "score"])
    for answer in answers:
        for rank, (label, score) in enumerate(answer["scores"].items(), start=1):
            path = os.fsencode(answer["path"]).decode("utf-8", "backslashreplace")
            writer.writerow([path, rank, label, f"{score:.6g}"])


def _print_table(answers: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from visualwords.apps.terminal import printable, stdout

    table = Table()
    table.add_column("image", overflow="fold")
    table.add_column("label", overflow="fold")
    table.add_column("score", justify="right")
    for answer in answers:
        for rank, (label, score) in enumerate(answer["scores"].items()):
            name = "" if rank else printable(answer["path"])
            table.add_row(Text(name), Text(printable(label)), f"{score:+.2f}")
    stdout().print(table)
