"""[Wu10], Sec. 4.1: ICD against stochastic solvers of the HIK SVM, and what a wrong C costs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.papers import _loops as loops
from benchmarks.papers.datasets import Split, pictures, table
from benchmarks.papers.icd_pedestrians import Windows, bootstrapped_windows, folds
from benchmarks.papers.lab import ICD, Lab, experiment
from benchmarks.papers.peers import (
    best_on_third,
    liblinear,
    mean_per_class,
    scaled_liblinear,
    share_right,
    trial,
)
from benchmarks.papers.results import Panel, Results, Row, Table
from benchmarks.papers.visual_words import WORDS, word_histograms
from visualwords.classifiers import ICDClassifier, Quantizer

INDOOR = ("bedroom", "kitchen", "livingroom", "office", "store", "class0")  # class0: generated
PEGASOS = [("pegasos", lam, 100, 10) for lam in (1.0, 10.0, 100.0)]
NORMA = [("norma", lam, 50, 20, 0, eta) for lam in (0.1, 10.0) for eta in (1.0, 10.0, 100.0)]
RUNS = 5
OTHER_FEATURES = "(a) the paper's features are those of PWLSGD's software"
OTHER_IMAGES = "(b) scenes of scene15 in place of PASCAL images"
COSTS = 10.0 ** np.arange(-7, 4)
NEAR = COSTS[1:8]  # on Caltech-101: the default and three decades around it, two in the paper
STABLE = 1e-4  # from here on ICD "has stable accuracies"  [Wu10], Sec. 4.1


@dataclass
class StochasticHIK:
    """One-vs-rest HIK SVM by stochastic gradient descent in its plainest form.

    One random sample at a time: shrink w and, where the margin is violated, step towards the sample
    in the unary space of [Wu10], Eq. (4), on the table of Eq. (9).

    Parameters
    ----------
    scheme : {"pegasos", "norma"}
        PWLSGD (Maji and Berg, 2009) is Pegasos: step 1/(λt), shrinking by 1 − 1/t. SIKMA (Wang,
        Hoiem, Forsyth, 2009) is NORMA: step η/√t, shrinking by 1 − λη/√t; here η is ``rate`` over
        the mean of κ(x, x).
    regularization : float
        λ.
    n_bins : int
        v̄ of the quantisation, [Wu10], Eq. (13).
    n_epochs : int
        Passes over the samples.
    seed : int
    rate : float
        Of "norma".
    """

    scheme: str
    regularization: float
    n_bins: int = 100
    n_epochs: int = 5
    seed: int = 0
    rate: float = 1.0

    def fit(self, X: Any, y: np.ndarray) -> "StochasticHIK":
        """Learn one table a class, or one for two classes."""
        self.quantizer_ = Quantizer(n_bins=self.n_bins).fit(X)
        levels = np.ascontiguousarray(self.quantizer_.transform(X), np.uint8)
        self.classes_ = np.unique(y)
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        rng = np.random.default_rng(self.seed)
        self.tables_ = np.stack([self._table(levels, y == name, rng) for name in positives])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Class numbers."""
        levels = self.quantizer_.transform(X).astype(np.intp)
        columns = np.arange(levels.shape[1])
        scores = np.stack([table[columns, levels].sum(axis=1) for table in self.tables_], axis=1)
        if len(self.classes_) == 2:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    def _table(self, levels: np.ndarray, positive: np.ndarray, rng: np.random.Generator) -> Any:
        signs = np.where(positive, np.float32(1), np.float32(-1))
        order = np.concatenate([rng.permutation(len(signs)) for _ in range(self.n_epochs)])
        time = np.arange(2, len(order) + 2)  # from 2: Pegasos' first step would shrink w to nothing
        if self.scheme == "pegasos":
            steps, shrinks = 1 / (self.regularization * time), 1 - 1 / time
        else:
            steps = self.rate / levels.sum(axis=1).mean() / np.sqrt(time)
            shrinks = 1 - np.minimum(self.regularization * steps, 0.5)
        table = np.zeros((levels.shape[1], self.n_bins + 1), np.float32)
        loops.descend(levels, signs, order, steps, shrinks, table)
        return table


@experiment("icd-table1", ICD, "Table 1", data=("caltech101", "scene15"), minutes=2)
def table1(lab: Lab) -> Results:
    """ICD against stochastic solvers of the same problem, and against LIBLINEAR.

    (a) Caltech-101, 15 training images a class; (b) two classes: indoor against outdoor scenes of
    scene15, v̄ = 50, in place of the PASCAL images. PWLSGD and SIKMA are implemented plainly on the
    same levels and tables (10 and 20 passes), with λ and SIKMA's first step chosen on a third of
    the training images; ICD and LIBLINEAR have their defaults. SIKMA runs five times.

    Without any choice ICD is more accurate than PWLSGD and as accurate as SIKMA within the noise,
    in less time, as in the paper (56.5 s against 188.2 s, and 9.2 s against 13.2 s). LIBLINEAR is
    faster than ICD in the paper (43.3 s and 1.9 s); here only in (b).

    **Not repeated.** The PASCAL images of SIKMA's software, and the features of PWLSGD's.
    """
    objects = word_histograms(lab, "caltech101")
    scenes = two_classes(lab, word_histograms(lab, "scene15"))
    pegasos = best_on_third(StochasticHIK, PEGASOS, objects.X, objects.y, share_right)
    norma = best_on_third(StochasticHIK, NORMA, scenes.X, scenes.y, share_right)

    def row(what: str, model: Any, paper: float) -> Row:
        if what.startswith("(a)"):
            options = {"score": mean_per_class, "unlike": OTHER_FEATURES}
            return trial(what, model, objects, paper, **options)
        return trial(what, model, scenes, paper, unlike=OTHER_IMAGES)

    runs = [
        row("", replace(StochasticHIK(*norma), seed=seed), 0.0)
        for seed in lab.steps("SIKMA", range(2 if lab.quick else RUNS))
    ]
    sikma = Row.mean(
        *("(b) SIKMA, v̄ = 50", [one.ours for one in runs], 96.97),
        seconds=float(np.mean([one.seconds for one in runs])),
        unlike=OTHER_IMAGES,
    )
    return Results(
        f"(a) {len(objects.y)} training and {len(objects.y_test)} test images, mean accuracy per "
        f"class; (b) {len(scenes.y)} and {len(scenes.y_test)} images, accuracy. "
        f"200 words: {WORDS}.",
        [
            row("(a) ICD", ICDClassifier(), 51.62),
            row("(a) PWLSGD", StochasticHIK(*pegasos), 49.90),
            row("(a) LIBLINEAR", scaled_liblinear(), 48.05),
            row("(b) ICD, v̄ = 50", ICDClassifier(n_bins=50), 97.21),
            sikma,
            row("(b) LIBLINEAR", scaled_liblinear(), 96.00),
        ],
        [
            f"(a) λ = {pegasos[1]:g} was chosen for PWLSGD.",
            f"(b) λ = {norma[1]:g} and {norma[-1]:g} times the first step were chosen for SIKMA.",
            "Seconds are those of training at the parameters chosen, the faster of two runs.",
        ],
    )


def two_classes(lab: Lab, scenes: Split) -> Split:
    """Indoor scenes are class 1."""
    names = np.unique(pictures(lab, "scene15")[0].labels)
    inside = np.array([name.lower() in INDOOR for name in names])
    y, y_test = inside[scenes.y].astype(int), inside[scenes.y_test].astype(int)
    return Split(scenes.X, y, scenes.X_test, y_test)


@experiment(
    "icd-fig1", ICD, "Figure 1", data=("caltech101", "scene15", "pedestrian", "tabular"), minutes=4
)
def figure1(lab: Lab) -> Results:
    """What a wrong C costs: accuracy of HIK and linear SVMs over ten orders of magnitude of C.

    (a) Caltech-101 over C = 10⁻⁶ … 1 (the paper: 10⁻⁵ … 0.1), and scene15 over 10⁻⁷ … 10³: ICD,
    LIBLINEAR and PWLSGD (5 passes, where icd-table1 has 10), whose λ is drawn at C = 1/(λn). (b)
    the bootstrapped pedestrian windows of icd-table2, one of five folds to test on. (c) satimage,
    which is not a histogram and not in the paper's figure: 36 features, 4,435 training rows. Every
    value is tried on the test images and none is chosen. Accuracy is plain, not per class as in
    icd-table1. The paper prints curves, so the rows say what its text claims: from C = 10⁻⁴ on,
    ICD's accuracy hardly moves, while a linear SVM and PWLSGD depend on their parameter. That holds
    on both kinds of histograms and not on satimage, where too large a C costs several points.
    """
    sets = {
        "caltech101": word_histograms(lab, "caltech101"),
        "scene15": word_histograms(lab, "scene15"),
        "pedestrian": one_fold(lab.once("windows", partial(bootstrapped_windows, lab))),
        "satimage": table(lab, "satimage"),
    }
    rows, cells, panels = [], [], []
    for name, split in sets.items():
        lines = {}
        for method, values in over_costs(lab, name, split).items():
            what, lines[method] = f"{name}, {method}", (list(values), list(values.values()))
            stable = [value for C, value in values.items() if C >= STABLE]
            best, lost = max(values.values()), max(stable) - min(stable)
            cells.append([what, *(values.get(C, "") for C in COSTS)])
            rows.append(Row(f"{what}: best accuracy over C", best, n=len(split.y_test)))
            rows.append(Row(f"{what}: lost at the worst C ≥ 10⁻⁴", lost, unit="points"))
        panels.append(Panel(name, "C", "%", lines, "x"))
    header = ("test accuracy, % at C =", *(f"{C:.0e}" for C in COSTS))
    return Results(
        f"caltech101 and scene15 with 200 words ({WORDS}); pedestrian windows as in icd-table2.",
        rows,
        tables=[Table("All values", header, cells)],
        panels=panels,
    )


def one_fold(windows: Windows) -> Split:
    """Half of the windows' photographs: four fifths of them to train, the others to test."""
    keep = np.isin(windows.groups, np.unique(windows.groups)[::2])
    half = Windows(*(part[keep] for part in windows))
    train, test = next(folds(half, 5 if len(half.y) > 100 else 2))
    X = half.X.astype(np.float64)
    return Split(X[train], half.y[train], X[test], half.y[test])


def over_costs(lab: Lab, name: str, split: Split) -> dict[str, dict[float, float]]:
    """Test accuracy in percent of every method at every C."""
    makers: dict[str, Callable[[float], Any]] = {
        "ICD": lambda C: ICDClassifier(C=C),
        "LIBLINEAR": scaled_liblinear,
    }
    if name == "pedestrian":  # counts
        makers["ICD"] = lambda C: ICDClassifier(C=C, quantization="integer")
        makers["LIBLINEAR"] = lambda C: liblinear(C, max_iter=300)
    elif name != "satimage":
        makers["PWLSGD"] = lambda C: StochasticHIK("pegasos", 1 / (C * len(split.y)))
    costs = (NEAR if name == "caltech101" else COSTS)[:: 5 if lab.quick else 1]
    curves: dict[str, dict[float, float]] = {method: {} for method in makers}
    for method, C in lab.steps(name, [(method, C) for method in makers for C in costs]):
        answers = makers[method](C).fit(split.X, split.y).predict(split.X_test)
        curves[method][C] = 100 * share_right(split.y_test, answers)
    return curves
