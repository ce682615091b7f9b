"""Recall and speed of MinMaxIndex against comparing with everything.

    python -m benchmarks.speed.minmax_index

Letters and digits from the real data, and generated bags of words of 20,000 and 100,000 images and
histograms of 100,000; ten neighbours by NGMM. One thread, CPU time; the peer is the exact Gram
matrix of all queries at once and a partial sort. With 100,000 rows the bar is 10× at a recall of
0.95.
"""

from benchmarks.timing import Table, best_cpu_seconds  # first: it sets the number of threads

# isort: split
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.data import DATA
from visualwords.classifiers import MinMaxIndex, kernels

K = 10
LARGE = 100_000


def data() -> Iterator[tuple[str, Any, Any]]:
    """Names, stored rows and queries."""
    for name in ("pendigits", "letter"):
        parts = np.load(DATA / "tabular" / f"{name}.npz", allow_pickle=False)
        stored, queries = parts["X_train"], parts["X_test"][:500]
        yield f"{name}, {len(stored):,} × 16", stored.astype("f4"), queries.astype("f4")
    for n, n_scenes, d, density in ((20_000, 500, 2000, 0.02), (LARGE, 2500, 2000, 0.02)):
        rows = scenes(n + 500, n_scenes, d, density)
        yield f"bags of words, {n:,} × {d:,}", rows[:n], rows[n:]
    rows = scenes(LARGE + 500, 2500, 64, 0.3).toarray()
    yield f"histograms, {LARGE:,} × 64", rows[:LARGE], rows[LARGE:]


def scenes(n: int, n_scenes: int, d: int, density: float) -> Any:
    """Counts of 400 words in images of some scenes, each with a distribution of its own; CSR."""
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(d, density), n_scenes)
    parts = []
    for start in range(0, n, 5000):
        which = rng.integers(0, n_scenes, min(5000, n - start))
        parts.append(sparse.csr_matrix(rng.poisson(400 * words[which]).astype(np.float32)))
    return sparse.vstack(parts, format="csr")


def main() -> None:
    table = Table(f"{K} nearest of 500 queries by NGMM, 256 hashes")
    for name, stored, queries in data():
        index = MinMaxIndex(n_hashes=256).fit(stored)

        def exact(stored=stored, queries=queries) -> np.ndarray:
            return np.argpartition(-kernels.ngmm(queries, stored), K, axis=1)[:, :K]

        _, similarities = index.query(queries, K)
        every = kernels.ngmm(queries, stored)
        least = -np.partition(-every, K - 1, axis=1)[:, K - 1]
        recall = np.mean(similarities >= least[:, None] - 1e-6)
        ours = best_cpu_seconds(lambda: index.query(queries, K), repeats=3)  # noqa: B023
        bar = 10.0 if stored.shape[0] == LARGE else None
        table.add(f"{name}: all similarities", ours, best_cpu_seconds(exact, repeats=1), bar)
        table.check("    recall", float(recall), 0.95)
        print(f"    {index.codes_per_table_} codes a table")


if __name__ == "__main__":
    main()
