"""[Grauman06], Sec. 4.1: how well does the pyramid match follow the best partial matching?"""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr

from benchmarks.papers.lab import PMK, Lab, experiment
from benchmarks.papers.results import Panel, Results, Row, Table
from visualwords.codebook.feature_sets import FeatureSets
from visualwords.codebook.grid_bins import GridBins, refine

SIDE, VARYING = 1000, "sizes 5 … 100"
UNDEFINED = "the paper does not define its error"


@experiment("pmk-fig3", PMK, "Figure 3", minutes=0.1)
def figure3(lab: Lab) -> Results:
    """How well does the pyramid match follow the best partial matching?

    100 sets of 2-D points with coordinates 1 … 1000, of 100 points each, or of 5 to 100; all pairs.
    The cost of the optimal partial matching (every point of the smaller set gets a partner of its
    own, least sum of L1 distances) is compared with the pyramid match (T = 1, weights 2^i) and with
    the L1 distance of the same weighted histograms, which makes every point match something.

    The paper prints curves. It says that both follow the optimal cost when sizes are equal, that
    the pyramid match "maintains a steady approximation factor when sets vary in size", and that the
    error of the L1 embedding, which it does not define, grows by "about a factor of four" then;
    here it is the mean difference from the optimal cost, in units of the mean optimal cost. With
    equal sizes the L1 embedding is twice the pyramid match, because an unmatched point counts on
    both sides, and both rank pairs alike. With sizes that vary, the pyramid match keeps its factor
    (second table) and the L1 embedding does not.
    """
    n = 12 if lab.quick else 100
    rng = np.random.default_rng(0)
    rows, fifths, panels, errors = [], [], [], []
    for name, sizes in (("equal sizes", np.full(n, 100)), (VARYING, rng.integers(5, 101, n))):
        sets = [rng.integers(1, SIDE + 1, (size, 2)) for size in sizes]
        pairs = np.triu_indices(n, 1)
        match, embedding = (cost[pairs] for cost in approximate_costs(sets))
        optimal = optimal_costs(lab, name, sets)[pairs]
        order = np.argsort(optimal)
        lines = {"optimal partial matching": optimal}
        lines |= {"pyramid match": match, "L1 embedding": embedding}
        for title, cost in list(lines.items())[1:]:
            what, ratio = f"{name}: {title}", cost / optimal
            follows = float(spearmanr(optimal, cost).statistic)
            rows.append(Row(f"{what}, rank correlation with the optimum", follows, unit=""))
            rows.append(Row(f"{what}, median cost / optimal", float(np.median(ratio)), unit="×"))
            parts = [float(np.median(ratio[part])) for part in np.array_split(order, 5)]
            fifths.append([f"{name}, {title}", *parts])
        errors.append(np.mean(embedding - optimal) / np.mean(optimal))
        drawn = {title: (np.arange(order.size), own[order] / 1e3) for title, own in lines.items()}
        labels = (name, "pairs, sorted by the optimal cost", "cost / 1000")
        panels.append(Panel(*labels, drawn, mark="."))
    what, growth = "growth of the L1 embedding's mean error", float(errors[1] / errors[0])
    rows.append(Row(what, growth, 4.0, unit="×", rival=True, unlike=UNDEFINED))
    header = ("cost / optimal", "cheapest fifth", "2nd", "3rd", "4th", "dearest")
    return Results(
        f"{n} generated sets, seed 0; {n * (n - 1) // 2} pairs in each of the two cases.",
        rows,
        tables=[Table("Is the factor steady?", header, fifths)],
        panels=panels,
    )


def optimal_costs(lab: Lab, name: str, sets: list[np.ndarray]) -> np.ndarray:
    """Least cost of matching all points of the smaller set, for all pairs."""
    costs = np.zeros((len(sets), len(sets)))
    for i in lab.steps(name, range(len(sets))):
        for j in range(i):
            apart = np.abs(sets[i][:, None, :] - sets[j][None, :, :]).sum(axis=2)
            costs[i, j] = costs[j, i] = apart[linear_sum_assignment(apart)].sum()
    return costs


def approximate_costs(sets: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Pyramid match Σ 2^i (I_i − I_{i−1}) and L1 embedding Σ 2^i |H_i − H_i'|, for all pairs."""
    before = np.zeros((len(sets), len(sets)))
    match, embedding = np.zeros_like(before), np.zeros_like(before)
    for level, counts in sorted(level_counts(sets), key=lambda pair: pair[0]):
        common = np.array([np.minimum(row, counts).sum(axis=1) for row in counts], float)
        match += 2.0**level * (common - before)
        sizes = counts.sum(axis=1)
        embedding += 2.0**level * (np.add.outer(sizes, sizes) - 2 * common)
        before = common
    return match, embedding


def level_counts(sets: list[np.ndarray]) -> list[tuple[int, np.ndarray]]:
    """For every level, the counts of all sets in the bins that occur: (n_sets, n_bins)."""
    joined = FeatureSets.from_arrays(sets, SIDE + 1)
    grid = GridBins(SIDE + 1).fit(joined.points)
    found = [(grid.top_level, joined.sizes[:, None])]
    for step, bins in refine(joined.points, grid.origin(0), joined.owners, grid.steps(0)):
        counts = np.zeros((len(sets), len(bins.codes)), np.int32)
        where = np.repeat(np.arange(len(bins.codes)), np.diff(bins.member_starts))
        counts[bins.sets, where] = bins.counts
        found.append((step.level, counts))
    return found
