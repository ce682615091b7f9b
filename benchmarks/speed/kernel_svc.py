"""Training of ``KernelSVC`` against LIBSVM, and prediction of one row.

    python -m benchmarks.speed.kernel_svc         all
    python -m benchmarks.speed.kernel_svc pairs   only some of: pairs, rest, predict

One thread, CPU time, best of several; both sides get the same Gram matrix and must give the same
scores.
"""

import sys

from benchmarks.timing import Table, best_cpu_seconds

import numpy as np  # isort: skip - after the number of threads is set
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from benchmarks.data import DATA
from visualwords.classifiers import KernelSVC, kernels

C = 10.0


def bench_pairs() -> list[str]:
    """One-vs-one."""
    peer = SVC(kernel="precomputed", C=C)
    return _compare("pairs of classes", KernelSVC("precomputed", C=C, multi_class="ovo"), peer)


def bench_rest() -> list[str]:
    """One-vs-rest."""
    peer = OneVsRestClassifier(SVC(kernel="precomputed", C=C))
    return _compare("one class against the rest", KernelSVC("precomputed", C=C), peer)


def _compare(title: str, model: KernelSVC, peer: SVC | OneVsRestClassifier) -> list[str]:
    table = Table(f"{title}, GMM kernel precomputed, C = {C:g}, against SVC")
    for name in ("satimage", "optdigits", "letter"):
        with np.load(DATA / "tabular" / f"{name}.npz") as arrays:
            X, y = arrays["X_train"][:8000], arrays["y_train"][:8000]
        gram = kernels.gmm(X).astype(np.float64)
        scores = [each.fit(gram, y).decision_function(gram[:99]) for each in (model, peer)]
        np.testing.assert_allclose(*scores, atol=1e-6)
        times = [best_cpu_seconds(lambda: each.fit(gram, y), repeats=5) for each in (model, peer)]  # noqa: B023
        table.add(f"{name}, {len(y):,} rows", *times, bar=0.95)
    return table.missed


def bench_predict() -> list[str]:
    """One row of 6,200 shares against 1,500 training rows, a fifth full, and the state's size."""
    table = Table("one row against 1,500 × 6,200 training rows: milliseconds, then megabytes")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 15, 1500)
    counts = rng.poisson(0.5 * rng.random((15, 6200))[y] ** 2)
    rows = sparse.csr_array((counts / 256).astype(np.float32))
    for name in ("intersection", "gcs", "chi2"):
        model = KernelSVC(name).fit(rows, y)
        once = best_cpu_seconds(lambda: model.predict(rows[:1]), repeats=5)  # noqa: B023
        table.check(f"{name}, {model.support_.size} support vectors, ms", 1e3 * once, 100, False)
        size = sum(array.nbytes for array in model.get_state().values())
        table.check(f"{name}, MB", size / 1e6, 20, at_least=False)
    return table.missed


if __name__ == "__main__":
    parts = {"pairs": bench_pairs, "rest": bench_rest, "predict": bench_predict}
    missed = [work for part in sys.argv[1:] or parts for work in parts[part]()]
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)
