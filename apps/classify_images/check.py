"""classify-images check"""

import os
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import completion
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.exit_codes import BAD_MODEL, DONE, FAILED, SKIPPED
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.evaluation.checking import Finding
    from visualwords.folders import ImageFolder

MOST_SHOWN = 15  # findings of a kind


@click.command(cls=Verb)
@click.argument("target", type=click.Path(), metavar="DIR|M.vw")
@click.option(
    "--recipe",
    shell_complete=completion.recipes,
    default="fast",
    show_default=True,
    help="Recipe of the models that check the labels.",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    metavar="N",
    help="Cross-validation folds of the label check.",
)
@options.label_from
@click.option("--no-labels", is_flag=True, help="Do not check the labels: much faster.")
@options.network
@shared.seed
@options.reading
def check(
    target: str,
    recipe: str,
    folds: int,
    label_from: str | None,
    no_labels: bool,
    network: str | None,
    seed: int,
    as_json: bool,
    **reading: Any,
) -> int:
    """Check a folder of images, or a model file, for problems.

    \b
    Folder: unreadable files; duplicates and near-duplicates across splits or classes; labels
    that cross-validated models confidently contradict; classes with few images; tiny images.
    Model: whether it gives the same scores on this machine as where it was trained.

    \b
    Exit codes: 0 no problem, 1 problems found, 3 only unreadable files,
    4 not a usable model file, or one that gives different scores here.
    """
    from visualwords.folders import TABLES, ImageFolder

    if os.path.isfile(target) and not target.lower().endswith(TABLES):
        return _check_model(target, network, as_json)
    folder = ImageFolder(target, label_from=label_from)
    return _check_folder(folder, recipe, folds, no_labels, seed, as_json, reading)


def _check_model(path: str, network: str | None, as_json: bool) -> int:
    from visualwords.apps.command_line.terminal import printable
    from visualwords.apps.pipeline.saving import replay_golden

    replay = replay_golden(path, network)
    if as_json:
        summary = {
            "model": path,
            "images": len(replay.kept),
            "largest_difference": replay.largest_difference,
            "agrees": replay.agrees,
        }
        from visualwords.apps.command_line.terminal import print_json

        print_json(summary)
    else:
        verdict = "the same scores" if replay.agrees else "DIFFERENT scores: retrain it here"
        print(
            f"{printable(path)}: {len(replay.kept)} golden images, {verdict} "
            f"(largest difference {replay.largest_difference:.2g})"
        )
    return DONE if replay.agrees else BAD_MODEL


def _check_folder(
    folder: "ImageFolder",
    recipe: str,
    folds: int,
    no_labels: bool,
    seed: int,
    as_json: bool,
    reading: dict[str, Any],
) -> int:
    from visualwords.apps.classify_images.recipe_flags import chosen_recipe
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.evaluation.checking import check_folder
    from visualwords.apps.pipeline.image_classifier import ImageClassifier

    run = Run(as_json=as_json, **reading)
    model = run.prepare(ImageClassifier(chosen_recipe(recipe), random_state=seed))
    with run.progress() as progress:
        findings = check_folder(
            folder, model, n_folds=folds, labels=not no_labels, progress=progress
        )
    if as_json:
        summary = {"folder": folder.path, "images": len(folder), "classes": folder.classes}
        from visualwords.apps.command_line.terminal import print_json

        print_json({**summary, "findings": [f.to_json() for f in findings]})
    else:
        _print(folder.path, len(folder), findings)
    if any(f.is_problem and f.kind != "unreadable" for f in findings):
        return FAILED
    return SKIPPED if any(f.kind == "unreadable" for f in findings) else DONE


def _print(path: str, n_images: int, findings: "list[Finding]") -> None:
    from itertools import groupby

    from rich.table import Table
    from rich.text import Text

    from visualwords.apps.command_line.terminal import printable, stdout

    problems = sum(finding.is_problem for finding in findings)
    table = Table("", "what", "where", show_lines=False)
    for kind, same in groupby(findings, key=lambda finding: finding.kind):
        group = list(same)
        for finding in group[:MOST_SHOWN]:
            mark = Text("problem", "bold red") if finding.is_problem else Text("note", "dim")
            where = "\n".join(printable(name) for name in finding.about[:4])
            table.add_row(mark, Text(f"{kind}: {printable(finding.sentence)}"), Text(where))
        if len(group) > MOST_SHOWN:
            table.add_row("", f"… and {len(group) - MOST_SHOWN} more: {kind}", "(--json lists all)")
    if findings:
        stdout().print(table)
    counts = [f"{n_images:,} images", _counted(problems, "problem")]
    counts.append(_counted(len(findings) - problems, "note"))
    stdout().print(Text(f"{printable(path)}: {', '.join(counts)}"))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
