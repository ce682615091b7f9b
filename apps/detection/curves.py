"""Curves of a detector's figures as pictures."""

import io
from typing import Any

import numpy as np

from visualwords.apps.detection.detector_figures import DetectionFigures
from visualwords.errors import VisualWordsError

__all__ = ["draw_curves"]

INK, LINE = "#2166ac", "#9aa5b1"
TICKS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1]


def draw_curves(figures: DetectionFigures) -> bytes:
    """Return a PNG of precision over recall, and of miss rate over false positives per image."""
    figure = _figure()
    left, right = figure.subplots(1, 2)
    left.plot(figures.recall, figures.precision, color=INK)
    left.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="recall", ylabel="precision")
    left.set_title(f"average precision {figures.average_precision:.3f}")
    false = np.maximum(figures.false_per_image, 1e-3)
    right.loglog(false, np.maximum(figures.miss_rate, 1e-3), color=INK)
    right.set(xlim=(3e-3, 10), ylim=(0.05, 1.05))
    right.set(xlabel="false positives per image", ylabel="miss rate")
    right.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    right.yaxis.set_minor_formatter("")
    right.axvspan(1e-2, 1, color=LINE, alpha=0.15, lw=0)
    right.set_title(f"log-average miss rate {figures.log_average_miss_rate:.3f}")
    for axis in (left, right):
        axis.grid(color=LINE, alpha=0.4, which="major")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise VisualWordsError(
            "matplotlib draws the curves and is not installed; pip install matplotlib"
        ) from None
    return Figure(figsize=(10, 4.2), layout="constrained")
