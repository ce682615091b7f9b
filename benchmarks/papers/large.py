"""Generated data of the size of the largest sets in [Wu10], Sec. 4.4, and [Yang12], Sec. 6."""

from functools import partial

from benchmarks.papers.experiments import PMSVM, experiment
from benchmarks.papers.generated import Split, text_like, word_counts
from benchmarks.papers.lab import Lab, measured
from benchmarks.papers.peers import liblinear
from benchmarks.papers.pmsvm_as_printed import PmSVMAsPrinted
from benchmarks.papers.results import Results, Row, Table
from benchmarks.papers.visual_words import share_right
from visualwords.classifiers import ICDClassifier, PmSVMClassifier

METHODS = {
    "ICD": ICDClassifier,
    "PmSVM": partial(PmSVMAsPrinted, tables=False),
    "PmSVM-LUT": PmSVMAsPrinted,
    "PmSVMClassifier (ours)": PmSVMClassifier,
    "LIBLINEAR": partial(liblinear, loss="hinge", fit_intercept=False),
}
WARM = 20_000  # rows that compile a method's loops before the clock starts


@experiment("large-sparse", PMSVM, "Tables 4 and 6, rcv1's size", minutes=3)
def sparse_rows(lab: Lab) -> Results:
    """700,000 sparse rows of 47,236 columns and two classes, as rcv1 has them.

    Generated text (as in pmsvm-binary) at the size of rcv1, whose 677,399 rows ICD trains on in
    34.3 s (Wu, Table 5), PmSVM-LUT in 2.2 s, PmSVM in 3.5 s and LIBLINEAR in 6.4 s and 7.1 s (Wu;
    Yang and Wu, Table 4) on the papers' machines. ICD with C = 10⁻³ on 100 levels, PmSVM with
    C = 0.01, LIBLINEAR with C = 1, without a bias, as the papers have them. Time is of training
    alone, after a warm-up on 20,000 of the rows with all classes; memory is the growth of a process
    that trains, at its peak, beside the rows themselves, which are there before.
    """
    split = text_like(1000, 200, 500) if lab.quick else text_like(700_000, 20_000)
    largest = split.X.max()
    split.X.data /= largest
    split.X_test.data /= largest
    kept = (split.X.data.nbytes + split.X.indices.nbytes) / 1e6
    return of_methods(lab, split, kept, f"{split.X.nnz / 1e6:.0f} million values")


@experiment("large-dense", PMSVM, "Tables 8–9, as ILSVRC's rows", minutes=20)
def dense_rows(lab: Lab) -> Results:
    """100,000 dense rows of 2,000 words and 15 classes.

    Generated bags of words in place of ILSVRC, which has twelve times the rows and 1,000 classes.
    Methods and settings as in large-sparse; one-vs-rest.
    """
    split = word_counts(300, 50, 3) if lab.quick else word_counts(100_000)
    kept = split.X.nbytes / 1e6
    return of_methods(lab, split, kept, f"{100 * (split.X > 0).mean():.0f} % of the values above 0")


def of_methods(lab: Lab, split: Split, kept: float, filled: str) -> Results:
    """Accuracy, time and memory of all methods."""
    rows, cells = [], []
    for method, make in lab.steps("methods", list(METHODS.items())):
        make().fit(split.X[:WARM], split.y[:WARM])
        one = measured(
            lambda make=make: make().fit(split.X, split.y),
            split.X_test,
            lambda answers: 100 * share_right(split.y_test, answers),
        )
        rows.append(Row(method, one.score, seconds=one.train_seconds, n=len(split.y_test)))
        cells.append([method, one.train_seconds, one.test_seconds, one.growth or ""])
    header = ("method", "training, s", "testing, s", "growth of the process, MB")
    return Results(
        f"{split.X.shape[0]:,} × {split.X.shape[1]:,} training rows, {filled}, {kept:.0f} MB; "
        f"{len(split.y_test):,} test rows; seed 0.",
        rows,
        tables=[Table("Time and memory", header, cells)],
    )
