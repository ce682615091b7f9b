"""The confusion matrix; its cells open the images in them.

A cell is a link to a panel below the matrix, which style sheets show while it is the target: no
script is needed, and where style sheets are not read the panels simply follow each other.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from markupsafe import Markup

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.report.markup import (
    MOST_CLASSES,
    Thumbnails,
    figure,
    html,
    joined,
    percent,
    picture,
    section,
    text,
)

MOST_WRONG, MOST_RIGHT = 12, 6  # pictures of a cell
MOST_NAMES = 60  # of files that are listed for a cell
COMPACT = 24  # classes from which cells show shades only

Cell = tuple[int, int]


def confusion(trial: Trial, thumbnails: Thumbnails) -> Markup:
    """Return the matrix and the panels of its cells."""
    shown, members = classes_shown(trial), images_of_cells(trial)
    evaluation, n_classes = trial.evaluation, len(trial.evaluation.classes)
    lead = "Rows are true classes, columns are predicted classes. Choose a cell to see its images."
    if len(shown) < n_classes:
        lead += f" The {len(shown)} of {n_classes:,} classes with the most mistakes are shown."
        linked: set[tuple[int, int | None]] = {(i, j) for i in shown for j in (*shown, n_classes)}
        linked |= {(i, evaluation.most_confused(i)) for i in range(n_classes)}
        members = {cell: members[cell] for cell in members if cell in linked}
    urls = _pictures(trial, members, thumbnails)
    panels = joined(_panel(trial, cell, members[cell], urls) for cell in sorted(members))
    return section("confusion", "Confusion", lead, _matrix(trial, shown) + panels)


def classes_shown(trial: Trial) -> list[int]:
    """Return the positions of the classes in the matrix: of many, those with the most mistakes."""
    counts = trial.evaluation.confusion
    if len(counts) <= MOST_CLASSES:
        return list(range(len(counts)))
    wrong = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    return sorted(np.argsort(-wrong, kind="stable")[:MOST_CLASSES].tolist())


def images_of_cells(trial: Trial) -> dict[Cell, list[int]]:
    """Return the images of each cell: mistakes by falling confidence, others by rising one.

    Images that are labelled as none of the classes are in the column after the last class.
    """
    position = {name: i for i, name in enumerate(trial.evaluation.classes)}
    members: dict[Cell, list[int]] = defaultdict(list)
    for k in np.argsort(trial.confidence, kind="stable"):
        cell = position[trial.truth[k]], position.get(trial.guesses[k], len(position))
        members[cell].append(int(k))
    return {(i, j): found if i == j else found[::-1] for (i, j), found in members.items()}


def _matrix(trial: Trial, shown: Sequence[int]) -> Markup:
    compact, evaluation = len(shown) >= COMPACT, trial.evaluation
    n_classes = len(evaluation.classes)
    columns = [*shown, n_classes] if evaluation.n_rejected else shown
    names = [*map(text, evaluation.classes), Markup("no class")]
    head = joined(html("<th scope=col><span>{}</span>", names[j]) for j in columns)
    rows = Markup()
    for i in shown:
        cells = joined(_cell(trial, i, j, compact) for j in columns)
        rows += html("<tr><th scope=row><span>{}</span>{}", names[i], cells)
    return html(
        '<div class=scroll><table class="confusion{}"><thead><tr><td>{}</thead>'
        "<tbody>{}</tbody></table></div>",
        *(" compact" if compact else "", head, rows),
    )


def _cell(trial: Trial, i: int, j: int, compact: bool) -> Markup:
    evaluation = trial.evaluation
    count = evaluation.rejected[i] if j == len(evaluation.classes) else evaluation.confusion[i, j]
    of_class = evaluation.support[i]
    if not count:
        return Markup("<td>")
    return html(
        '<td class={} style="--s:{:.2f}"><a href="#c{}-{}" title="{:,} of {:,} {}">{}</a>',
        *("right" if i == j else "wrong", 0.14 + 0.5 * (count / of_class) ** 0.7, i, j),
        *(count, of_class, _heading(trial, (i, j)), "" if compact else f"{count:,}"),
    )


def _heading(trial: Trial, cell: Cell) -> Markup:
    names = [*map(text, trial.evaluation.classes), Markup("none of the classes")]
    template = "{}, recognised" if cell[0] == cell[1] else "{}, predicted as {}"
    return html(template, *(names[k] for k in cell))


def _pictures(
    trial: Trial, members: dict[Cell, list[int]], thumbnails: Thumbnails
) -> dict[int, str]:
    """Return pictures of images, assigned in turn so that all cells get some."""
    by_size = sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))
    wanted = [found[: MOST_RIGHT if i == j else MOST_WRONG] for (i, j), found in by_size]
    urls = {}
    for turn in zip_longest(*wanted):
        for k in turn:
            url = None if k is None else thumbnails.of_file(trial.paths[k])
            if url is not None:
                urls[k] = url
    return urls


def _panel(trial: Trial, cell: Cell, members: list[int], urls: dict[int, str]) -> Markup:
    seen = [k for k in members if k in urls]
    others = _others([trial.paths[k] for k in members if k not in urls], bool(seen))
    pictures = joined(
        figure(picture(urls[k], trial.paths[k], later=True), _sure(trial, k)) for k in seen
    )
    return html(
        "<div class=panel id=c{}-{}><h3>{} <small>{:,}</small>"
        '<a class=close href="#confusion" title="close">×</a></h3>'
        "<div class=gallery>{}</div>{}</div>",
        *(*cell, _heading(trial, cell), len(members), pictures, others),
    )


def _sure(trial: Trial, k: int) -> str:
    if trial.probabilities is None:
        return f"score {trial.confidence[k]:+.2f}"
    return f"{percent(trial.confidence[k])} confidence"


def _others(paths: list[str], some_shown: bool) -> Markup:
    if not paths:
        return Markup()
    listed = joined(html("<li>{}", text(path)) for path in paths[:MOST_NAMES])
    if len(paths) > MOST_NAMES:
        listed += html("<li class=soft>and {:,} more", len(paths) - MOST_NAMES)
    summary = "<details><summary>{:,} {}by name</summary><ul class=names>{}</ul></details>"
    return html(summary, len(paths), "more " if some_shown else "", listed)
