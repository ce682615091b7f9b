"""classify-images check"""

import os
from itertools import groupby
from typing import TYPE_CHECKING

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import verb
from visualwords.apps.command_line.terminal import Cell, print_json, print_table, printable, show
from visualwords.apps.command_line.verb import BAD_MODEL, DONE, FAILED, SKIPPED, argument, flag

if TYPE_CHECKING:
    from visualwords.apps.evaluation.checking import Finding

MOST_SHOWN = 15  # findings of a kind


class Check(options.Reading):
    """Check a folder of images, or a model file, for problems.

    \b
    Folder: unreadable files; duplicates and near-duplicates across splits or classes; labels
    that cross-validated models confidently contradict; classes with few images; tiny images.
    Model: whether it gives the same scores on this machine as where it was trained.

    \b
    Exit codes: 0 no problem, 1 problems found, 3 only unreadable files,
    4 not a usable model file, or one that gives different scores here.

    Parameters
    ----------
    recipe
        Recipe of the models that check the labels.
    folds
        Cross-validation folds of the label check.
    no_labels
        Do not check the labels: much faster.
    """

    target: str = argument(metavar="DIR|M.vw")
    recipe: str = flag("--recipe NAME", default="fast", shell_complete=options.complete_recipes)
    folds: int = flag("--folds N", kind=verb.FOLDS, default=5)
    no_labels: bool = flag("--no-labels")
    label_from: str | None = options.label_from
    network: str | None = options.network
    seed: int = verb.seed

    def work(self) -> int:
        """Check a folder, or a model file."""
        from visualwords import ImageClassifier
        from visualwords.apps.evaluation.checking import check_folder
        from visualwords.folders import TABLES, ImageFolder

        if os.path.isfile(self.target) and not self.target.lower().endswith(TABLES):
            return self.check_model()
        folder = ImageFolder(self.target, label_from=self.label_from)
        recipe = "auto" if self.recipe == "auto" else options.checked_recipe(self.recipe)
        model = ImageClassifier(recipe, random_state=self.seed, **self.resources)
        with self.progress() as progress:
            findings = check_folder(
                folder, model, n_folds=self.folds, labels=not self.no_labels, progress=progress
            )
        if self.as_json:
            summary = {"folder": folder.path, "images": len(folder), "classes": folder.classes}
            print_json(summary | {"findings": [finding.to_json() for finding in findings]})
        else:
            _print(f"{folder.path}: {len(folder):,} images", findings)
        kinds = {finding.kind for finding in findings if finding.is_problem}
        return FAILED if kinds - {"unreadable"} else SKIPPED if kinds else DONE

    def check_model(self) -> int:
        """Compare the scores of golden images with those where the model was trained."""
        from visualwords import ImageClassifier
        from visualwords.apps.pipeline.model_io import replay_golden

        model = ImageClassifier.load(self.target, network=self.network)
        replay = replay_golden(self.target, model)
        n_images, difference = len(replay.kept), replay.largest_difference
        if self.as_json:
            figures = {"largest_difference": difference, "agrees": replay.agrees}
            print_json({"model": self.target, "images": n_images, **figures})
        else:
            verdict = "the same scores" if replay.agrees else "DIFFERENT scores: retrain it here"
            found = f"{n_images} golden images, {verdict} (largest difference {difference:.2g})"
            print(f"{printable(self.target)}: {found}")
        return DONE if replay.agrees else BAD_MODEL


def _print(title: str, findings: "list[Finding]") -> None:
    rows: list[list[Cell]] = []
    for kind, same in groupby(findings, key=lambda finding: finding.kind):
        alike = list(same)
        for one in alike[:MOST_SHOWN]:
            mark = ("problem", "bold red") if one.is_problem else ("note", "dim")
            rows.append([mark, f"{kind}: {one.sentence}", one.about[:4]])
        if len(alike) > MOST_SHOWN:
            more = f"… and {len(alike) - MOST_SHOWN} more: {kind}"
            rows.append(["", more, "(--json lists all)"])
    if rows:
        print_table(["", "what", "where"], rows)
    problems = sum(finding.is_problem for finding in findings)
    notes = len(findings) - problems
    show(f"{title}, {problems} problem{'s' * (problems != 1)}, {notes} note{'s' * (notes != 1)}")
