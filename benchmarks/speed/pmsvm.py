"""PmSVMClassifier against the paper's algorithms and scikit-learn: time, memory, accuracy.

Run ``python -m benchmarks.speed.pmsvm [text] [reuters] [bow] [scene15]``. CPU time of one thread,
compilation not counted, everything from the float32 matrix to the model counted. All solve the same
problem: hinge loss, no bias, the same C for the values as given (the literal algorithms get values
divided by the largest, and C times it, which is the same for a homogeneous kernel), and the same
stopping rule at 0.1. Where the exact Gram matrix fits into memory, the exact χ² SVM says what they
all approximate.
"""

# isort: off
from benchmarks.timing import Table, best_cpu_seconds
# isort: on

import sys

import numpy as np
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.svm import LinearSVC

from benchmarks.data import DATA
from benchmarks.papers.datasets import Split, reuters, text_like
from benchmarks.papers.lab import Lab
from benchmarks.papers.pmsvm_as_printed import PmSVMAsPrinted
from benchmarks.peers.exact_chi2_svm import predict_exactly
from benchmarks.speed import generated_histograms
from visualwords.classifiers import PmSVMClassifier


def linear(C: float, tol: float = 0.1) -> LinearSVC:
    return LinearSVC(C=C, loss="hinge", dual=True, tol=tol, fit_intercept=False, random_state=0)


def chi2_then_linear(X, y, C):
    sampler = AdditiveChi2Sampler()
    return sampler, linear(C).fit(sampler.fit_transform(X), y)


def bag_of_words(n: int = 3000, n_test: int = 1500) -> Split:
    """15 classes of images as counts of 200 words in 31 windows (6,200 features); float32."""
    X, y = generated_histograms.bag_of_words(n + n_test)
    X = X.astype(np.float32)
    return Split(X[:n], y[:n], X[n:], y[n:])


def compare(
    name: str,
    data: Split,
    C: float,
    bars: dict[str, float | None],
    repeats: int,
    *,
    exact: bool = True,
) -> None:
    X, y, X_test, y_test = data
    codes, codes_test = (np.unique(labels, return_inverse=True)[1] for labels in (y, y_test))
    largest = X.max()
    scaled, scaled_test = X / largest, X_test / largest
    table = Table(f"{name}: {X.shape[0]:,} × {X.shape[1]:,}, {codes.max() + 1} classes, C = {C}")

    def seconds(work):
        return best_cpu_seconds(work, repeats=repeats, at_least=0)

    ours = PmSVMClassifier(C=C)
    spent = seconds(lambda: ours.fit(X, codes))
    accuracy = {"ours": ours.score(X_test, codes_test)}
    lut = PmSVMAsPrinted(C=C * largest)
    lut_spent = seconds(lambda: lut.fit(scaled, codes))
    accuracy["LUT"] = np.mean(lut.predict(scaled_test) == codes_test)
    table.add("train, against literal PmSVM-LUT", spent, lut_spent, bars["LUT"])
    literal = PmSVMAsPrinted(C=C * largest, tables=False)
    literal_spent = seconds(lambda: literal.fit(scaled, codes))
    accuracy["PmSVM"] = np.mean(literal.predict(scaled_test) == codes_test)
    table.add("literal PmSVM-LUT, against literal PmSVM", lut_spent, literal_spent, 1.0)
    for tol in (tol for tol in (0.1, 1e-4) if str(tol) in bars):
        peer = linear(C, tol)
        peer_spent = seconds(lambda m=peer: m.fit(X, codes))
        accuracy[f"LinearSVC, tol {tol}"] = peer.score(X_test, codes_test)
        table.add(f"train, against LinearSVC(tol={tol})", spent, peer_spent, bars[str(tol)])
    fitted = []
    peer_spent = seconds(lambda: fitted.append(chi2_then_linear(X, codes, C)))
    sampler, peer = fitted[-1]
    accuracy["AdditiveChi2Sampler"] = peer.score(sampler.transform(X_test), codes_test)
    table.add("train, against AdditiveChi2Sampler + LinearSVC", spent, peer_spent, bars["chi2"])
    if bars.get("seconds"):
        table.check("seconds of training", spent, bars["seconds"], at_least=False)
    if exact:
        labels = predict_exactly(X, codes, X_test, C, tol=0.1)
        accuracy["exact χ² SVM"] = np.mean(labels == codes_test)
        same = np.mean(labels == ours.predict(X_test))
        table.check("labels in % that the exact SVM gives too", 100 * same, 99)
    for peer_name, value in accuracy.items():
        table.check(f"accuracy in %, {peer_name}", 100 * value, 100 * accuracy["ours"], False)
    print("accuracy in %:", ", ".join(f"{k} {100 * v:.2f}" for k, v in accuracy.items()))
    print(f"passes: ours {ours.n_iter_}")


SPARSE_BARS = {"LUT": 2.5, "0.1": 4.0, "0.0001": 4.0, "chi2": 10.0}
BOW_BARS = {"LUT": 2.5, "0.1": None, "chi2": 5.0, "seconds": 0.30}


def main(chosen: list[str]) -> None:
    if not chosen or "text" in chosen:
        compare("text-like", text_like(), 0.01, SPARSE_BARS, repeats=3, exact=False)
    if (not chosen or "reuters" in chosen) and (DATA / "tabular").is_dir():
        data = reuters(Lab(DATA))
        compare("reuters money-fx", data, 0.01, SPARSE_BARS, repeats=60)
        compare("reuters money-fx", data, 1.0, SPARSE_BARS, repeats=30)
    if not chosen or "bow" in chosen:
        X, y, X_test, y_test = bag_of_words()
        compare("bag of words, counts", (X, y, X_test, y_test), 0.01, BOW_BARS, repeats=2)
        unit = (X / X.max(), y, X_test / X.max(), y_test)
        compare("bag of words, in [0, 1]", unit, 0.01, BOW_BARS, repeats=2)
    if "scene15" in chosen:
        from benchmarks.peers.opencv_histograms import scene15

        X, y, X_test, y_test = scene15()
        data = (X.astype("f4"), y, X_test.astype("f4"), y_test)
        compare("scene15, counts", data, 0.01, BOW_BARS, repeats=2)


if __name__ == "__main__":
    main(sys.argv[1:])
