"""[Grauman06], Sec. 4.1: how well does the pyramid match follow the best partial matching?"""

import numpy as np

from benchmarks.papers.experiments import PMK, experiment
from benchmarks.papers.lab import Lab
from benchmarks.papers.results import Panel, Results, Row, Table
from visualwords.codebook.feature_sets import FeatureSets
from visualwords.codebook.grid_bins import GridBins, refine

SIDE = 1000
Costs = tuple[np.ndarray, np.ndarray, np.ndarray]  # optimal, pyramid match, L1 embedding


@experiment("pmk-fig3", PMK, "Figure 3", minutes=0.2)
def figure3(lab: Lab) -> Results:
    """How well does the pyramid match follow the best partial matching?

    100 sets of 2-D points with coordinates 1 … 1000, of 100 points each, or of 5 to 100; all pairs.
    The cost of the optimal partial matching (every point of the smaller set gets a partner of its
    own, least sum of L1 distances) is compared with the pyramid match (T = 1, weights 2^i) and with
    the L1 distance of the same weighted histograms, which makes every point match something.

    The paper prints curves, not figures. It says that both follow the optimal cost when sizes are
    equal, that the pyramid match "maintains a steady approximation factor when sets vary in size",
    and that the error of the L1 embedding grows by "about a factor of four" then. With equal sizes
    the L1 embedding is twice the pyramid match, because an unmatched point counts on both sides,
    and both rank pairs alike. With sizes that vary, the pyramid match keeps its factor (second
    table) and the L1 embedding does not. The paper does not define the error that grows; here it is
    the mean difference from the optimal cost, in units of the mean optimal cost.
    """
    n = 12 if lab.quick else 100
    rng = np.random.default_rng(0)
    sizes = {"equal sizes": np.full(n, 100), "sizes 5 … 100": rng.integers(5, 101, n)}
    panels = {name: all_costs(lab, name, own, rng) for name, own in sizes.items()}
    rows = []
    for name, (optimal, match, embedding) in panels.items():
        rows += [
            Row(f"{name}: {title}, {what}", value, unit=unit)
            for title, cost in (("pyramid match", match), ("L1 embedding", embedding))
            for what, value, unit in (
                ("rank correlation with the optimum", rank_correlation(optimal, cost), ""),
                ("median cost / optimal", float(np.median(cost / optimal)), "×"),
            )
        ]
    equal, unequal = panels.values()
    growth = mean_error(unequal[2], unequal[0]) / mean_error(equal[2], equal[0])
    rows.append(
        Row(
            "growth of the L1 embedding's mean error",
            *(growth, 4.0),
            unit="×",
            rival=True,
            unlike="the paper does not define its error",
        )
    )
    return Results(
        f"{n} generated sets, seed 0; {n * (n - 1) // 2} pairs in each of the two cases.",
        rows,
        tables=[ratios_by_fifths(panels)],
        panels=[drawn(name, costs) for name, costs in panels.items()],
    )


def all_costs(lab: Lab, name: str, sizes: np.ndarray, rng: np.random.Generator) -> Costs:
    """Optimal and approximate costs of all pairs of random sets."""
    sets = [rng.integers(1, SIDE + 1, (n, 2)) for n in sizes]
    pairs = np.triu_indices(len(sets), 1)
    match, embedding = approximate_costs(sets)
    return optimal_costs(lab, name, sets)[pairs], match[pairs], embedding[pairs]


def optimal_costs(lab: Lab, name: str, sets: list[np.ndarray]) -> np.ndarray:
    """Least cost of matching all points of the smaller set, for all pairs."""
    from scipy.optimize import linear_sum_assignment

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


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's."""
    from scipy.stats import spearmanr

    return float(spearmanr(first, second).statistic)


def mean_error(cost: np.ndarray, optimal: np.ndarray) -> float:
    """Mean difference from the optimal cost, in units of the mean optimal cost."""
    return float(np.mean(cost - optimal) / np.mean(optimal))


def ratios_by_fifths(panels: dict[str, Costs]) -> Table:
    """Median of cost / optimal in fifths of the pairs, from cheap to dear."""
    cells = []
    for name, (optimal, match, embedding) in panels.items():
        fifths = np.array_split(np.argsort(optimal), 5)
        for title, cost in (("pyramid match", match), ("L1 embedding", embedding)):
            ratios = [float(np.median(cost[part] / optimal[part])) for part in fifths]
            cells.append([f"{name}, {title}", *ratios])
    header = ("cost / optimal", "cheapest fifth", "2nd", "3rd", "4th", "dearest")
    return Table("Is the factor steady?", header, cells)


def drawn(name: str, costs: Costs) -> Panel:
    """All pairs, sorted by the optimal cost."""
    order = np.argsort(costs[0])
    titles = ("optimal partial matching", "pyramid match", "L1 embedding")
    lines = {t: (np.arange(order.size), one[order] / 1e3) for t, one in zip(titles, costs)}
    return Panel(name, "pairs, sorted by the optimal cost", "cost / 1000", lines, mark=".")
