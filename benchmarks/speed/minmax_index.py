"""Recall and speed of MinMaxIndex against comparing with everything.

    python -m benchmarks.speed.minmax_index

Letters, digits and colour histograms from the real data; ten neighbours by NGMM. One thread,
CPU time; the peer is the exact Gram matrix of all queries at once and a partial sort.
"""

from benchmarks.timing import Table, best_cpu_seconds

import numpy as np  # isort: skip - after the number of threads is set

from benchmarks.data import DATA
from visualwords.classifiers import MinMaxIndex, kernels

K = 10


def data() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Stored rows and queries of each set."""
    sets = {}
    for name in ("pendigits", "letter"):
        parts = np.load(DATA / "tabular" / f"{name}.npz", allow_pickle=False)
        sets[name] = parts["X_train"].astype(np.float32), parts["X_test"][:500].astype(np.float32)
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(2000, 0.02), 500)  # 500 scenes with words of their own
    scenes = rng.integers(0, 500, 20_500)
    counts = rng.poisson(400 * words[scenes]).astype(np.float32)
    sets["BoW-like, 20,000 × 2,000"] = counts[:20_000], counts[20_000:]
    return sets


def main() -> None:
    table = Table(f"{K} nearest of 500 queries by NGMM, 256 hashes")
    for name, (stored, queries) in data().items():
        index = MinMaxIndex(n_hashes=256).fit(stored)

        def exact(stored=stored, queries=queries) -> np.ndarray:
            return np.argpartition(-kernels.ngmm(queries, stored), K, axis=1)[:, :K]

        report = index.evaluate(queries, K)
        ours = best_cpu_seconds(lambda: index.query(queries, K), repeats=3)  # noqa: B023
        table.add(f"{name}: all similarities", ours, best_cpu_seconds(exact, repeats=3))
        print(
            f"    recall {report.recall:.3f}, {report.scanned:.2%} of the rows compared, "
            f"{index.codes_per_table_} codes a table"
        )


if __name__ == "__main__":
    main()
