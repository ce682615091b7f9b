"""The HIK SVM against the paper's algorithm as printed, LIBLINEAR and LIBSVM.

    python -m benchmarks.speed.icd                    # everything, about twenty minutes
    python -m benchmarks.speed.icd scene15 predict    # parts: see PARTS

Both sides get the same input and their preparation counts: our quantisation, the peer's copy to its
own format. The literal algorithm gets quantised levels; with many classes two of them are timed
and the time is multiplied. LIBLINEAR stops by the same rule and tolerance as ours where it is dual.
"""

import sys
import time
import tracemalloc
import warnings

from benchmarks import timing  # first: it sets the number of threads

# isort: split
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.svm import SVC, LinearSVC

from benchmarks.data import DATA
from benchmarks.peers.literal_icd import all_levels, literal_icd, occurring_levels
from benchmarks.peers.opencv_histograms import scene15
from benchmarks.speed.generated_histograms import bag_of_words, census_windows, sensors
from visualwords.classifiers import ICDClassifier, Quantizer
from visualwords.classifiers.solvers import dual_table

warnings.simplefilter("ignore", ConvergenceWarning)  # LIBLINEAR's 1000 passes are part of the test


def seconds(work, repeats=3):
    """Least CPU time of some calls, after one that may compile."""
    return timing.best_cpu_seconds(work, repeats=repeats, at_least=0)


def once(work):
    """CPU time and result of a single call: for work of many seconds that is compiled."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def literal_seconds(levels, y, tops=all_levels, n_problems=2):
    """CPU time of the literal algorithm for all classes, and the objectives of the first ones."""
    classes = np.unique(y)
    positive = classes[1:] if classes.size == 2 else classes
    literal_icd(levels[:4], np.array([1.0, -1.0, 1.0, -1.0]), 1e-3, 0.1, 1, tops(levels), 0)
    total, objectives = 0.0, []
    for label in positive[:n_problems]:
        target = np.where(y == label, 1.0, -1.0)
        arguments = levels, target, 1e-3, 0.1, 1000, tops(levels), 0
        spent, (_, table, _) = once(lambda a=arguments: literal_icd(*a))
        if spent < 5:
            spent = min(spent, *(once(lambda a=arguments: literal_icd(*a))[0] for _ in range(2)))
        total += spent
        objectives.append(primal_objective(table, levels, target))
    return total * positive.size / len(objectives), objectives


def primal_objective(table, levels, target, C=1e-3):
    """Eq. 10 of a full table (d, levels)."""
    step = max(1, 10**7 // levels.shape[1])
    columns = np.arange(levels.shape[1])
    scores = np.concatenate(
        [table[columns, levels[k : k + step]].sum(axis=1) for k in range(0, len(levels), step)]
    )
    slack = np.maximum(1 - target * scores, 0)
    return 0.5 * np.sum(np.diff(table.astype(float), axis=1) ** 2) + C * np.sum(slack**2)


def check_objective(table, work, model, levels, y, literal):
    """Ours may be at most a thousandth above the literal algorithm's at the same tolerance."""
    positive = model.classes_[1:] if model.classes_.size == 2 else model.classes_
    for k, value in enumerate(literal):
        ours = primal_objective(model.tables_[k], levels, np.where(y == positive[k], 1.0, -1.0))
        table.check(f"{work}: objective / literal, class {k}", ours / value, 1.001, at_least=False)


def compare(title, X, y, bars, *, quantization="uniform", peers=(), repeats=3):
    """Train ours, the literal algorithm and LIBLINEAR on one set of data."""
    table = timing.Table(title)
    model = ICDClassifier(quantization=quantization)
    ours = seconds(lambda: model.fit(X, y), repeats)
    levels = Quantizer(strategy=quantization).fit_transform(X)
    name = f"{model.solver_}, {model.n_iter_} passes"
    literal, objectives = literal_seconds(levels, y)
    table.add(f"literal Algorithm 2 ({name})", ours, literal, bars.get("literal"))
    if "footnote" in bars:
        short, _ = literal_seconds(levels, y, occurring_levels)
        table.add("literal with footnote 1", ours, short, bars["footnote"])
    check_objective(table, "training", model, levels, y, objectives)
    for dual, tol in peers:
        peer = LinearSVC(dual=dual, tol=tol, random_state=0)
        spent, _ = once(lambda p=peer: p.fit(X, y))
        if spent < 2:
            spent = min(spent, seconds(lambda p=peer: p.fit(X, y), 2))
        table.add(f"LinearSVC(dual={dual}, tol={tol})", ours, spent, bars.get((dual, tol)))
    return table, ours


def part_bow():
    """Generated bags of words, 15 classes."""
    X, y = bag_of_words(3000)
    X = X.astype(np.float64)
    bars = {"literal": 100, (True, 0.1): 5}
    few = X[:1500], y[:1500]
    table, ours = compare("BoW-like, n = 1,500", *few, bars, peers=[(True, 0.1)], repeats=15)
    spent, _ = once(lambda: precomputed_svc(X[:1500], y[:1500]))
    table.add("SVC, precomputed Gram (Manhattan distances)", ours, spent, 50)
    bars = {"literal": 60, (True, 0.1): 3}
    compare("BoW-like, n = 3,000", X, y, bars, peers=[(True, 0.1)], repeats=9)


def part_scene15():
    """Real bags of words."""
    X, y, *_ = scene15()
    X = X.astype(np.float64)
    spent, _ = once(lambda: precomputed_svc(X, y))
    for quantization in ("uniform", "integer"):
        bars = {"literal": 50, (True, 0.1): 10}
        title = f"scene15, {quantization} levels"
        how = {"quantization": quantization, "peers": [(True, 0.1)], "repeats": 15}
        table, ours = compare(title, X, y, bars, **how)
        table.add("SVC, precomputed Gram (Manhattan distances)", ours, spent, 50)


def precomputed_svc(X, y):
    """LIBSVM on the HIK Gram: Σ min(a, b) = (Σ a + Σ b − Σ |a − b|) / 2."""
    sums = X.sum(axis=1)
    gram = (sums[:, None] + sums - manhattan_distances(X)) / 2
    return SVC(kernel="precomputed", C=1e-3).fit(gram, y), gram


def part_census():
    """Dense counts of two classes."""
    X, y = census_windows()
    bars = {"literal": 6, "footnote": 6, (True, 0.1): 10}
    title = "CENTRIST-like, 10,000 × 6,144"
    compare(title, X, y, bars, quantization="integer", peers=[(True, 0.1)], repeats=2)


def part_ijcnn1():
    """Few features, real."""
    with np.load(DATA / "tabular" / "ijcnn1.npz") as data:
        X, y = data["X_train"].astype(np.float64), data["y_train"]
    bars = {"literal": 1.8, (True, 0.1): 2.5, (False, 0.01): 1, (False, 1e-4): 1}
    peers = [(True, 0.1), (False, 0.01), (False, 1e-4)]
    for quantization in ("quantile", "uniform"):  # the first is what "auto" takes here
        title = f"ijcnn1, {quantization} levels"
        compare(title, X, y, bars, quantization=quantization, peers=peers, repeats=7)


def part_sensors():
    """Few features, generated."""
    X, y = sensors()
    bars = {"literal": 2, (False, 0.01): 1, (False, 1e-4): 1}
    compare(
        "80,000 × 100, 3 classes", X, y, bars, peers=[(True, 0.1), (False, 0.01), (False, 1e-4)]
    )


def part_accuracy():
    """Accuracies of Table 5 at default parameters, less 0.2 points."""
    table = timing.Table("accuracy in %, default parameters (bar: the paper's Table 5 − 0.2)")
    for name, paper in (("ijcnn1", 94.82), ("shuttle", 99.50)):
        with np.load(DATA / "tabular" / f"{name}.npz") as data:
            model = ICDClassifier().fit(data["X_train"], data["y_train"])
            table.check(name, 100 * model.score(data["X_test"], data["y_test"]), paper - 0.2)


def part_predict():
    """Scores of dense histograms."""
    X, y, X_test, _ = scene15()
    table = timing.Table("decision_function of dense rows")
    for kind in (np.float64, np.float32):
        for classes in (15, 2):
            some, few = y < classes, X_test.astype(kind)
            ours = ICDClassifier().fit(X[some].astype(kind), y[some])
            peer = LinearSVC(dual=True, tol=0.1).fit(X[some].astype(kind), y[some])
            name = f"linear, {classes} classes, {np.dtype(kind)}"
            a, b = (seconds(lambda m=m, f=few: m.decision_function(f), 7) for m in (ours, peer))
            table.add(name, a, b, 1 / 1.5)
    X, X_test = X.astype(np.float64), X_test.astype(np.float64)
    machine, _ = precomputed_svc(X, y)
    sums, test_sums = X.sum(axis=1), X_test.sum(axis=1)

    def score():
        gram = (test_sums[:, None] + sums - manhattan_distances(X_test, X)) / 2
        return machine.decision_function(gram)

    model = ICDClassifier().fit(X, y)
    table.add(
        "SVC, precomputed", seconds(lambda: model.decision_function(X_test)), once(score)[0], 20
    )


def part_threads():
    """Wall time with two threads, in turns with one; of use on a quiet machine only."""
    table = timing.Table("one thread against two, wall time (ours: two)")
    X, y, *_ = scene15()
    counts, target = census_windows()
    for name, data, quantization, repeats in (
        ("scene15", (X.astype(np.float64), y), "uniform", 40),
        ("CENTRIST-like", (counts, target), "integer", 3),
    ):
        best = {1: np.inf, 2: np.inf}
        for n_jobs in [1, 2] * repeats:
            model = ICDClassifier(quantization=quantization, n_jobs=n_jobs)
            start = time.perf_counter()
            model.fit(*data)
            best[n_jobs] = min(best[n_jobs], time.perf_counter() - start)
        table.add(name, best[2], best[1], 1.6)


def part_memory():
    """Bytes at the peak of training beyond the input, against what the solver works on."""
    table = timing.Table("memory of training beyond the input, per byte of matrix or samples")
    words, y = bag_of_words(3000)
    counts, target = census_windows()
    for name, X, labels, quantization in (
        ("BoW-like, n = 3,000 (Gram)", words.astype(np.float64), y, "uniform"),
        ("CENTRIST-like (tables)", counts, target, "integer"),
    ):
        model = ICDClassifier(quantization=quantization, max_iter=3).fit(X, labels)
        sizes = []
        arrange = dual_table.coded_rows

        def noted(problem, arrange=arrange, sizes=sizes):
            rows = arrange(problem)
            sizes.append(sum(array.nbytes for array in rows))
            return rows

        dual_table.coded_rows = noted
        tracemalloc.start()
        model.fit(X, labels)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        dual_table.coded_rows = arrange
        structure = sizes[0] if sizes else 4 * len(X) ** 2
        print(f"{name}: peak {peak / 1e6:.0f} MB, structure {structure / 1e6:.0f} MB")
        table.check(name, peak / structure, 1.2, at_least=False)


PARTS = {name.removeprefix("part_"): part for name, part in globals().items() if "part_" in name}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
