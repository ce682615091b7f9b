"""The hand-written vector loops against plain numba, on work that people wait for.

    python -m benchmarks.speed.vector_loops              # all, ten minutes
    python -m benchmarks.speed.vector_loops gram census     # some: see WORK

Each row times one whole call (a fit, a prediction) in two processes: as it is, and with plain
loops in place of the vector ones; both must compute the same. A hand-written loop stays if the
ratio is at least 1.5.
"""

from benchmarks.timing import Table, best_cpu_seconds  # first: it sets the number of threads

# isort: split
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from visualwords import compiled

BAR = 1.5
SAME = 4e-3  # length of the difference of two results: a cosine of 0.99999
LANES, BLOCK = 8, 16  # of the solver on a Gram matrix


def add_block(gram, rows, steps, scores):
    for v in range(gram.shape[1]):
        for k in range(BLOCK):
            value = gram[rows[k], v]
            for c in range(LANES):
                scores[v, c] += value * steps[k, c]


def step_lanes(i, k, y, diagonal, curvature, upper, live, alpha, here, extremes, changes):
    for c in range(LANES):
        old = alpha[i, c]
        gradient = y[i, c] * here[k, c] - 1.0 + diagonal * old
        projected = max(gradient, 0.0) if old >= upper else gradient
        projected = min(gradient, 0.0) if old <= 0.0 else projected
        extremes[0, c] = max(extremes[0, c], projected)
        extremes[1, c] = min(extremes[1, c], projected)
        if live[c] > 0.0:
            alpha[i, c] = min(max(old - gradient / curvature, 0.0), upper)
        changes[k, c] = (alpha[i, c] - old) * y[i, c]


def add_lanes(here, other, changes, k, factor):
    for c in range(LANES):
        here[other, c] += changes[k, c] * factor


def add_excess(lost, heights, start, stop, height, factor):
    for k in range(start, stop):
        lost[k] += factor * max(height - heights[k], np.float32(0))


def row_scores(columns, levels, start, stop, table, weights, out, rank, members):
    out[:] = 0
    for q in range(start, stop):
        j, level = columns[q], levels[q]
        for m in range(len(members)):
            for k in range(len(rank)):
                out[m] += weights[j, m * len(rank) + k] * table[level, k]


def row_update(columns, levels, start, stop, table, steps, weights, rank, members):
    for q in range(start, stop):
        j, level = columns[q], levels[q]
        for m in range(len(members)):
            for k in range(len(rank)):
                weights[j, m * len(rank) + k] += steps[m] * table[level, k]


def add_to_rows(values, cells, count, lane, source, i):
    for k in range(count):
        for c in range(LANES):
            values[cells[k], lane + c] += source[i, lane + c]


def add_rows(values, cells, count, lane, out, i):
    for k in range(count):
        for c in range(LANES):
            out[i, lane + c] += values[cells[k], lane + c]


def sum_of_differences(values, count):
    total = 0.0
    for k in range(count):
        total += float(values[k]) - float(values[k])
    return total


def come(codes, first, places, steps, total):
    for k in range(first, first + 16):
        place = places[codes[k]]
        places[codes[k]] += CENSUS_LEVEL
        for c in range(LANES):
            total[c] += steps[place + c]


def go(codes, first, places, steps, total):
    for k in range(first, first + 16):
        places[codes[k]] -= CENSUS_LEVEL
        place = places[codes[k]]
        for c in range(LANES):
            total[c] -= steps[place + c]


def sum_cell(codes, above, below, weights, cells, place):
    for c in range(LANES):
        cells[place + c] = 0
    for k in range(4):
        for c in range(LANES):
            upper = weights[np.int64(codes[above + k]) * LANES + c]
            cells[place + c] += upper + weights[np.int64(codes[below + k]) * LANES + c]


def nonzero(values, first):
    word = np.uint64(0)
    for k in range(64):
        word |= np.uint64(values[first + k] != 0) << np.uint64(k)
    return word


CENSUS_LEVEL = 256 * LANES + 16
PLAIN: dict[str, tuple[Callable, ...]] = {
    "classifiers.solvers._dual_gram": (add_block, step_lanes, add_lanes),
    "classifiers.solvers._dual_table": (add_excess,),
    "classifiers.solvers._dual_low_rank": (row_scores, row_update),
    "classifiers.tables._table_building": (add_to_rows,),
    "classifiers.tables._tables": (add_rows, sum_of_differences),
    "apps.detection._census_scores": (come, go, sum_cell),
    "simd": (nonzero,),
}


def _counts(n: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    from benchmarks.speed.generated_histograms import bag_of_words

    return bag_of_words(n)


def _photograph() -> np.ndarray:
    from skimage import data

    return np.ascontiguousarray(data.astronaut())


def work_gram() -> Callable[[], Any]:
    """Gram matrix of 1,500 bags of words (_intersection_uint8)."""
    from visualwords.classifiers.kernels.level_gram import level_gram

    levels = np.minimum(_counts()[0], 100).astype(np.uint8)
    return lambda: level_gram(levels)


def work_dual_gram() -> Callable[[], Any]:
    """ICDClassifier.fit of the same, 15 classes (_dual_gram; the Gram matrix as it is)."""
    from visualwords.classifiers import ICDClassifier

    X, y = _counts()
    return lambda: ICDClassifier(solver="gram", quantization="integer").fit(X, y)


def work_dual_table() -> Callable[[], Any]:
    """ICDClassifier.fit of 2,000 census windows by tables (_dual_table)."""
    from benchmarks.speed.generated_histograms import census_windows
    from visualwords.classifiers import ICDClassifier

    X, y = census_windows(2000)
    return lambda: ICDClassifier(solver="dual", quantization="integer").fit(X, y)


def work_low_rank() -> Callable[[], Any]:
    """PmSVMClassifier.fit of 1,500 bags of words, 15 classes (_dual_low_rank)."""
    from visualwords.classifiers import PmSVMClassifier

    X, y = _counts()
    X = X.astype(np.float64)
    return lambda: PmSVMClassifier().fit(X, y)


def work_table_building() -> Callable[[], Any]:
    """ICDClassifier.fit of 1,500 bags of words, 15 classes (_table_building)."""
    return work_dual_gram()


def work_tables() -> Callable[[], Any]:
    """ICDClassifier.decision_function of 1,500 bags of words, 15 classes (_tables)."""
    from visualwords.classifiers import ICDClassifier

    X, y = _counts()
    X = X.astype(np.float64)
    model = ICDClassifier().fit(X, y)
    return lambda: model.decision_function(X)


def work_fisher() -> Callable[[], Any]:
    """A Fisher vector of 4,000 SIFT descriptors (_fisher)."""
    from visualwords.codebook import FisherVectors
    from visualwords.features import DenseSIFT

    patches = DenseSIFT(4, 6).extract(_photograph())
    encoder = FisherVectors(64, 64, 8, random_state=0, max_descriptors=5000)
    encoder.fit(_sets(patches))
    return lambda: encoder.encode(patches)


def _sets(patches: Any) -> Any:
    from visualwords.features.local_features import LocalFeatureSets

    return LocalFeatureSets.concatenate([patches])


def work_nearest() -> Callable[[], Any]:
    """Words of the SIFT descriptors of a photograph, 500 words (_nearest)."""
    from visualwords.codebook import KMeansCodebook
    from visualwords.features import DenseSIFT

    patches = _sets(DenseSIFT(4, 4).extract(_photograph()))
    codebook = KMeansCodebook(500, random_state=0, max_iter=3).fit(patches)
    return lambda: codebook.predict(patches)


def work_census() -> Callable[[], Any]:
    """PedestrianDetector.detect with HIK everywhere, in a photograph (_census_scores)."""
    import visualwords

    detector, image = visualwords.load("pedestrian"), _photograph()
    detector.set_params(classifier="hik")
    return lambda: detector.detect(image)


WORK = {name.removeprefix("work_"): work for name, work in globals().items() if "work_" in name}
# the modules whose loops become plain; those not named follow VISUALWORDS_VECTOR_BYTES
MODULES = {
    "dual_gram": ("classifiers.solvers._dual_gram",),
    "dual_table": ("classifiers.solvers._dual_table", "simd"),
    "low_rank": ("classifiers.solvers._dual_low_rank",),
    "table_building": ("classifiers.tables._table_building",),
    "tables": ("classifiers.tables._tables", "simd"),
    "census": ("apps.detection._census_scores",),
}


def seconds_in_a_process(name: str, plain: bool) -> tuple[float, dict[str, np.ndarray]]:
    """CPU time of one call, in a new process with compiled code of its own; and its results."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        if plain and name not in MODULES:
            environment[compiled.OVERRIDE] = "0"
        results = os.path.join(folder, "results.npz")
        command = [sys.executable, "-m", "benchmarks.speed.vector_loops", "--measure", name]
        command += [results, "--plain"] if plain else [results]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        with np.load(results, allow_pickle=False) as arrays:
            return float(done.stdout.split()[-1]), dict(arrays)


def measure(name: str, results: str, plain: bool) -> None:
    """Print the CPU time of one call, with the loops of some modules replaced if ``plain``."""
    for module in MODULES.get(name, ()) if plain else ():
        target = importlib.import_module(f"visualwords.{module}")
        for function in PLAIN[module]:
            setattr(target, function.__name__, numba.njit(nogil=True)(function))
    work = WORK[name]()
    np.savez(results, **numbers_in(work()))
    print(best_cpu_seconds(work, repeats=7, at_least=0))


def numbers_in(result: Any) -> dict[str, np.ndarray]:
    """What a call computed, as arrays: of an estimator, everything that it learned."""
    if hasattr(result, "get_state"):
        state = result.get_state()
        return {key: value for key, value in state.items() if value.dtype.kind in "fiu"}
    return {str(k): part for k, part in enumerate(result if type(result) is tuple else [result])}


def largest_difference(some: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> float:
    """‖a − b‖ / ‖a‖ of the arrays of two results, the largest; ∞ if shapes differ."""
    if [(k, a.shape) for k, a in some.items()] != [(k, a.shape) for k, a in others.items()]:
        return np.inf
    shares = [0.0]
    for key, array in some.items():
        a, b = array.astype(float).ravel(), others[key].astype(float).ravel()
        shares.append(np.linalg.norm(a - b) / max(np.linalg.norm(a), 1e-30))
    return max(shares)


def main(names: list[str]) -> None:
    table = Table("hand-written vector loops (ours) against plain numba")
    for name in names or WORK:
        (ours, some), (plain, others) = (seconds_in_a_process(name, p) for p in (False, True))
        table.add((WORK[name].__doc__ or name).rstrip("."), ours, plain, BAR)
        table.check("    largest difference", largest_difference(some, others), SAME, False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], sys.argv[3], "--plain" in sys.argv)
    else:
        main(sys.argv[1:])
