"""classify-images check"""

import os
from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.exit_codes import BAD_MODEL, DONE, FAILED, SKIPPED
from visualwords.apps.command_line.options import flag
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.evaluation.checking import Finding

MOST_SHOWN = 15  # findings of a kind


@click.command(cls=Verb)
@click.argument("target", type=click.Path(), metavar="DIR|M.vw")
@flag(
    "--recipe NAME",
    "Recipe of the models that check the labels.",
    shell_complete=shared.complete_recipes,
    default="fast",
)
@flag("--folds N", "Cross-validation folds of the label check.", shared.FOLDS, default=5)
@flag("--no-labels", "Do not check the labels: much faster.")
@options.label_from
@options.network
@shared.seed
@options.reading
def check(
    target: str,
    recipe: str,
    folds: int,
    no_labels: bool,
    label_from: str | None,
    network: str | None,
    seed: int,
    run: "Run",
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
    from visualwords.apps.classify_images.recipe_flags import chosen_recipe
    from visualwords.apps.command_line.terminal import print_json
    from visualwords.apps.evaluation.checking import check_folder
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.folders import TABLES, ImageFolder

    if os.path.isfile(target) and not target.lower().endswith(TABLES):
        return _check_model(target, network, run.as_json)
    folder = ImageFolder(target, label_from=label_from)
    model = run.prepare(ImageClassifier(chosen_recipe(recipe), random_state=seed))
    with run.progress() as progress:
        findings = check_folder(
            folder, model, n_folds=folds, labels=not no_labels, progress=progress
        )
    if run.as_json:
        summary = {"folder": folder.path, "images": len(folder), "classes": folder.classes}
        print_json(summary | {"findings": [finding.to_json() for finding in findings]})
    else:
        _print(folder.path, len(folder), findings)
    kinds = {finding.kind for finding in findings if finding.is_problem}
    if kinds - {"unreadable"}:
        return FAILED
    return SKIPPED if kinds else DONE


def _check_model(path: str, network: str | None, as_json: bool) -> int:
    from visualwords.apps.command_line.terminal import print_json, printable
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.model_io import replay_golden

    replay = replay_golden(path, ImageClassifier.load(path, network=network))
    n_images, difference = len(replay.kept), replay.largest_difference
    if as_json:
        figures = {"images": n_images, "largest_difference": difference, "agrees": replay.agrees}
        print_json({"model": path, **figures})
    else:
        verdict = "the same scores" if replay.agrees else "DIFFERENT scores: retrain it here"
        found = f"{n_images} golden images, {verdict} (largest difference {difference:.2g})"
        print(f"{printable(path)}: {found}")
    return DONE if replay.agrees else BAD_MODEL


def _print(path: str, n_images: int, findings: "list[Finding]") -> None:
    from itertools import groupby

    from rich.text import Text

    from visualwords.apps.command_line.terminal import print_table, show

    rows: list[list[str | Text | list[str]]] = []
    for kind, same in groupby(findings, key=lambda finding: finding.kind):
        alike = list(same)
        for one in alike[:MOST_SHOWN]:
            mark = Text("problem", "bold red") if one.is_problem else Text("note", "dim")
            rows.append([mark, f"{kind}: {one.sentence}", one.about[:4]])
        if len(alike) > MOST_SHOWN:
            more = f"… and {len(alike) - MOST_SHOWN} more: {kind}"
            rows.append(["", more, "(--json lists all)"])
    if rows:
        print_table(["", "what", "where"], rows)
    problems = sum(finding.is_problem for finding in findings)
    notes = len(findings) - problems
    counts = f"{problems} problem{'s' * (problems != 1)}, {notes} note{'s' * (notes != 1)}"
    show(f"{path}: {n_images:,} images, {counts}")
