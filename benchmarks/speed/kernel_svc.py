"""Training of ``KernelSVC`` against LIBSVM, and prediction of one row.

    python -m benchmarks.speed.kernel_svc         all
    python -m benchmarks.speed.kernel_svc pairs   only some of: pairs, rest, cache, path, predict

One thread, CPU time, best of several; both sides get the same Gram matrix (or, in ``cache``, the
same kernel and the same megabytes for its rows), and their dual objectives must agree.
"""

import sys
from itertools import combinations

from benchmarks.timing import Table, best_cpu_seconds

import numpy as np  # isort: skip - after the number of threads is set
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from benchmarks.data import DATA
from visualwords.classifiers import KernelSVC, kernels

C = 10.0


def tabular(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The training rows and labels of a data set."""
    with np.load(DATA / "tabular" / f"{name}.npz") as arrays:
        return arrays["X_train"], arrays["y_train"]


def objective(gram: np.ndarray, peer: SVC, y: np.ndarray) -> float:
    """LIBSVM's dual objective of two classes, ½ βᵀKβ − yᵀβ."""
    beta = peer.dual_coef_[0]
    signs = np.where(y[peer.support_] == peer.classes_[1], 1.0, -1.0)
    return float(beta @ gram[np.ix_(peer.support_, peer.support_)] @ beta / 2 - signs @ beta)


def rest_objectives(gram: np.ndarray, y: np.ndarray, **settings: float) -> list[float]:
    """LIBSVM's objectives of every class against the rest."""
    found = []
    for label in np.unique(y):
        peer = SVC(kernel="precomputed", **settings).fit(gram, y == label)
        found.append(objective(gram, peer, y == label))
    return found


def pair_objectives(gram: np.ndarray, y: np.ndarray) -> list[float]:
    """LIBSVM's objectives of every pair of classes."""
    found = []
    for pair in combinations(np.unique(y), 2):
        members = np.flatnonzero(np.isin(y, pair))
        part = gram[np.ix_(members, members)]
        found.append(
            objective(part, SVC(kernel="precomputed", C=C).fit(part, y[members]), y[members])
        )
    return found


def bench_pairs() -> list[str]:
    """One-vs-one on a Gram matrix in memory."""
    table = Table(f"pairs of classes, GMM kernel precomputed, C = {C:g}, against SVC")
    for name in ("satimage", "optdigits", "letter"):
        X, y = tabular(name)
        X, y = X[:8000], y[:8000]
        gram = kernels.gmm(X).astype(np.float64)
        model, peer = (
            KernelSVC("precomputed", C=C, multi_class="ovo"),
            SVC(kernel="precomputed", C=C),
        )
        model.fit(gram, y)
        np.testing.assert_allclose(model.objective_, pair_objectives(gram, y), rtol=1e-4)
        times = [best_cpu_seconds(lambda: each.fit(gram, y), repeats=5) for each in (model, peer)]  # noqa: B023
        table.add(f"{name}, {len(y):,} rows", *times, bar=1.2)
    return table.missed


def bench_rest() -> list[str]:
    """One-vs-rest on a Gram matrix in memory."""
    table = Table(f"one class against the rest, GMM precomputed, C = {C:g}, against SVC")
    for name in ("satimage", "optdigits", "letter"):
        X, y = tabular(name)
        X, y = X[:8000], y[:8000]
        gram = kernels.gmm(X).astype(np.float64)
        model = KernelSVC("precomputed", C=C)
        peer = OneVsRestClassifier(SVC(kernel="precomputed", C=C))
        model.fit(gram, y)
        np.testing.assert_allclose(model.objective_, rest_objectives(gram, y, C=C), rtol=1e-4)
        times = [best_cpu_seconds(lambda: each.fit(gram, y), repeats=3) for each in (model, peer)]  # noqa: B023
        table.add(f"{name}, {len(y):,} rows", *times, bar=2)
    return table.missed


def bench_cache() -> list[str]:
    """Rows of the polynomial kernel on demand, with as many megabytes for them as LIBSVM."""
    table = Table("rows on demand, (1 + <x, y>)^3, C = 1, equal cache, against SVC(kernel='poly')")
    for name, megabytes in (("satimage", 20), ("satimage", 5), ("optdigits", 15), ("letter", 50)):
        X, y = tabular(name)
        X, y = X[:8000] / X.max(), y[:8000]
        params = {"degree": 3, "gamma": 1.0}
        native = {"kernel": "poly", **params, "coef0": 1, "cache_size": megabytes}
        for pairs in (False, True):
            kind = "ovo" if pairs else "ovr"
            model = KernelSVC("polynomial", kernel_params=params, cache_size=megabytes)
            model.set_params(multi_class=kind).fit(X, y)
            if not pairs and len(y) < 5000:
                expected = rest_objectives(kernels.polynomial(X, **params), y, C=1.0)
                np.testing.assert_allclose(model.objective_, expected, rtol=1e-3)
            peer = SVC(**native) if pairs else OneVsRestClassifier(SVC(**native))
            times = [best_cpu_seconds(lambda: each.fit(X, y), repeats=2) for each in (model, peer)]  # noqa: B023
            size = 4 * len(y) ** 2 / 1e6
            table.add(f"{name} {kind}, {megabytes} of {size:.0f} MB", *times, bar=1)
    return table.missed


def bench_path() -> list[str]:
    """A path of ten values of C, each fit beginning from the one before."""
    table = Table("ten values of C from 1 to 100, GMM precomputed: warm starts against cold ones")
    for name in ("satimage", "optdigits"):
        X, y = tabular(name)
        gram = kernels.gmm(X)
        path = np.geomspace(1, 100, 10)

        def fit(warm_start: bool, gram=gram, y=y, path=path) -> None:
            model = KernelSVC("precomputed", warm_start=warm_start)
            for cost in path:
                model.set_params(C=cost).fit(gram, y)

        times = [best_cpu_seconds(lambda: fit(warm), repeats=2) for warm in (True, False)]  # noqa: B023
        table.add(name, *times)
    return table.missed


def bench_predict() -> list[str]:
    """One row of 6,200 shares against 1,500 training rows, a fifth full, and the state's size."""
    table = Table("one row against 1,500 × 6,200 training rows: milliseconds, then megabytes")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 15, 1500)
    counts = rng.poisson(0.5 * rng.random((15, 6200))[y] ** 2)
    rows = sparse.csr_array((counts / 256).astype(np.float32))
    for name in kernels.__all__:
        if name == "pyramid_match":
            continue
        model = KernelSVC(name).fit(rows, y)
        once = best_cpu_seconds(lambda: model.predict(rows[:1]), repeats=5)  # noqa: B023
        table.check(f"{name}, {model.support_.size} support vectors, ms", 1e3 * once, 30, False)
        size = sum(array.nbytes for array in model.get_state().values())
        table.check(f"{name}, MB", size / 1e6, 20, at_least=False)
    return table.missed


if __name__ == "__main__":
    parts = {
        "pairs": bench_pairs,
        "rest": bench_rest,
        "cache": bench_cache,
        "path": bench_path,
        "predict": bench_predict,
    }
    missed = [work for part in sys.argv[1:] or parts for work in parts[part]()]
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)
