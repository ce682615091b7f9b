"""Table 2 of the GCS paper on Corel-1000: kernels of 64-bin RGB histograms, a = 0.25.

    python benchmarks/gcs_corel.py            ten random halves, a few minutes

In every half used for training, C and the kernel's parameter are chosen by the error of a
three-fold cross-validation; the other half is looked at once. CS has the radius that makes 90 %
of the training Gram matrix zero, as in the paper, and only its sigma is chosen.
"""

import argparse
import sys
import time
from collections.abc import Callable

from timing import DATA

import numpy as np  # isort: skip - after the number of threads is set
import sklearn
from scipy.spatial.distance import pdist
from sklearn.model_selection import StratifiedKFold, train_test_split

from visualwords.classifiers import KernelSVC, kernels
from visualwords.classifiers.kernels.banded import reorder
from visualwords.features import ColorHistogram
from visualwords.folders import ImageFolder
from visualwords.images import read_image

A = 0.25  # [Boughorbel06], Sec. 5
ZEROS = 0.9  # of the Gram matrix of CS, likewise
PAPER = {"laplace": 25.34, "polynomial": 27.92, "gcs": 25.07, "cs": 25.30}  # Table 2, test error
COSTS = [0.1, 1.0, 10.0, 100.0, 1000.0]  # of Gram matrices scaled to a diagonal of one
FACTORS = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]  # of the median distance


def histograms() -> tuple[np.ndarray, np.ndarray]:
    """64-bin RGB histograms of unit sum, and the labels."""
    folder = ImageFolder(DATA / "corel1000")
    extractor = ColorHistogram(bins=4, space="rgb")
    counts = np.array([extractor.describe(read_image(path)) for path in folder.paths], float)
    return counts / counts.sum(axis=1, keepdims=True), np.asarray(folder.labels)


def candidates(X: np.ndarray, train: np.ndarray) -> dict[str, dict[str, Callable[[], np.ndarray]]]:
    """For every kernel its parameters' names and how to get the Gram matrix of all samples."""
    distances = pdist(X[train] ** A)
    median = np.median(distances)
    n = len(train)
    # The diagonal's n entries are never zero, so a little less of the rest may be non-zero.
    share = ((1 - ZEROS) * n * n - n) / (n * n - n)
    radius = np.quantile(distances, share) / 2

    def over(name: str, key: str, values: list[float], **fixed: float) -> dict:
        function = getattr(kernels, name)
        return {
            f"{key} = {value:.3g}": lambda v=value: function(X, a=A, **{key: v}, **fixed)
            for value in values
        }

    def printed(sigma: float) -> np.ndarray:
        """CS with the recursion of Eq. (4) as printed: twice φ₂ adds a tail of Φ₂ to Φ₆₄."""
        tail = 0.5 * np.prod([(k - 1) / k for k in range(4, X.shape[1] + 1, 2)])
        balls = kernels.gcs(X, a=A, radius=radius) + tail * kernels.circular(X, a=A, radius=radius)
        return balls * kernels.laplace(X, a=A, sigma=sigma)

    return {
        "laplace": over("laplace", "sigma", [f * median for f in FACTORS]),
        "polynomial": over("polynomial", "degree", [1, 2, 3, 4, 6, 8]),
        "gcs": over("gcs", "radius", [f * median for f in FACTORS]),
        "cs": over("cs", "sigma", [f * median for f in FACTORS], radius=radius),
        "cs as printed": {
            f"sigma = {f * median:.3g}": lambda v=f * median: printed(v) for f in FACTORS
        },
        "hik": {"": lambda: kernels.intersection(X**A)},
        "ngmm": {"": lambda: kernels.ngmm(X**A)},
    }


def error(gram: np.ndarray, y: np.ndarray, C: float, train: np.ndarray, test: np.ndarray) -> float:
    """Error in percent of an SVM trained on some samples and tested on others."""
    model = KernelSVC("precomputed", C=C).fit(gram[np.ix_(train, train)], y[train])
    return 100 * (1 - model.score(gram[np.ix_(test, train)], y[test]))


def choose(options: dict, y: np.ndarray, train: np.ndarray, seed: int) -> tuple:
    """Validation error, parameter, C and Gram matrix with the least validation error."""
    folds = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(train, y[train]))
    best: tuple = (np.inf,)
    for label, compute in options.items():
        gram = np.asarray(compute(), dtype=np.float64)
        gram /= np.diag(gram).mean()
        for C in COSTS:
            found = np.mean([error(gram, y, C, train[a], train[b]) for a, b in folds])
            if found < best[0]:
                best = (found, label, C, gram)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--kernels", nargs="*", help="only these rows of the table")
    arguments = parser.parse_args()
    start = time.perf_counter()
    X, y = histograms()
    results: dict[str, list] = {}
    bands = []
    for seed in range(arguments.splits):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed
        )
        for name, options in candidates(X, train).items():
            if arguments.kernels and name not in arguments.kernels:
                continue
            validation, label, C, gram = choose(options, y, train, seed)
            outcome = error(gram, y, C, train, test)
            part = gram[np.ix_(train, train)]
            zeros = 100 * np.mean(part == 0)
            results.setdefault(name, []).append((validation, outcome, zeros, label, C))
            if name.startswith("cs"):
                bands.append(reorder(part * (part != 0)))
        print(f"split {seed}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}, scikit-learn", end=" ")
    print(
        f"{sklearn.__version__}; {len(y)} images, {arguments.splits} random halves, seeds 0, 1, …"
    )
    print(
        "| kernel | paper, test (other Corel set) | validation | test | zeros | chosen most often |"
    )
    print("|---|---|---|---|---|---|")
    for name, rows in results.items():
        validation, outcome, zeros = (np.array([row[k] for row in rows]) for k in range(3))
        labels = [f"{row[3]} C = {row[4]:g}".strip() for row in rows]
        common = max(set(labels), key=labels.count)
        cells = [f"{x.mean():.2f} ± {x.std(ddof=1):.2f}" for x in (validation, outcome)]
        cells += [f"{zeros.mean():.1f} %", common]
        print(f"| {name} | {PAPER.get(name, '')} |", " | ".join(cells), "|")
    if bands:
        before, after = (np.mean([b[k] for b in bands]) for k in (2, 3))
        print(f"bandwidth of CS: {before:.0f}, reordered {after:.0f}, of {len(train)} samples")


if __name__ == "__main__":
    main()
