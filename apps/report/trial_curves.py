"""Sections of curves: operating points of every class, and calibration. Plots are SVG."""

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from visualwords.apps.evaluation.figures import FALSE_ALARMS, ClassCurve, OperatingPoint
from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.report.markup import html, joined, percent, section, table_of_classes, text

MOST_DRAWN = 12  # classes whose curves are drawn, the hardest first
MOST_POINTS = 200  # of a drawn curve
N_BINS = 10  # of confidence
SIDE, LEFT, TOP = 320, 46, 12  # of a plot, and of the room for its labels


def operating_points(trial: Trial) -> Markup:
    """The section on each class's threshold, with ROC and precision-recall curves."""
    curves, alarm = trial.curves, trial.alarm
    if not curves:
        lead = "There are no curves: the model has no probabilities, or one class was tested."
        return section("points", "Operating points", lead, "")
    lead = html(
        "Each class against the others, by its probability. A threshold "
        "(<code>--threshold CLASS=P</code>) predicts the class from this probability on; those of "
        "the table keep false alarms below {:g} % of the other classes' images. They were chosen "
        "on these images: expect slightly more false alarms on others.",
        100 * FALSE_ALARMS,
    )
    head = ["class", ">ROC area", ">average precision", ">threshold", ">found", ">false alarms"]
    rows = [_row(curve) for curve in curves]
    hardest = sorted(curves, key=lambda curve: curve.area)[:MOST_DRAWN]
    shown = table_of_classes(head, rows, [curve.area for curve in curves])
    shown += html("<div class=words>{}</div>", joined(map(_curves, hardest)))
    if more := len(curves) - len(hardest):
        shown += html("<p class=soft>{} other classes have larger areas.</p>", more)
    if alarm is not None:
        sentence = str(alarm)
        drawn = html("<div class=words>{}</div>", _curves(alarm.curve, alarm.point))
        shown = html("<p>{}.</p>{}", sentence[:1].upper() + sentence[1:], drawn) + shown
    if cost := trial.cost:
        sentence = (
            "<p>Mean cost of a label: <b>{:.3f}</b>, 95 % confidence interval {:.3f} to {:.3f}."
        )
        shown = html(sentence, cost[0], *cost[1]) + shown
    return section("points", "Operating points", lead, shown)


def _row(curve: ClassCurve) -> list[object]:
    point = curve.point()
    row: list[object] = [text(curve.name), f"{curve.area:.3f}", f"{curve.average_precision:.3f}"]
    if point is None:  # no probability keeps false alarms that rare
        return [*row, "none", "", ""]
    return [*row, f"{point.threshold:g}", percent(point.found), percent(point.false_alarms)]


def _curves(curve: ClassCurve, point: OperatingPoint | None = None) -> Markup:
    name, roc = text(curve.name), _diagonal() + _line(*curve.roc)
    point = point or curve.point()
    if point is not None:
        title = f"threshold {point.threshold:g}: {point.found:.0%} found"
        roc += _circle(point.false_alarms, point.found, 5, title)
    first = _plot(roc, "false alarms", "found", "ROC curve of " + name)
    inner = _line(*curve.precision_recall)
    second = _plot(inner, "recall", "precision", "precision and recall of " + name)
    return html("<article><h3>{}</h3>{}{}</article>", name, first, second)


class Calibration(NamedTuple):
    """Accuracy of predictions of about the same confidence.

    Attributes
    ----------
    counts : (N_BINS,) predictions in each tenth of confidence
    stated : (N_BINS,) their mean confidence
    observed : (N_BINS,) the share of them that was right
    error : mean distance of the two, weighted by the counts (expected calibration error)
    """

    counts: np.ndarray
    stated: np.ndarray
    observed: np.ndarray
    error: float


def calibrate(confidence: np.ndarray, right: np.ndarray) -> Calibration:
    """Compare confidence with accuracy.

    Examples
    --------
    >>> curve = calibrate(np.array([0.95, 0.95, 0.55]), np.array([True, False, True]))
    >>> curve.counts.tolist(), round(curve.error, 2)
    ([0, 0, 0, 0, 0, 1, 0, 0, 0, 2], 0.45)
    """
    bins = np.clip((confidence * N_BINS).astype(int), 0, N_BINS - 1)
    counts = np.bincount(bins, minlength=N_BINS)
    total = np.maximum(counts, 1)
    stated = np.bincount(bins, confidence, N_BINS) / total
    observed = np.bincount(bins, right, N_BINS) / total
    error = float((counts * np.abs(stated - observed)).sum() / max(counts.sum(), 1))
    return Calibration(counts, stated, observed, error)


def calibration(trial: Trial) -> Markup:
    """Predicted probabilities against observed accuracy."""
    if trial.probabilities is None:
        lead = "The model has no probabilities: its training images were too few."
        return section("calibration", "Calibration", lead, "")
    right = np.array(trial.truth) == np.array(trial.guesses)
    curve = calibrate(trial.confidence, right)
    lead = (
        "Accuracy of predictions against their confidence; on the line, both agree. The mean "
        f"confidence is {percent(float(trial.confidence.mean()))}, the accuracy "
        f"{percent(float(right.mean()))}, and the expected calibration error "
        f"{percent(curve.error)}. The area of a circle shows the number of predictions."
    )
    used = np.flatnonzero(curve.counts)
    inner = _diagonal() + _line(curve.stated[used], curve.observed[used])
    for n, stated, observed in zip(*(part[used] for part in curve[:3])):
        title = f"{n:,} predictions, {stated:.0%} confidence, {observed:.0%} right"
        inner += _circle(stated, observed, 3 + 9 * (n / curve.counts.max()) ** 0.5, title)
    plot = _plot(inner, "confidence", "accuracy", "calibration curve")
    return section("calibration", "Calibration", lead, plot)


def _plot(inner: Markup, across: str, up: str, name: str) -> Markup:
    """Shares against shares: axes from 0 to 100 %, and what is drawn over their grid."""
    ticks = [
        html(
            '<path class=grid d="M{0:.0f} {1:.0f}V{2}M{3} {4:.0f}H{5}"/>'
            '<text x="{0:.0f}" y="{6}" text-anchor=middle>{7:.0%}</text>'
            '<text x="{8}" y="{9:.0f}" text-anchor=end>{7:.0%}</text>',
            *(_x(t), _y(0), TOP, LEFT, _y(t), LEFT + SIDE, TOP + SIDE + 18, t, LEFT - 7, _y(t) + 4),
        )
        for t in (0, 0.25, 0.5, 0.75, 1)
    ]
    return html(
        '<svg class=plot viewBox="0 0 {} {}" role=img aria-label="{}">{}{}'
        '<text x="{}" y="{}" text-anchor=middle class=axis>{}</text>'
        '<text transform="rotate(-90)" x="{}" y="11" text-anchor=middle class=axis>{}</text></svg>',
        *(LEFT + SIDE + 24, TOP + SIDE + 44, name, joined(ticks), inner),
        *(_x(0.5), _y(0) + 38, across, -_y(0.5), up),
    )


def _diagonal() -> Markup:
    """The dashed line on which both shares are the same."""
    return html('<path class=ideal d="M{} {}L{} {}"/>', _x(0), _y(0), _x(1), _y(1))


def _line(x: np.ndarray, y: np.ndarray) -> Markup:
    """A curve with no more points than can be seen, and with both ends."""
    some = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int))
    points = "L".join(f"{_x(a):.1f} {_y(b):.1f}" for a, b in zip(x[some], y[some]))
    return html('<path class=curve d="M{}"/>', points)


def _circle(x: float, y: float, radius: float, title: str) -> Markup:
    circle = '<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}</title></circle>'
    return html(circle, _x(x), _y(y), radius, title)


def _x(share: float) -> float:
    return LEFT + SIDE * share


def _y(share: float) -> float:
    return TOP + SIDE * (1 - share)
