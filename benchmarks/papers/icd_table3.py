"""Objects and scenes: ICD, LIBLINEAR and LIBSVM at default parameters, and chosen ones.

200 visual words in 31 windows, of SIFT and, for some methods, of CENTRIST too. The paper's
histograms come from libHIK; it does not name the descriptor, and libHIK's default is CENTRIST. ICD
and LIBSVM+HIK use the same 100 levels, the other methods columns scaled to [0, 1]. Defaults: C =
10⁻³ for HIK, 1 elsewhere, γ = 1/d. "Chosen": log₁₀ C from −5 to 3 (every other one) and log₁₀ γ
from −5 to −1, on a third of the training images, where the paper cross-validates. ICD and LIBLINEAR
are one-vs-rest, LIBSVM one-vs-one. The sports images are not available. Mean accuracy per class on
Caltech-101, plain accuracy on scenes.

HIK beats linear, one-vs-one costs LIBSVM many points on 101 classes, ICD's default C is as good as
a chosen one: the paper's findings. The default RBF is far more accurate than the paper's; the paper
does not say how its features were scaled, so the reason is not known. Another codebook seed moves
ICD by half a point on scene15.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.papers.generated import Split
from benchmarks.papers.lab import Lab, timed
from benchmarks.papers.results import Results, Row
from benchmarks.papers.svm_peers import (
    COSTS,
    GAMMAS,
    HIK_COST,
    Grams,
    choose_cost,
    estimators,
    gram_makers,
    libsvm_fit,
    libsvm_held_out,
    scaled,
)
from benchmarks.papers.visual_words import WORDS, mean_per_class, word_histograms
from visualwords.classifiers import KernelSVC

PAPER = {  # Table 3: accuracy with defaults, cross-validated
    ("caltech101", "ICD"): (60.0, 59.9),
    ("caltech101", "LIBSVM+HIK"): (54.6, 54.9),
    ("caltech101", "LIBLINEAR"): (54.1, 54.2),
    ("caltech101", "LIBSVM+LIN"): (51.3, 51.4),
    ("caltech101", "LIBSVM+RBF"): (18.2, 53.4),
    ("scene15", "ICD"): (81.9, 82.0),
    ("scene15", "LIBSVM+HIK"): (81.6, 81.7),
    ("scene15", "LIBLINEAR"): (75.3, 75.5),
    ("scene15", "LIBSVM+LIN"): (76.8, 76.8),
    ("scene15", "LIBSVM+RBF"): (35.2, 79.6),
}
Score = Callable[[np.ndarray, np.ndarray], float]


def run(lab: Lab) -> Results:
    """Both accuracies of every method on both data sets."""
    rows, sizes, notes = [], [], []
    for name in ("scene15", "caltech101"):
        split = word_histograms(lab, name)
        score: Score = mean_per_class if name == "caltech101" else share_right
        sizes.append(f"{name} {len(split.y):,} training, {len(split.y_test):,} test images")
        centrist = centrist_rows(lab, name, score)
        found = {**one_vs_rest(lab, split, score), **libsvm(lab, split, score)}
        for (data, method), (paper, paper_cv) in PAPER.items():
            if data == name:
                default, seconds, chosen, what, rest = found[method]
                n = len(split.y_test)
                own = Row(f"{name}, {method}", default, paper, seconds=seconds, n=n)
                best = Row(f"{name}, {method}, chosen", chosen, paper_cv, n=n)
                rows += [
                    explained(row, centrist.get(method), other)
                    for row, other in zip((own, best), rest)
                ]
                notes.append(f"{name}, {method}: {what} was chosen.")
        rows += [compared(row, found[method][0]) for method, row in centrist.items()]
    return Results(
        f"{'; '.join(sizes)}. 200 words: {WORDS}.",
        rows,
        notes=["Seconds: training at default parameters, Gram matrix included.", *notes],
    )


def centrist_rows(lab: Lab, name: str, score: Score) -> dict[str, Row]:
    """The HIK and the linear methods at default parameters on words of CENTRIST."""
    split = word_histograms(lab, name, descriptor="CENTRIST")
    found = {}
    for method, make in estimators().items():
        data = split if method == "ICD" else scaled(split)
        model, seconds = trained(method, make, data)
        found[method] = 100 * score(data.y_test, model.predict(data.X_test)), seconds
    (make_grams,) = gram_makers(split, [])["LIBSVM+HIK"]
    found["LIBSVM+HIK"] = timed(lambda: test_libsvm(make_grams(), split, HIK_COST, score))
    return {
        method: Row(
            f"{name}, {method}, CENTRIST words",
            ours,
            PAPER[name, method][0],
            seconds=seconds,
            n=len(split.y_test),
        )
        for method, (ours, seconds) in found.items()
    }


def explained(row: Row, centrist: Row | None, one_vs_rest: Callable[[], float] | None) -> Row:
    """Say of a worse figure what other words and another way to more than two classes give."""
    if row.verdict != "worse":
        return row
    parts = []
    if centrist is not None:
        parts.append(f"with words of CENTRIST {centrist.ours:.2f} %")
    if one_vs_rest is not None:
        parts.append(f"one-vs-rest with the same Gram matrix {one_vs_rest():.2f} %")
    return replace(row, why="; ".join(parts))


def compared(centrist: Row, with_sift: float) -> Row:
    """Say of a worse figure with words of CENTRIST what those of SIFT give."""
    if centrist.verdict != "worse":
        return centrist
    return replace(centrist, why=f"with words of SIFT {with_sift:.2f} %")


def trained(method: str, make: Callable[[Any], Any], data: Split) -> tuple[Any, float]:
    """A model at default parameters, and the seconds of its training."""
    if method == "ICD":
        make(None).fit(data.X, data.y)  # compiles
    return timed(make(None).fit, data.X, data.y)


def share_right(truth: np.ndarray, answers: np.ndarray) -> float:
    """Share of correct answers."""
    return float(np.mean(truth == answers))


def one_vs_rest(lab: Lab, split: Split, score: Score) -> dict[str, tuple]:
    """ICD and LIBLINEAR: default accuracy, its seconds, chosen accuracy, the choice, no other."""
    found = {}
    costs = COSTS[::2] if lab.quick else COSTS
    for method, make in lab.steps("ICD and LIBLINEAR", list(estimators().items())):
        data = split if method == "ICD" else scaled(split)
        model, seconds = trained(method, make, data)
        best = choose_cost(make, data.X, data.y, costs, score)
        outcomes = [
            100 * score(data.y_test, one.predict(data.X_test))
            for one in (model, make(best).fit(data.X, data.y))
        ]
        found[method] = (outcomes[0], seconds, outcomes[1], f"C = {best:g}", (None, None))
    return found


def libsvm(lab: Lab, split: Split, score: Score) -> dict[str, tuple]:
    """LIBSVM's three kernels, likewise, and how to train them one-vs-rest."""
    default_gamma = 1 / split.X.shape[1]
    costs = COSTS[::2] if lab.quick else COSTS
    makers = gram_makers(split, [default_gamma, *(GAMMAS[::2] if lab.quick else GAMMAS)])
    found = {}
    for method, options in lab.steps("LIBSVM", list(makers.items())):
        first = options[0]()
        C = HIK_COST if method == "LIBSVM+HIK" else 1.0
        default, seconds = timed(test_libsvm, first, split, C, score)
        best = max(
            (
                (value, cost, place)
                for place, make in enumerate(options[1:] or options)
                for cost, value in libsvm_held_out(make().train, split.y, costs, score)
            ),
            key=lambda one: one[0],
        )
        grams = (options[1:] or options)[best[2]]()
        chosen = test_libsvm(grams, split, best[1], score)
        gamma = f", γ = {GAMMAS[best[2]]:g}" if options[1:] else ""
        rest = tuple(
            partial(test_one_vs_rest, own, split, cost, score)
            for own, cost in ((first, C), (grams, best[1]))
        )
        seconds += first.seconds
        found[method] = (default, seconds, chosen, f"C = {best[1]:g}{gamma}", rest)
    return found


def test_libsvm(grams: Grams, split: Split, C: float, score: Any) -> float:
    """Test accuracy in percent."""
    model = libsvm_fit(grams.train, split.y, C)
    return 100 * score(split.y_test, model.predict(grams.test))


def test_one_vs_rest(grams: Grams, split: Split, C: float, score: Any) -> float:
    """Test accuracy in percent of one problem per class."""
    model = KernelSVC("precomputed", C=C).fit(grams.train, split.y)
    return 100 * score(split.y_test, model.predict(grams.test))
