"""The accuracy in the head of the report, and precision and recall of every class."""

from visualwords.apps.evaluation.figures import Evaluation
from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.report.markup import bar, percent, section, table_of_classes, text


def headline(model: ImageClassifier, trial: Trial, title: str) -> str:
    """Return the head of the page: accuracy, its confidence interval, and warnings."""
    evaluation = trial.evaluation
    low, high = evaluation.interval
    facts = [
        (f"{evaluation.n_right:,} of {evaluation.n_images:,}", "images right"),
        (percent(evaluation.mean_per_class), "mean per class"),
        (f"{len(trial.classes)}", "classes"),
        (f"{int(model.class_counts_.sum()):,}", "training images"),
        (text(model.recipe_.name), "recipe"),
    ]
    items = "".join(f"<div><dt>{name}<dd>{value}</div>" for value, name in facts)
    span = f"left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%"
    return (
        f"<header><p class=name>{text(title)}</p>"
        f"<h1><b>{percent(evaluation.accuracy)}</b> right</h1>"
        f'<div class=interval><i style="{span}"></i>'
        f'<b style="left:{100 * evaluation.accuracy:.2f}%"></b></div>'
        f"<p class=lead>95 % confidence interval {percent(low)} to {percent(high)}"
        f"{_groups(trial)}{_folds(trial)}</p>"
        f"<dl class=facts>{items}</dl>{_warnings(trial)}</header>"
    )


def _groups(trial: Trial) -> str:
    n = trial.evaluation.n_groups
    return f" (bootstrap over {n:,} groups)" if n else ""


def _folds(trial: Trial) -> str:
    if not trial.n_folds:
        return ""
    return f"; {trial.n_folds}-fold cross-validation"


def _warnings(trial: Trial) -> str:
    sentences = []
    if trial.n_known:
        sentences.append(
            f"{trial.n_known:,} of these images were in the training set too: "
            "the results are optimistic."
        )
    unknown = sorted(set(trial.truth) - set(trial.classes))
    if unknown:
        names = ", ".join(map(text, unknown[:10])) + ("…" if len(unknown) > 10 else "")
        sentences.append(f"The model has no class {names}; their images count as errors.")
    if trial.evaluation.n_rejected:
        sentences.append(
            f"{trial.evaluation.n_rejected:,} images were labelled as none of the classes; they "
            "count as errors."
        )
    if trial.skipped:
        sentences.append(f"{len(trial.skipped):,} images were unreadable and are not counted.")
    return "".join(f"<p class=warning>{sentence}</p>" for sentence in sentences)


def classes(evaluation: Evaluation) -> str:
    """Return the table of recall and precision of every class."""
    rows = [_row(evaluation, i) for i in range(len(evaluation.classes))]
    lead = (
        "Recall: the share of a class's images that were recognised. Precision: the share of the "
        "images predicted as a class that belong to it."
    )
    head = ["class", ">images", ">recall", "", ">precision", "", "most often confused with"]
    recall = [r if n else 2.0 for r, n in zip(evaluation.recall, evaluation.support)]
    return section("classes", "Classes", lead, table_of_classes(head, rows, recall))


def _row(evaluation: Evaluation, i: int) -> str:
    name = f"<tr><th scope=row>{text(evaluation.classes[i])}<td class=n>{evaluation.support[i]:,}"
    given = evaluation.confusion[:, i].sum()
    if not evaluation.support[i]:
        return f"{name}<td colspan=5 class=soft>not tested"
    recall, precision = evaluation.recall[i], evaluation.precision[i]
    purity = (
        f"<td class=n>{percent(precision)}<td>{bar(precision, 'second')}"
        if given
        else "<td class='n soft'>never predicted<td>"
    )
    return (
        f"{name}<td class=n>{percent(recall)}<td>{bar(recall)}{purity}"
        f"<td>{_most_confused(evaluation, i)}"
    )


def _most_confused(evaluation: Evaluation, i: int) -> str:
    j = evaluation.most_confused(i)
    if j is None:
        return ""
    return f'<a href="#c{i}-{j}">{text(evaluation.classes[j])}</a> {evaluation.confusion[i, j]}×'
