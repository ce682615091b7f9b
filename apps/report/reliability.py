"""Calibration: predicted probabilities against observed accuracy."""

from dataclasses import dataclass

import numpy as np

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.report.markup import percent, section

N_BINS = 10
WIDTH, HEIGHT, LEFT, TOP = 320, 320, 46, 12  # of the plot, and of the room for its labels


@dataclass(frozen=True)
class Calibration:
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


def calibration(trial: Trial) -> str:
    """Return the calibration curve."""
    if trial.probabilities is None:
        lead = "The model has no probabilities: its training images were too few."
        return section("calibration", "Calibration", lead, "")
    right = np.array(trial.truth) == np.array(trial.guesses)
    curve = calibrate(trial.confidence, right)
    mean = float(trial.confidence.mean())
    lead = (
        "Accuracy of predictions against their confidence; on the line, both agree. The mean "
        f"confidence is {percent(mean)}, the accuracy {percent(float(right.mean()))}, and the "
        f"expected calibration error {percent(curve.error)}. The area of a circle shows the number "
        "of predictions."
    )
    return section("calibration", "Calibration", lead, _plot(curve))


def _plot(curve: Calibration) -> str:
    """Return the curve as SVG; every circle has its numbers as title."""
    lines = "".join(
        f'<path class=grid d="M{_x(t):.0f} {_y(0):.0f}V{_y(1):.0f}M{_x(0):.0f} {_y(t):.0f}'
        f'H{_x(1):.0f}"/><text x="{_x(t):.0f}" y="{_y(0) + 18:.0f}" text-anchor=middle>'
        f'{t:.0%}</text><text x="{_x(0) - 7:.0f}" y="{_y(t) + 4:.0f}" text-anchor=end>{t:.0%}'
        "</text>"
        for t in (0, 0.25, 0.5, 0.75, 1)
    )
    used = np.flatnonzero(curve.counts)
    points = [(_x(curve.stated[i]), _y(curve.observed[i])) for i in used]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    most = curve.counts.max()
    circles = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3 + 9 * (curve.counts[i] / most) ** 0.5:.1f}">'
        f"<title>{curve.counts[i]:,} predictions, {curve.stated[i]:.0%} confidence, "
        f"{curve.observed[i]:.0%} right</title></circle>"
        for i, (x, y) in zip(used, points)
    )
    return (
        f'<svg class=plot viewBox="0 0 {LEFT + WIDTH + 24} {TOP + HEIGHT + 44}" role=img '
        f'aria-label="calibration curve">{lines}'
        f'<path class=ideal d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}"/>'
        f'<path class=curve d="{path}"/>{circles}'
        f'<text x="{_x(0.5)}" y="{_y(0) + 38}" text-anchor=middle class=axis>confidence</text>'
        f'<text transform="rotate(-90)" x="{-_y(0.5)}" y="11" text-anchor=middle class=axis>'
        "accuracy</text></svg>"
    )


def _x(share: float) -> float:
    return LEFT + WIDTH * share


def _y(share: float) -> float:
    return TOP + HEIGHT * (1 - share)
