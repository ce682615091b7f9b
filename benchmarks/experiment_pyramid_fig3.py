"""Figure 3 of the pyramid match paper: how well three measures follow the best partial matching.

    python benchmarks/experiment_pyramid_fig3.py [picture.png]

100 sets of 2-D points with values 1 … 1000, of 100 points each or of 5 … 100; all 10,000 pairs.
Cost of the optimal partial matching (every point of the smaller set gets its own partner, least sum
of L1 distances), against the pyramid match with T = 1 and weights 2^i, and against the L1 distance
of the same weighted histograms ([Indyk03]), which must match all points to something.
"""

import sys

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr

from visualwords.codebook.partition import refine
from visualwords.codebook.point_sets import FeatureSets
from visualwords.codebook.pyramid_bins import GridBins

SIDE = 1000


def optimal_costs(sets):
    """Least cost of matching all points of the smaller set, for all pairs."""
    costs = np.zeros((len(sets), len(sets)))
    for i, y in enumerate(sets):
        for j, z in enumerate(sets[:i]):
            apart = np.abs(y[:, None, :] - z[None, :, :]).sum(axis=2)
            costs[i, j] = costs[j, i] = apart[linear_sum_assignment(apart)].sum()
    return costs


def level_counts(sets):
    """For every level, the counts of all sets in the bins that occur: (n_sets, n_bins)."""
    joined = FeatureSets.from_arrays(sets, SIDE + 1)
    grid = GridBins(SIDE + 1).fit(joined.points)
    for step, bins in refine(joined.points, grid.origin(0), joined.owners, grid.steps(0)):
        counts = np.zeros((len(sets), len(bins.codes)), np.int32)
        where = np.repeat(np.arange(len(bins.codes)), np.diff(bins.member_starts))
        counts[bins.sets, where] = bins.counts
        yield step.level, counts
    yield grid.top_level, joined.sizes[:, None]


def approximate_costs(sets):
    """Pyramid match Σ 2^i (I_i − I_{i−1}) and L1 embedding Σ 2^i |H_i − H_i'|, for all pairs."""
    levels = sorted(level_counts(sets), key=lambda pair: pair[0])
    before = np.zeros((len(sets), len(sets)))
    match, embedding = np.zeros_like(before), np.zeros_like(before)
    for level, counts in levels:
        common = np.array([np.minimum(row, counts).sum(axis=1) for row in counts], float)
        match += 2.0**level * (common - before)
        sizes = counts.sum(axis=1)
        embedding += 2.0**level * (np.add.outer(sizes, sizes) - 2 * common)
        before = common
    return match, embedding


def summarize(name, optimal, match, embedding):
    """Rank correlations, and the ratio to the optimal cost by its quintiles."""
    order = np.argsort(optimal)
    parts = np.array_split(order, 5)
    for label, cost in (("pyramid match", match), ("L1 embedding", embedding)):
        ratios = [np.median(cost[part] / optimal[part]) for part in parts]
        shown = " ".join(f"{r:.2f}" for r in ratios)
        spread = np.std(np.log(cost / optimal))
        rank = spearmanr(optimal, cost).statistic
        print(
            f"{name:14s} {label:14s} rank correlation {rank:+.3f}   cost / optimal, by fifths of "
            f"the optimal: {shown}   spread of its log {spread:.2f}"
        )


def draw(curves, path):
    """Both panels of the figure, sorted by the optimal cost."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6))
    for axis, (name, optimal, match, embedding) in zip(axes, curves):
        order = np.argsort(optimal)
        for cost, label, color in (
            (embedding, "L1 embedding", "#c44"),
            (match, "pyramid match", "#27c"),
            (optimal, "optimal partial matching", "#222"),
        ):
            axis.plot(cost[order] / 1e3, ".", markersize=1, color=color, label=label)
        axis.set(title=name, xlabel="pairs, sorted by the optimal cost", ylabel="cost / 1000")
        axis.legend(markerscale=8)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def main():
    rng = np.random.default_rng(0)
    curves = []
    pairs = np.triu_indices(100, 1)
    for name, sizes in (
        ("equal sizes", np.full(100, 100)),
        ("sizes 5 … 100", rng.integers(5, 101, 100)),
    ):
        sets = [rng.integers(1, SIDE + 1, (n, 2)) for n in sizes]
        optimal, (match, embedding) = optimal_costs(sets), approximate_costs(sets)
        curves.append((name, optimal[pairs], match[pairs], embedding[pairs]))
        summarize(*curves[-1])
    if len(sys.argv) > 1:
        draw(curves, sys.argv[1])


if __name__ == "__main__":
    main()
