"""Accuracy of linear, RBF, GMM, NGMM and GInt kernel SVMs over C.

The curves behind gint-table1, on all data sets of the paper that are at hand, Isolet2k among them:
test accuracy at every C, of RBF at the γ that is best on the test rows, as in the paper. The paper
prints curves without figures, so the rows say what its text claims: GInt is above linear, and NGMM
is above GInt, at their best C. Where such a difference is smaller than the paper's, both figures
stand beside it: a better linear classifier makes the gain of a kernel smaller.
"""

from dataclasses import replace
from typing import Any

from benchmarks.papers.gint_table1 import (
    COSTS,
    KERNELS,
    PAPER,
    TITLES,
    curves,
    mean_curve,
)
from benchmarks.papers.lab import Lab
from benchmarks.papers.results import Results, Row, Table

Curves = dict[str, dict[str, list[float]]]  # data set → kernel → accuracy at every C


def run(lab: Lab) -> Results:
    """Test accuracies of every kernel at every C."""
    names = list(PAPER)[:2] if lab.quick else list(PAPER)
    found: Curves = {
        name: {kernel: [t for _, t in mean_curve(curves(lab, name, kernel))] for kernel in KERNELS}
        for name in lab.steps("data sets", names)
    }
    return Results(
        f"{len(names)} data sets as in gint-table1.",
        [row for name in names for row in gains(name, found[name])],
        notes=["The paper's figures are differences of its Table 1."],
        tables=[values(found)],
        draw=lambda figure: draw(figure, found),
    )


def gains(name: str, own: dict[str, list[float]]) -> list[Row]:
    """How far GInt is above linear, and NGMM above GInt, at their best C."""
    best = {kernel: max(points) for kernel, points in own.items()}
    paper = dict(zip(KERNELS, PAPER[name]))
    title = dict(zip(KERNELS, TITLES))
    rows = []
    for high, low in (("gint", "linear"), ("ngmm", "gint")):
        what = f"{name}, {title[high]} − {title[low]}"
        row = Row(what, best[high] - best[low], paper[high] - paper[low], unit="points")
        parts = [f"{title[k]} {best[k]:.2f} % (paper {paper[k]:g} %)" for k in (high, low)]
        rows.append(replace(row, why=", ".join(parts)) if row.verdict == "worse" else row)
    return rows


def values(found: Curves) -> Table:
    """All points of the curves."""
    cells = [
        [f"{name}, {title}", *own[kernel]]
        for name, own in found.items()
        for kernel, title in zip(KERNELS, TITLES)
    ]
    return Table("All values", ("test accuracy, % at C =", *(f"{C:g}" for C in COSTS)), cells)


def draw(figure: Any, found: Curves) -> None:
    """One panel a data set."""
    n_rows = (len(found) + 2) // 3
    figure.set_size_inches(9, 2.6 * n_rows)
    panels = figure.subplots(n_rows, 3, squeeze=False).ravel()
    for panel, (name, own) in zip(panels, found.items()):
        for kernel, title in zip(KERNELS, TITLES):
            panel.semilogx(COSTS, own[kernel], "o-", markersize=3, label=title)
        panel.set_title(name, fontsize=9)
    for panel in panels[len(found) :]:
        panel.set_visible(False)
    panels[0].legend(fontsize=7)
    panels[0].set(xlabel="C", ylabel="test accuracy, %")
