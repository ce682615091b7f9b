"""[Boughorbel06], Sec. 5: colour histograms with compactly supported and other kernels."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.papers.datasets import color_histograms
from benchmarks.papers.experiments import GCS, experiment
from benchmarks.papers.gcs_sparsity import A, sparse_radius
from benchmarks.papers.lab import Lab
from benchmarks.papers.results import Results, Row, Table
from visualwords.classifiers import KernelSVC, kernels

PAPER = {  # Table 2: test error, validation error
    "Laplace": (25.34, 25.32),
    "GCS": (25.07, 25.19),
    "polynomial": (27.92, 27.81),
    "CS": (25.30, 26.12),
}
CONFUSED = np.array(  # Table 3; the paper does not say whether rows or columns are the true classes
    [
        [536, 104, 80, 69, 128, 99],
        [25, 62, 2, 17, 35, 24],
        [37, 12, 291, 95, 25, 27],
        [13, 8, 28, 82, 12, 25],
        [140, 189, 34, 53, 542, 56],
        [34, 36, 29, 45, 27, 172],
    ]
)
OTHER_IMAGES = "Corel-1000 in place of the paper's six classes: only the order of kernels compares"
CS_FAILS = (
    "the CS kernel with 90 % zeros fails on these images; the paper has 25.3 % on its own "
    "(the page says why)"
)
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)  # of Gram matrices scaled to a diagonal of one
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of the median distance
SPLITS = 5
Candidates = dict[str, Callable[[], np.ndarray]]  # a parameter's text → the Gram matrix of all


class Choice(NamedTuple):
    """The parameters with the least error in training folds."""

    validation: float
    parameter: str
    C: float
    gram: np.ndarray


@experiment(
    *("gcs-table2", GCS, "Tables 2–3"),
    data=("corel1000",),
    minutes=1,
    missing="the paper's 3,200 images of six Corel classes are not public; Corel-1000 stands in.",
)
def table2(lab: Lab) -> Results:
    """Error of SVMs with the compactly supported kernels, beside Laplace and polynomial ones.

    64-bin RGB histograms, a = 0.25. C and the kernel's parameter have the least error in three
    folds of the training half; the test half is used once. CS has the radius that leaves 90 % of
    the training pairs without overlap, as in the paper, and only its σ is chosen. RBF, HIK and NGMM
    are added.

    On Corel-1000 only the order of the kernels can be compared. GCS, Laplace and polynomial have
    the paper's order, GCS and Laplace within their spread of each other, as there. **CS at 90 %
    zeros fails, for a reason:** Φ₆₄ falls like (1 − u²)^31.5, so a pair half-way to the edge of the
    support has 10⁻⁴ of the value at the centre, and with a support that reaches only the nearest
    tenth of the samples the Gram matrix is nearly the identity. A misprint may explain the paper's
    figure: with the recursion of Eq. (4) as printed (φ₂ twice too large) half of the kernel's value
    is a circular kernel with a heavy tail, and CS works at exactly 90 % zeros (row "CS as
    printed").

    The last table repeats Table 3, which classes the CS kernel confuses, with "CS as printed" on
    the test halves. The classes are others, so only the share of correct images can be put beside
    the paper's. That share is 52.8 % in the paper's Table 3 although its Table 2 has an error of
    25.3 % for the same kernel; the paper does not say what differs.
    """
    X, y = color_histograms(lab)
    seeds = range(1 if lab.quick else SPLITS)
    found: dict[str, list[tuple[Choice, float, float]]] = {}
    classes = sorted(set(y))
    confused = np.zeros((len(classes), len(classes)), int)
    for seed in lab.steps("random halves", seeds):
        train, test = halves(y, seed)
        for name, options in candidates(X, train, lab.quick).items():
            choice = choose(options, y, train, seed)
            answers = predict(choice.gram, y, choice.C, train, test)
            wrong = 100 * float(np.mean(answers != y[test]))
            if name == "CS as printed":
                confused += confusion_matrix(y[test], answers, labels=classes)
            zeros = 100 * float(np.mean(choice.gram[np.ix_(train, train)] == 0))
            found.setdefault(name, []).append((choice, wrong, zeros))
    correct, paper = (100 * float(np.trace(one) / one.sum()) for one in (confused, CONFUSED))
    rows = [row for name, entries in found.items() for row in summary(name, entries)]
    what = "CS as printed, share of correct images (Table 3)"
    counts = [[name, *map(str, row)] for name, row in zip(classes, confused)]
    return Results(
        f"{len(y)} images of {len(classes)} classes, {len(seeds)} random halves (seeds 0, 1, …).",
        [*rows, Row(what, correct, paper, unlike=OTHER_IMAGES)],
        tables=[
            choices(found),
            Table("CS as printed: rows are true classes, columns answers", ("", *classes), counts),
        ],
    )


def summary(name: str, entries: list) -> list[Row]:
    """Mean test and validation error of a kernel."""
    papers = PAPER.get(name, (None, None))
    test, validation = [entry[1] for entry in entries], [entry[0].validation for entry in entries]
    return [
        Row(
            f"{name}, {kind} error",
            *(float(np.mean(values)), paper),
            spread=float(np.std(values, ddof=1)) if len(values) > 1 else None,
            error=True,
            rival=name in ("Laplace", "polynomial", "RBF"),
            unlike=OTHER_IMAGES if paper else "",
            fails=CS_FAILS if (name, kind) == ("CS", "test") else "",
        )
        for (kind, values), paper in zip((("test", test), ("validation", validation)), papers)
    ]


def choices(found: dict[str, list]) -> Table:
    """Zeros of the Gram matrix and the parameters chosen most often."""
    cells = []
    for name, entries in found.items():
        chosen = Counter(f"{c.parameter} C = {c.C:g}".strip() for c, *_ in entries)
        zeros = float(np.mean([entry[2] for entry in entries]))
        cells.append([name, zeros, chosen.most_common(1)[0][0]])
    header = ("kernel", "zeros, %", "chosen most often")
    return Table("What was chosen", header, cells)


def halves(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train and to test on."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    return train, test


def candidates(X: np.ndarray, train: np.ndarray, quick: bool) -> dict[str, Candidates]:
    """Return for every kernel its parameters and how to get the Gram matrix of all samples."""
    scales = np.median(pdist(X[train] ** A)) * np.array(FACTORS[1::2] if quick else FACTORS)
    radius = sparse_radius(X[train])

    def over(name: str, key: str, values: Any, **fixed: float) -> Candidates:
        function = getattr(kernels, name)
        return {
            f"{key} = {value:.3g}": partial(function, X, a=A, **{key: value}, **fixed)
            for value in values
        }

    return {
        "Laplace": over("laplace", "sigma", scales),
        "GCS": over("gcs", "radius", scales),
        "polynomial": over("polynomial", "degree", (1, 2, 3, 4, 6, 8)),
        "CS": over("cs", "sigma", scales, radius=radius),
        "CS as printed": {f"sigma = {s:.3g}": partial(cs_as_printed, X, radius, s) for s in scales},
        "RBF": over("rbf", "gamma", 0.5 / scales**2),
        "HIK": {"": lambda: kernels.intersection(X**A)},
        "NGMM": {"": lambda: kernels.ngmm(X**A)},
    }


def cs_as_printed(X: np.ndarray, radius: float, sigma: float) -> np.ndarray:
    """CS with the recursion of Eq. (4) as printed: twice φ₂ adds a tail of Φ₂ to Φ₆₄."""
    tail = 0.5 * np.prod([(k - 1) / k for k in range(4, X.shape[1] + 1, 2)])
    balls = kernels.gcs(X, a=A, radius=radius) + tail * kernels.circular(X, a=A, radius=radius)
    return balls * kernels.laplace(X, a=A, sigma=sigma)


def predict(gram: np.ndarray, y: np.ndarray, C: float, train: Any, test: Any) -> np.ndarray:
    """Return the labels of some samples after training on others."""
    model = KernelSVC("precomputed", C=C).fit(gram[np.ix_(train, train)], y[train])
    return model.predict(gram[np.ix_(test, train)])


def error(gram: np.ndarray, y: np.ndarray, C: float, train: Any, test: Any) -> float:
    """Return the error in percent."""
    return 100 * float(np.mean(predict(gram, y, C, train, test) != y[test]))


def choose(options: Candidates, y: np.ndarray, train: np.ndarray, seed: int) -> Choice:
    """Choose the parameter and C in three folds of the training half."""
    folds = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(train, y[train]))
    tried = []
    for parameter, compute in options.items():
        gram = np.asarray(compute(), dtype=np.float64)
        gram /= np.diag(gram).mean()
        for C in COSTS:
            errors = [error(gram, y, C, train[a], train[b]) for a, b in folds]
            tried.append(Choice(float(np.mean(errors)), parameter, C, gram))
    return min(tried, key=lambda choice: choice.validation)
