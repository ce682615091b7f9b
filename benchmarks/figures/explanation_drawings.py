"""Drawings of the explanation pages: an HIK SVM, PmSVM, the pyramid match and min-max hashing.

python -m benchmarks.figures.explanation_drawings docs/images

Tables, evidence, eigenfunctions and hashes are those of the library, for texture tiles or made
numbers; the bins of the pyramid match are counted here.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from visualwords.apps.classify_images.demo_images import texture_tiles
from visualwords.classifiers import GCWSHasher, ICDClassifier, PmSVMClassifier
from visualwords.classifiers.kernels import chi2, gmm
from visualwords.features import Centrist

BLUE, ORANGE, GREY = "#2563a8", "#c2571a", "#8a8a8a"
plt.rcParams.update(
    {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 110}
)


def hik_svm():
    """Histogram → table → evidence, for one tile of grass and the class grass."""
    images, labels = texture_tiles("train")
    tiles, _ = texture_tiles("test")
    features = Centrist("whole")
    model = ICDClassifier().fit(features.transform(images), labels)
    histogram = features.transform(tiles[20:21])
    label = model.predict(histogram)[0]
    index = list(model.classes_).index(label)
    evidence = model.contributions(histogram)[:, index]
    column = int(np.argmax(evidence))
    figure, axes = plt.subplots(1, 3, figsize=(10, 3))
    axes[0].bar(range(256), histogram[0], width=1.5, color=BLUE)
    axes[0].set(title="1  histogram of one image", xlabel="bin (census code)", ylabel="count")
    table = model.tables_[index]
    for row in np.argsort(-np.ptp(table, axis=1))[:8]:
        axes[1].plot(table[row], color=GREY, linewidth=0.8)
    axes[1].plot(table[column], color=ORANGE, linewidth=2, label=f"bin {column}")
    axes[1].set(title=f"2  tables of the class {label}", xlabel="level of the bin", ylabel="adds")
    axes[1].legend(frameon=False)
    colours = np.where(evidence >= 0, ORANGE, BLUE)
    axes[2].bar(range(256), evidence, width=1.5, color=colours)
    total = model.decision_function(histogram)[0, index]
    axes[2].set(title=f"3  evidence; its sum is {total:+.2f}", xlabel="bin", ylabel="adds")
    return figure


def pmsvm():
    """The χ² kernel of two numbers, and how it is written as a product of short vectors."""
    values = np.linspace(0, 1, 101)
    exact = np.array([[chi2([[a]], [[b]])[0, 0] for b in values[::2]] for a in values[::2]])
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.beta(np.where(y, 2.0, 1.0), 5, (1, 400)).T
    model = PmSVMClassifier().fit(np.hstack([X, X**2]), y)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    axes[0].contourf(values[::2], values[::2], exact, 12, cmap="Blues")
    axes[0].set(title="χ² of two numbers: 2xy / (x + y)", xlabel="x", ylabel="y")
    parts = np.asarray(model.score_table_)
    axes[1].plot(np.linspace(0, 1, len(parts)), parts, linewidth=1.8)
    axes[1].set(title=f"its {parts.shape[1]} eigenfunctions", xlabel="x")
    return figure


def pyramid():
    """Two sets of points in bins that double: new matches of each level, weighted by 1/2^level."""
    rng = np.random.default_rng(7)
    one = rng.uniform(0, 16, (7, 2))
    other = np.clip(one[:6] + rng.normal(0, 0.9, (6, 2)), 0.01, 15.99)
    figure, axes = plt.subplots(1, 4, figsize=(10.5, 2.9))
    before = 0
    for level, axis in enumerate(axes):
        side = 2**level
        bins = [np.floor(points / side).astype(int) for points in (one, other)]
        matches = sum(
            min(np.sum((bins[0] == cell).all(1)), np.sum((bins[1] == cell).all(1)))
            for cell in np.unique(bins[0], axis=0)
        )
        axis.plot(*one.T, "o", color=BLUE)
        axis.plot(*other.T, "s", color=ORANGE, markersize=5)
        axis.set(xticks=range(0, 17, side), yticks=range(0, 17, side), xlim=(0, 16), ylim=(0, 16))
        axis.grid(color="#cccccc", linewidth=0.6)
        axis.tick_params(labelbottom=False, labelleft=False, length=0)
        axis.set_aspect("equal")
        axis.set_title(f"side {side}: {matches - before} new, weight 1/{side}", fontsize=9)
        before = matches
    return figure


def min_max_hashing():
    """The share of equal hashes against the min-max kernel, for pairs of random histograms."""
    rng = np.random.default_rng(0)
    base = rng.gamma(1.0, 1.0, (40, 30))
    mixed = rng.uniform(0, 1, (40, 1))
    others = (1 - mixed) * base + mixed * rng.gamma(1.0, 1.0, (40, 30))
    exact = np.diag(gmm(base, others))
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharex=True, sharey=True)
    for axis, n_hashes in zip(axes, (32, 512), strict=True):
        hasher = GCWSHasher(n_hashes=n_hashes, normalize=False, random_state=0).fit(base)
        left, right = (np.stack(hasher.codes(rows), axis=-1) for rows in (base, others))
        shares = (left == right).all(-1).mean(1)
        axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
        axis.plot(exact, shares, "o", color=BLUE, markersize=4)
        axis.set(title=f"{n_hashes} hashes", xlabel="min–max kernel of two histograms")
    axes[0].set_ylabel("share of equal hashes")
    return figure


DRAWINGS = {
    "hik-svm.png": hik_svm,
    "pmsvm-parts.png": pmsvm,
    "pyramid-levels.png": pyramid,
    "min-max-hashing.png": min_max_hashing,
}


def main():
    folder = Path(sys.argv[1])
    for name, draw in DRAWINGS.items():
        figure = draw()
        figure.tight_layout()
        figure.savefig(folder / name, dpi=120)
        print(folder / name, (folder / name).stat().st_size // 1000, "kB")


if __name__ == "__main__":
    main()
