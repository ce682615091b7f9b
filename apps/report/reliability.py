"""Calibration: predicted probabilities against observed accuracy."""

from dataclasses import dataclass

import numpy as np

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.report.markup import percent, section
from visualwords.apps.report.plot import circle, diagonal, line, plot

N_BINS = 10


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
    used = np.flatnonzero(curve.counts)
    most = curve.counts.max()
    circles = "".join(
        circle(
            curve.stated[i],
            curve.observed[i],
            3 + 9 * (curve.counts[i] / most) ** 0.5,
            f"{curve.counts[i]:,} predictions, {curve.stated[i]:.0%} confidence, "
            f"{curve.observed[i]:.0%} right",
        )
        for i in used
    )
    inner = diagonal() + line(curve.stated[used], curve.observed[used]) + circles
    return plot(inner, "confidence", "accuracy", "calibration curve")
