"""Accuracy of HIK and linear SVMs over C, on two real data sets: Fig. 1 of [Wu10] on other data.

    python benchmarks/icd_insensitivity.py docs/images/icd_c.svg

Every value of C is tried on the test set and none is chosen: the figure shows what a wrong C costs.
"""

import sys
import warnings

import timing  # first: it sets the number of threads

# isort: split
import matplotlib
import numpy as np
from real_histograms import scene15
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from visualwords.classifiers import ICDClassifier

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "visualwords"
from matplotlib import pyplot  # noqa: E402 - after the choice of how to draw

warnings.simplefilter("ignore")  # LIBLINEAR does not converge at large C, which is the point
POWERS = np.arange(-7, 4)


def satimage() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pixels of satellite images: train, labels, test, labels."""
    with np.load(timing.DATA / "tabular" / "satimage.npz") as data:
        return tuple(data[name] for name in ("X_train", "y_train", "X_test", "y_test"))


def accuracies(make, X, y, X_test, y_test) -> list[float]:
    """Test accuracy in % at all values of C."""
    return [100 * make(10.0**power).fit(X, y).score(X_test, y_test) for power in POWERS]


def linear(C):
    """LIBLINEAR as the paper runs it: features scaled to [0, 1]."""
    return make_pipeline(MaxAbsScaler(), LinearSVC(C=C, dual=True, random_state=0, tol=0.1))


def main(path: str) -> None:
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.2), sharey=False)
    sets = {"scene15, 200 words × 31 windows": scene15(), "satimage": satimage()}
    for axis, (name, (X, y, X_test, y_test)) in zip(axes, sets.items()):
        data = X.astype(np.float64), y, X_test.astype(np.float64), y_test
        print(name, "  C = 1e-7 … 1e3")
        for label, make in (("HIK, ICDClassifier", ICDClassifier), ("linear, LIBLINEAR", linear)):
            found = accuracies(lambda C, make=make: make(C=C), *data)
            print(f"  {label:20s}", *(f"{value:5.1f}" for value in found), flush=True)
            axis.semilogx(10.0**POWERS, found, "o-", label=label)
        axis.set(title=name, xlabel="C", ylabel="test accuracy, %")
        axis.axvline(1e-3, color="grey", linewidth=0.8, linestyle=":")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "icd_c.svg")
