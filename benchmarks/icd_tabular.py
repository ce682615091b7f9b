"""Two rules on the tabular data sets: which quantisation, and when a linear SVM would do.

    python benchmarks/icd_tabular.py

Three folds of the training parts; test parts are not looked at. ``linearity`` is measured on the
held-out fold.
"""

import warnings

import timing  # first: it sets the number of threads

# isort: split
import numpy as np
from real_histograms import scene15
from scipy import sparse
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from visualwords.classifiers import ICDClassifier

warnings.simplefilter("ignore")
NAMES = "ijcnn1 shuttle optdigits pendigits satimage imageseg letter spambase splice magic isolet"
MOST = 12_000


def load(name):
    """Training samples and labels, at most MOST, without classes of fewer than three."""
    if name == "scene15":
        X, y, *_ = scene15()
        return X, y
    with np.load(timing.DATA / "tabular" / f"{name}.npz") as data:
        if name == "reuters_moneyfx":
            parts = tuple(data[f"X_train_{part}"] for part in ("data", "indices", "indptr"))
            return sparse.csr_matrix(parts, shape=data["X_train_shape"]), data["y_train"]
        X, y = (data["X_train"], data["y_train"]) if "X_train" in data else (data["X"], data["y"])
        X = X * float(data["X_scale"]) if "X_scale" in data else X
    chosen = np.random.default_rng(0).permutation(y.size)[:MOST]
    X, y = X[chosen], y[chosen]
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= 3])
    return X[kept], y[kept]


def main():
    print(
        f"{'data':16s} {'n':>6s} {'d':>6s}  uniform quantile   auto  linear  linearity (held out)"
    )
    for name in [*NAMES.split(), "reuters_moneyfx", "scene15"]:
        X, y = load(name)
        linear = make_pipeline(MaxAbsScaler(), LinearSVC(dual="auto", random_state=0))
        rows = []
        for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(
            np.zeros(y.size), y
        ):
            row = []
            for quantization in ("uniform", "quantile", "auto"):
                model = ICDClassifier(quantization=quantization).fit(X[train], y[train])
                row.append(100 * model.score(X[test], y[test]))
            row.append(100 * linear.fit(X[train], y[train]).score(X[test], y[test]))
            rows.append([*row, model.linearity(X[test])])
        mean = np.mean(rows, axis=0)
        print(
            f"{name:16s} {y.size:6d} {X.shape[1]:6d}  {mean[0]:7.2f} {mean[1]:8.2f} {mean[2]:6.2f} "
            f"{mean[3]:7.2f}  {mean[4]:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
