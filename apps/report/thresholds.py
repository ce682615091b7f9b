"""Operating points: what each class's threshold does, with ROC and precision-recall curves."""

import numpy as np

from visualwords.apps.evaluation.operating_points import (
    FALSE_ALARMS,
    ClassCurve,
    class_curves,
    expected_cost,
)
from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.report.markup import percent, section, table_of_classes, text
from visualwords.apps.report.plot import circle, diagonal, line, plot

MOST_DRAWN = 12  # classes whose curves are drawn, the hardest first
MOST_POINTS = 200  # of a drawn curve


def operating_points(trial: Trial) -> str:
    """Return the table of thresholds, and the curves of the classes."""
    curves = class_curves(trial)
    if not curves:
        lead = "There are no curves: the model has no probabilities, or one class was tested."
        return section("points", "Operating points", lead, "")
    lead = (
        "Each class against the others, by its probability. A threshold "
        "(<code>--threshold CLASS=P</code>) predicts the class from this probability on; those of "
        f"the table keep false alarms below {100 * FALSE_ALARMS:g} % of the other classes' images. "
        "They were chosen on these images: expect slightly more false alarms on others."
    )
    head = ["class", ">ROC area", ">average precision", ">threshold", ">found", ">false alarms"]
    rows = [_row(curve) for curve in curves]
    shown = table_of_classes(head, rows, [curve.area for curve in curves])
    hardest = sorted(curves, key=lambda curve: curve.area)[:MOST_DRAWN]
    drawn = "".join(_curves(curve) for curve in hardest)
    more = len(curves) - len(hardest)
    note = f"<p class=soft>{more} other classes have larger areas.</p>" if more else ""
    body = f"{_cost(trial)}{shown}<div class=words>{drawn}</div>{note}"
    return section("points", "Operating points", lead, body)


def _cost(trial: Trial) -> str:
    found = expected_cost(trial)
    if found is None:
        return ""
    mean, (low, high) = found
    return (
        f"<p>Mean cost of a label: <b>{mean:.3f}</b>, 95 % confidence interval {low:.3f} to "
        f"{high:.3f}.</p>"
    )


def _row(curve: ClassCurve) -> str:
    point = curve.point()
    start = (
        f"<tr><th scope=row>{text(curve.name)}<td class=n>{curve.area:.3f}"
        f"<td class=n>{curve.average_precision:.3f}"
    )
    if point is None:
        return f"{start}<td colspan=3 class=soft>no probability keeps false alarms that rare"
    return (
        f"{start}<td class=n>{point.threshold:g}<td class=n>{percent(point.found)}"
        f"<td class=n>{percent(point.false_alarms)}"
    )


def _curves(curve: ClassCurve) -> str:
    name, point = text(curve.name), curve.point()
    mark = ""
    if point is not None:
        title = f"threshold {point.threshold:g}: {point.found:.0%} found"
        mark = circle(point.false_alarms, point.found, 5, title)
    roc = plot(
        diagonal() + line(*_thinned(*curve.roc)) + mark,
        "false alarms",
        "found",
        f"ROC curve of {name}",
    )
    recall, precision = curve.precision_recall
    other = plot(
        line(*_thinned(recall, precision)), "recall", "precision", f"precision and recall of {name}"
    )
    return f"<article><h3>{name}</h3>{roc}{other}</article>"


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return no more points of a curve than can be seen, with both ends."""
    some = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int))
    return x[some], y[some]
