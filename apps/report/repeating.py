"""Training time, and how to reproduce the results."""

from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.pipeline.saving import library_versions
from visualwords.apps.report.markup import bar, percent, section, table, text


def timing(seconds: dict[str, float]) -> str:
    """Return the time of every stage."""
    if not seconds:
        return ""
    longest = max(seconds.values()) or 1.0
    rows = [
        f"<tr><th scope=row>{text(stage)}<td class=n>{spent:.1f} s<td>{bar(spent / longest)}"
        for stage, spent in seconds.items()
    ]
    total = f"{sum(seconds.values()):.1f} seconds of wall time in all."
    return section("time", "Time", total, table(["stage", ">time", ""], rows, "classes"))


def repeating(model: ImageClassifier, command: str | None) -> str:
    """Return what is needed to reproduce the results."""
    done = f"<pre>{text(command)}</pre>" if command else ""
    lead = (
        f"Recipe <b>{text(model.recipe_.name)}</b>: {text(model.recipe_.summary)}. "
        f"Trained on {int(model.class_counts_.sum()):,} images, seed {model.random_state}. "
        "The same images, command and versions give the same results."
    )
    versions = "".join(
        f"<div><dt>{text(name)}<dd>{text(version)}</div>"
        for name, version in library_versions().items()
    )
    recipe = f"<pre>{_lines(model.recipe_.to_toml())}</pre>"
    body = f"{done}{_tried(model)}{recipe}<dl class='facts small'>{versions}</dl>"
    return section("repeat", "How to reproduce it", lead, body)


def _lines(lines: str) -> str:
    return "\n".join(text(line) for line in lines.splitlines())


def _tried(model: ImageClassifier) -> str:
    if not model.tried_:
        return ""
    rows = [
        f"<tr{' class=chosen' * (name == model.recipe_.name)}><th scope=row>{text(name)}"
        f"<td class=n>{percent(accuracy)}<td>{bar(accuracy)}<td class=n>{_time(model, name)}"
        for name, accuracy in model.tried_.items()
    ]
    head = ["recipe tried", ">mean per class", "", ">time"]
    return (
        "<p>Chosen by cross-validation on the training images, without the test images of this "
        f"report:</p>{table(head, rows, 'classes')}"
    )


def _time(model: ImageClassifier, recipe: str) -> str:
    """Return the time of a recipe's trial; empty for a model from a file."""
    spent = model.tried_seconds_.get(recipe)
    return "" if spent is None else f"{spent:.1f} s"
