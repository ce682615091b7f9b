"""Speed of Gram matrices and of weighted hashing against SciPy, scikit-learn and datasketch.

    python -m benchmarks.speed.kernels            all
    python -m benchmarks.speed.kernels gram       only one of: gram, hash, compact

One thread, CPU time, best of several; every comparison first checks that both sides computed
the same.
"""

import sys

from benchmarks.timing import Table, best_cpu_seconds

import numba  # isort: skip - after the number of threads is set
import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import beta, betainc
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors

from visualwords.classifiers import GCWSHasher, kernels

SHARE = 10  # SciPy computes every tenth row; its time does not depend on the values
ROWS, COLUMNS = 3000, 6200


def city_block_route(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Intersection by SciPy: (Σx + Σy − |x − y|₁) / 2."""
    return (X.sum(axis=1)[:, None] + Y.sum(axis=1) - cdist(X, Y, "cityblock")) / 2


@numba.njit
def plain_loops(x: np.ndarray) -> np.ndarray:
    """The obvious numba function for bytes, upper half only."""
    out = np.zeros((len(x), len(x)), np.float32)
    for i in range(len(x)):
        for j in range(i, len(x)):
            total = 0
            for k in range(x.shape[1]):
                total += min(x[i, k], x[j, k])
            out[i, j] = total
            out[j, i] = total
    return out


def bench_gram() -> list[str]:
    """Histogram intersection of bytes, of float32, dense and a tenth full."""
    table = Table(f"intersection Gram matrix, {ROWS} × {COLUMNS}")
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 256, (ROWS, COLUMNS)).astype(np.uint8)
    words = np.where(rng.random((ROWS, COLUMNS)) < 0.1, 1 + rng.poisson(2, dense.shape), 0)
    words = words.astype(np.uint8)
    wide, head = dense.astype(np.float64), dense[::SHARE].astype(np.float64)
    city = SHARE * best_cpu_seconds(lambda: city_block_route(head, wide), repeats=2)
    np.testing.assert_array_equal(
        kernels.intersection(dense)[::SHARE], city_block_route(head, wide)
    )
    loops = best_cpu_seconds(lambda: plain_loops(dense[:600]), repeats=3) * (ROWS / 600) ** 2
    small = kernels.intersection(words[:600])
    np.testing.assert_array_equal(plain_loops(words[:600]), small)

    def ours(X: object) -> float:
        return best_cpu_seconds(lambda: kernels.intersection(X), repeats=3)

    for name, X in (("dense bytes", dense), ("BoW bytes, 10 % full", words)):
        seconds = ours(X)
        table.add(f"{name}: cdist cityblock", seconds, city, 100)
        table.add(f"{name}: plain numba bytes", seconds, loops, 6)
        rate = ROWS * ROWS * COLUMNS / 2 / seconds / 1e9
        print(f"    {rate:.0f} G minima computed a second (the other half by symmetry)")
    table.add("BoW CSR float64: cdist", ours(sparse.csr_array(words.astype(np.float64))), city)
    reals = rng.random((ROWS, COLUMNS), dtype=np.float32)
    np.testing.assert_allclose(
        kernels.intersection(reals)[:5], city_block_route(reals[:5].astype(float), reals), rtol=1e-5
    )
    table.add("dense float32: cdist", ours(reals), city, 20)
    table.add("BoW float32: cdist", ours(words * reals), city, 20)
    return table.missed


def bench_hash() -> list[str]:
    """GCWS against the better of datasketch's two methods, 256 hashes."""
    from datasketch import WeightedMinHashGenerator

    table = Table("GCWS, 256 hashes, per row")
    rng = np.random.default_rng(0)
    for name, n, d, full, bar in (
        ("dense d = 6200", 128, 6200, 1.0, 8),
        ("10 % full d = 6200", 512, 6200, 0.1, 25),
        ("dense d = 256", 2048, 256, 1.0, 25),
    ):
        X = rng.random((n, d)) * (rng.random((n, d)) < full)
        rows = sparse.csr_array(X) if full < 1 else X
        hasher = GCWSHasher(n_hashes=256, normalize=False).fit(rows)
        ours = best_cpu_seconds(lambda: hasher.codes(rows), repeats=3) / n  # noqa: B023
        some = X[: max(4, n // 64)]
        peer = WeightedMinHashGenerator(d, 256)
        one = best_cpu_seconds(lambda: [peer.minhash(x) for x in some], repeats=2)  # noqa: B023
        many = best_cpu_seconds(lambda: peer.minhash_many(some), repeats=2)  # noqa: B023
        table.add(f"{name}: datasketch", ours, min(one, many) / len(some), bar)
        _check_collisions(hasher, peer, X[:2], kernels.gmm(X[:2])[0, 1])
    return table.missed


def _check_collisions(hasher: GCWSHasher, peer: object, X: np.ndarray, expected: float) -> None:
    """Both estimate the same similarity: the draws differ, so within five standard errors."""
    i, t = hasher.codes(X)
    ours = np.mean((i[0] == i[1]) & (t[0] == t[1]))
    theirs = peer.minhash(X[0]).jaccard(peer.minhash(X[1]))  # type: ignore[attr-defined]
    assert max(abs(ours - expected), abs(theirs - expected)) < 5 * np.sqrt(0.25 / 256)


def bench_compact() -> list[str]:
    """GCS, dense and sparse, 3000 × 64."""
    table = Table("gcs, 3000 × 64")
    rng = np.random.default_rng(0)
    X = rng.random((3000, 64)) ** (1 + 3 * rng.random((3000, 1)))
    n, radius = 64, 6.0
    zero = 0.5 * beta((n + 1) / 2, 0.5)

    def closed_form(distances: np.ndarray, r: float) -> np.ndarray:
        u = np.minimum(distances / (2 * r), 1.0)
        return zero * betainc((n + 1) / 2, 0.5, (1 - u) * (1 + u))

    def by_betainc() -> np.ndarray:
        squares = np.einsum("ij,ij->i", X, X)
        squared = squares[:, None] + squares - 2 * X @ X.T
        np.fill_diagonal(squared, 0)
        return closed_form(np.sqrt(np.maximum(squared, 0)), radius)

    ours = best_cpu_seconds(lambda: kernels.gcs(X, radius=radius))
    error = np.abs(kernels.gcs(X, radius=radius) - closed_form(cdist(X, X), radius)).max() / zero
    table.add("dense: scipy.special.betainc", ours, best_cpu_seconds(by_betainc, repeats=2), 10)
    table.add("dense: rbf_kernel", ours, best_cpu_seconds(lambda: rbf_kernel(X)), 1)
    table.check("largest error over Φ(0)", error, 1e-12, at_least=False)
    end = np.quantile(cdist(X[::10], X), 0.1)
    thin = kernels.gcs(X, radius=end / 2, sparse=True)

    def by_neighbours() -> sparse.csr_matrix:
        found = NearestNeighbors(algorithm="brute").fit(X)
        graph = found.radius_neighbors_graph(X, end, mode="distance")
        graph.data = closed_form(graph.data, end / 2)
        return graph

    assert abs(thin - by_neighbours()).max() < 1e-5 * zero  # its distance of a point to itself
    seconds = best_cpu_seconds(lambda: kernels.gcs(X, radius=end / 2, sparse=True))
    peer = best_cpu_seconds(by_neighbours, repeats=2)
    table.add("90 % beyond the radius, sparse: radius neighbours", seconds, peer, 4)
    print(f"    {1 - thin.nnz / 9e6:.1%} of the sparse matrix is zero")
    return table.missed


PARTS = {"gram": bench_gram, "hash": bench_hash, "compact": bench_compact}

if __name__ == "__main__":
    missed = [work for name in sys.argv[1:] or PARTS for work in PARTS[name]()]
    print(f"\nmissed: {', '.join(missed) or 'none'}")
