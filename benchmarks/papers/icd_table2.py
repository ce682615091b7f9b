"""Pedestrian windows after bootstrapping: the HIK SVM against the linear one.

CENTRIST of 108 × 36 windows, 6,144 counts up to 352, taken as they are; ICD with C = 10⁻³,
LIBLINEAR with C = 1 and at most 1,000 iterations; five folds. The paper's 30,711 windows come from
1,218 photographs; here there are 400 of them, scaled down, and at most 3,000 random and 3,000 hard
windows, found by a first HIK classifier.

HIK beats linear by a wide margin, in a third of the time and in few iterations, as in the paper.
Ours is a point lower because the mirror image of a window and other windows of its photograph stay
in its fold; in "mixed folds" they do not (the paper does not say), and ICD's accuracy is the
paper's. LIBLINEAR is more accurate here than in the paper: with a quarter of the windows it
converges before its 1,000th iteration.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.papers.lab import Lab, timed
from benchmarks.papers.pedestrian_windows import Windows, bootstrapped_windows
from benchmarks.papers.results import Results, Row
from visualwords.classifiers import ICDClassifier

PHOTOGRAPHS = "windows of a photograph stay in one fold; with mixed folds it is the paper's"
PAPER = {"ICD": (98.56, 21.4), "LIBLINEAR": (90.69, 1000.0)}  # accuracy, iterations


def run(lab: Lab) -> Results:
    """Accuracy, time and iterations of both in five folds."""
    windows = bootstrapped_windows(lab)
    rows = []
    n_folds = 2 if lab.quick else 5
    mixed = windows._replace(groups=np.arange(len(windows.y)))
    for title, method, data in (
        ("ICD", "ICD", windows),
        ("ICD, mixed folds", "ICD", mixed),
        ("LIBLINEAR", "LIBLINEAR", windows),
        ("LIBLINEAR, mixed folds", "LIBLINEAR", mixed),
    ):
        paper, paper_iterations = PAPER[method]
        found = [
            fit_and_test(method, data, *fold)
            for fold in lab.steps(title, list(folds(data, n_folds)))
        ]
        accuracy, seconds, iterations = (np.array(column) for column in zip(*found))
        spread, total = float(accuracy.std(ddof=1)), float(seconds.sum())
        row = Row(f"{title}, accuracy", float(accuracy.mean()), paper, spread, total)
        rows.append(replace(row, why=PHOTOGRAPHS if row.verdict == "worse" else ""))
        mean = float(iterations.mean())
        rows.append(Row(f"{title}, iterations", mean, paper_iterations, unit="", error=True))
    n_people = int((windows.y > 0).sum())
    return Results(
        f"{len(windows.y):,} windows, {n_people:,} of them pedestrians and their mirror images; "
        f"{np.count_nonzero(windows.X) / 1e6:.0f} million counts are not zero. Seed 0.",
        rows,
        notes=["Seconds: training of all folds."],
    )


def folds(windows: Windows, n: int) -> Any:
    """Folds that keep photographs together."""
    from sklearn.model_selection import StratifiedGroupKFold

    splitter = StratifiedGroupKFold(n, shuffle=True, random_state=0)
    return splitter.split(windows.X, windows.y, windows.groups)


def fit_and_test(
    method: str, windows: Windows, train: np.ndarray, test: np.ndarray
) -> tuple[float, float, float]:
    """Accuracy in percent, seconds and iterations."""
    from scipy import sparse
    from sklearn.svm import LinearSVC

    if method == "ICD":
        model: Any = ICDClassifier(quantization="integer")
        rows = windows.X
    else:
        model = LinearSVC(dual=True, tol=0.1, max_iter=1000, random_state=0)
        rows = sparse.csr_matrix(windows.X, dtype=np.float64)
    _, seconds = timed(model.fit, rows[train], windows.y[train])
    accuracy = 100 * model.score(rows[test], windows.y[test])
    return accuracy, seconds, float(np.max(model.n_iter_))
