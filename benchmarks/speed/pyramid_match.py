"""The pyramid match of all pairs of sets, against a compiled merge of sorted bins per pair.

    python -m benchmarks.speed.pyramid_match

500 sets of about 1,300 points in 12 dimensions, three shifts. The merge is what the paper
describes (Sec. 3.4): bins of every level sorted by their number beforehand, which is not counted
here, then one pass over both lists for every pair, shift and level. It runs on 40 of the sets.
"""

# isort: off
from benchmarks.timing import Table, best_cpu_seconds
# isort: on

import numpy as np

from benchmarks.data import DATA
from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import FeatureSetEncoder, FeatureSets
from visualwords.codebook.grid_bins import GridBins
from visualwords.compiled import njit
from visualwords.features import DenseSIFT
from visualwords.images import read_image

N_SETS, N_MERGED, SIDE, SHIFTS, DIMENSIONS = 500, 40, 256, 3, 12


@njit()
def merge(keys, counts, starts, weights, gram):
    """gram[a, b] = Σ_levels weight · Σ_bins min; keys of a level begin at starts[set, level]."""
    for a in range(gram.shape[0]):
        for b in range(a + 1, gram.shape[0]):
            total = 0.0
            for level in range(weights.size):
                i, j = starts[a, level], starts[b, level]
                end_i, end_j = starts[a, level + 1], starts[b, level + 1]
                common = 0
                while i < end_i and j < end_j:
                    if keys[i] < keys[j]:
                        i += 1
                    elif keys[i] > keys[j]:
                        j += 1
                    else:
                        common += min(counts[i], counts[j])
                        i += 1
                        j += 1
                total += weights[level] * common
            gram[a, b] = total


def sorted_bins(sets, grid):
    """The pyramids of all sets as sorted bin numbers and counts, for ``merge``."""
    keys, counts, starts, weights = [], [], [[0] for _ in sets], []
    per_level = []
    for shift in grid.shifts_:
        for level in range(grid.top_level):
            cells = (sets.points + shift) >> level
            mixed = np.zeros(len(cells), np.uint64)
            for column in cells.T.astype(np.uint64):  # a hash: 64 bits can't hold 12 coordinates
                mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
            per_level.append(mixed)
            weights.append(2.0 ** -(level + 1))
    total = 0
    for s in range(len(sets)):
        for mixed in per_level:
            k, c = np.unique(mixed[sets.offsets[s] : sets.offsets[s + 1]], return_counts=True)
            keys.append(k)
            counts.append(c.astype(np.int32))
            total += len(k)
            starts[s].append(total)
        if s + 1 < len(sets):
            starts[s + 1][0] = total
    return np.concatenate(keys), np.concatenate(counts), np.array(starts), np.array(weights)


def generated(kind, mean_size, rng, n_sets=N_SETS):
    """Sets of uniform points, or of points around 300 centres."""
    sizes = rng.integers(int(mean_size * 0.92), int(mean_size * 1.08), n_sets)
    if kind == "uniform":
        return [rng.integers(0, SIDE, (n, DIMENSIONS)) for n in sizes]
    centers = rng.integers(0, SIDE, (300, DIMENSIONS))
    noise = [rng.normal(0, 12, (n, DIMENSIONS)) for n in sizes]
    return [
        np.clip(centers[rng.integers(0, 300, len(e))] + e, 0, SIDE - 1).astype(int) for e in noise
    ]


def photographs():
    """Dense SIFT of 500 photographs, 10 components and positions; None without the data."""
    paths = sorted((DATA / "caltech101" / "train").glob("*/*.jpg"))
    if len(paths) < N_SETS:
        return None
    chosen = np.random.default_rng(0).permutation(len(paths))[:N_SETS]
    images = [read_image(paths[i], mode="grey") for i in chosen]
    features = DenseSIFT(bin_size=4, step=7).transform(images)
    return list(FeatureSetEncoder(side=SIDE, skip_blank=False).fit_transform(features))


def compare(table, name, sets):
    """One row: a pair's time here and by merging, after checking that both agree."""
    options = {"n_shifts": SHIFTS, "normalization": None, "side": SIDE}
    few = FeatureSets.from_arrays(sets[:N_MERGED], SIDE)
    grid = GridBins(SIDE, SHIFTS).fit(few.points)
    pyramids = sorted_bins(few, grid)
    merged = np.zeros((N_MERGED, N_MERGED))
    merge(*pyramids, merged)
    merged += SHIFTS * grid.top_weight * np.minimum.outer(few.sizes, few.sizes)
    above = np.triu_indices(N_MERGED, 1)
    ours = pyramid_match(sets, **options)
    if not np.array_equal(ours[:N_MERGED, :N_MERGED][above], merged[above]):
        raise SystemExit(f"{name}: the merge disagrees")
    pairs = len(sets) * (len(sets) - 1) / 2
    spent = best_cpu_seconds(lambda: pyramid_match(sets, **options), repeats=5)
    peer = best_cpu_seconds(lambda: merge(*pyramids, merged), repeats=3)
    table.add(f"{name}: a pair", spent / pairs, peer / len(above[0]), bar=80)
    table.check(f"{name}: microseconds a pair, all in", spent / pairs * 1e6, 4, at_least=False)


def growth(table, kind):
    """Exponent of time in the number of points, between 650 and 2,600 a set."""
    rng = np.random.default_rng(1)
    sizes = [650, 1300, 2600]
    seconds = []
    for size in sizes:
        sets = FeatureSets.from_arrays(generated(kind, size, rng, 200), SIDE)
        seconds.append(best_cpu_seconds(lambda s=sets: pyramid_match(s, n_shifts=SHIFTS), 5))
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    shown = ", ".join(f"{s * 1e3:.0f} ms" for s in seconds)
    table.check(f"{kind}: time ~ points^x ({shown})", exponent, 1.15, at_least=False)


def main():
    rng = np.random.default_rng(0)
    table = Table("Pyramid match, 500 sets × 1,300 points × 12 dimensions, 3 shifts; CPU time")
    for kind in ("uniform", "clustered"):
        compare(table, kind, generated(kind, 1300, rng))
    real = photographs()
    if real is not None:
        compare(table, f"photographs ({np.mean([len(s) for s in real]):.0f} points)", real)
    for kind in ("uniform", "clustered"):
        growth(table, kind)


if __name__ == "__main__":
    main()
