"""The report of an image classifier's trial: its sections in their order, accuracy first."""

import os
from collections.abc import Mapping

from markupsafe import Markup

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.model_io import library_versions
from visualwords.apps.report.confusion import confusion
from visualwords.apps.report.examples import mistakes, words
from visualwords.apps.report.markup import (
    Thumbnails,
    bar,
    document,
    html,
    joined,
    lines,
    percent,
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
    """Return the head of the page: accuracy, its confidence interval, and warnings."""
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


def _timing(seconds: dict[str, float]) -> Markup:
    """Return the time of every stage."""
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
