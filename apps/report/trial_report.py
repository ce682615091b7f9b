"""The report of an image classifier's trial: its sections in their order, accuracy first.

A cell of the confusion matrix opens the images in it: it is a link to a panel below the matrix,
which style sheets show while it is the target. No script is needed, and where style sheets are not
read the panels simply follow each other.
"""

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np
from markupsafe import Markup

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.model_io import library_versions
from visualwords.apps.report.examples import mistakes, words
from visualwords.apps.report.markup import (
    MOST_CLASSES,
    Thumbnails,
    bar,
    document,
    figure,
    html,
    joined,
    lines,
    percent,
    picture,
    section,
    table,
    text,
)
from visualwords.apps.report.notebook import classes_of
from visualwords.apps.report.trial_curves import calibration, operating_points
from visualwords.files import write_atomically
from visualwords.progress import Progress, Silent

NAMES = ("Classes", "Confusion", "Mistakes", "Discriminative words", "Operating points")
PARTS = dict(zip(("classes", "confusion", "mistakes", "words", "points"), NAMES))
PARTS |= {"calibration": "Calibration", "repeat": "Repeat"}
CLASSES = (
    "Recall: the share of a class's images that were recognised. Precision: the share of the "
    "images predicted as a class that belong to it."
)
MOST_WRONG, MOST_RIGHT = 12, 6  # pictures of a cell
MOST_NAMES = 60  # of files that are listed for a cell
COMPACT = 24  # classes from which cells show shades only

Cell = tuple[int, int]


def write_report(
    path: str | os.PathLike[str],
    model: ImageClassifier,
    trial: Trial,
    *,
    title: str = "visualwords",
    command: str | None = None,
    seconds: dict[str, float] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the report of a trial.

    Parameters
    ----------
    path : path-like
    model : ImageClassifier
        Its explanations of the mistakes are drawn.
    trial : Trial
    title : str
        Name of the test data, such as a folder.
    command : str, optional
        The command that reproduces the report.
    seconds : dict of stage → seconds, optional
        Time of each stage (`visualwords.progress.StageTimes`).
    progress : Progress, optional
    """
    progress, thumbnails = progress or Silent(), Thumbnails()
    # Mistakes and words take their few pictures first; the cells of the matrix share what is left.
    wrong = mistakes(model, trial, thumbnails, progress)
    discriminative = words(model, trial, thumbnails, progress)
    progress.start("drawing the report", 1)
    body = _headline(model, trial, title)
    body += section("classes", "Classes", CLASSES, classes_of(trial.evaluation))
    body += confusion(trial, thumbnails) + wrong + discriminative
    body += operating_points(trial) + calibration(trial)
    body += _timing(seconds or {}) + _repeating(model, command)
    progress.advance()
    heading = html("{} right: {}", percent(trial.evaluation.accuracy), text(title))
    page = document(heading, body, sections=PARTS)
    write_atomically(path, page.encode("utf-8"))


def _headline(model: ImageClassifier, trial: Trial, title: str) -> Markup:
    """The head of the page: accuracy, its confidence interval, and warnings."""
    evaluation = trial.evaluation
    low, high = evaluation.interval
    facts = {
        "images right": f"{evaluation.n_right:,} of {evaluation.n_images:,}",
        "mean per class": percent(evaluation.mean_per_class),
        "classes": len(trial.classes),
        "training images": f"{int(model.class_counts_.sum()):,}",
        "recipe": text(model.recipe_.name),
    }
    groups, folds = evaluation.n_groups, trial.n_folds
    more = f" (bootstrap over {groups:,} groups)" if groups else ""
    more += f"; {folds}-fold cross-validation" if folds else ""
    warnings = joined(html("<p class=warning>{}</p>", sentence) for sentence in _warnings(trial))
    return html(
        "<header><p class=name>{}</p><h1><b>{}</b> right</h1><div class=interval>"
        '<i style="left:{:.2%};width:{:.2%}"></i><b style="left:{:.2%}"></b></div>'
        "<p class=lead>95 % confidence interval {} to {}{}</p><dl class=facts>{}</dl>{}</header>",
        *(text(title), percent(evaluation.accuracy), low, high - low, evaluation.accuracy),
        *(percent(low), percent(high), more, _facts(facts), warnings),
    )


def _facts(facts: Mapping[str, object]) -> Markup:
    return joined(html("<div><dt>{}<dd>{}</div>", *fact) for fact in facts.items())


def _warnings(trial: Trial) -> list[str]:
    evaluation, sentences = trial.evaluation, []
    if trial.n_known:
        sentence = "{:,} of these images were in the training set too: the results are optimistic."
        sentences.append(sentence.format(trial.n_known))
    unknown = sorted(set(trial.truth) - set(trial.classes))
    if unknown:
        names = Markup(", ").join(map(text, unknown[:10])) + ("…" if len(unknown) > 10 else "")
        sentences.append(html("The model has no class {}; their images count as errors.", names))
    if evaluation.n_rejected:
        sentence = "{:,} images were labelled as none of the classes; they count as errors."
        sentences.append(sentence.format(evaluation.n_rejected))
    if trial.skipped:
        sentences.append(f"{len(trial.skipped):,} images were unreadable and are not counted.")
    return sentences


def confusion(trial: Trial, thumbnails: Thumbnails) -> Markup:
    """The matrix and the panels of its cells."""
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
    """The positions of the classes in the matrix: of many, those with the most mistakes."""
    counts = trial.evaluation.confusion
    if len(counts) <= MOST_CLASSES:
        return list(range(len(counts)))
    wrong = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    return sorted(np.argsort(-wrong, kind="stable")[:MOST_CLASSES].tolist())


def images_of_cells(trial: Trial) -> dict[Cell, list[int]]:
    """The images of each cell: mistakes by falling confidence, others by rising one.

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
    """Pictures of images, assigned in turn so that all cells get some."""
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


def _timing(seconds: dict[str, float]) -> Markup:
    """The time of every stage."""
    if not seconds:
        return Markup()
    longest = max(seconds.values()) or 1.0
    rows = [[text(stage), f"{s:.1f} s", bar(s / longest)] for stage, s in seconds.items()]
    total = f"{sum(seconds.values()):.1f} seconds of wall time in all."
    return section("time", "Time", total, table(["stage", ">time", ""], rows))


def _repeating(model: ImageClassifier, command: str | None) -> Markup:
    """The section that says how to reproduce the results."""
    recipe, seconds = model.recipe_, model.tried_seconds_
    lead = html(
        "Recipe <b>{}</b>: {}. Trained on {:,} images, seed {}. The same images, command and "
        "versions give the same results.",
        *(text(recipe.name), text(recipe.summary), model.class_counts_.sum(), model.random_state),
    )
    tried = []
    for name, accuracy in model.tried_.items():
        shown = html("<b>{}</b>", text(name)) if name == recipe.name else text(name)
        time = f"{seconds[name]:.1f} s" if name in seconds else ""  # not of a model from a file
        tried.append([shown, percent(accuracy), bar(accuracy), time])
    body = lines(command) if command else Markup()
    if tried:
        body += html(
            "<p>Chosen by cross-validation on the training images, without the test images of this "
            "report:</p>{}",
            table(["recipe tried", ">mean per class", "", ">time"], tried),
        )
    body += lines(recipe.to_toml())
    body += html("<dl class='facts small'>{}</dl>", _facts(library_versions()))
    return section("repeat", "How to reproduce it", lead, body)
