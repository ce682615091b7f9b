"""PmSVMClassifier on data larger than the memory it may use, against the same in memory.

Run ``python -m benchmarks.speed.pmsvm_disk [rows]``: writes a float32 matrix of 1,000 columns (by
default 1.2 GB) to a temporary folder, and trains on it in a child process whose data segment is
limited to 1 GB, reading the mapped file in blocks; then, without a limit, in memory.
"""

# isort: off
from benchmarks.timing import Table
# isort: on

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from visualwords.classifiers import PmSVMClassifier
from visualwords.classifiers.low_rank.row_blocks import ArrayBlocks

CAP = 1 << 30
N_FEATURES, N_TEST = 1000, 20_000


def rows_of(n: int, rng: np.random.Generator, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Histograms of two classes, which differ a little in the mean; their sum is 10."""
    y = rng.integers(0, 2, n)
    X = rng.standard_exponential((n, N_FEATURES), np.float32) * means[y]
    X *= 10 / X.sum(axis=1, keepdims=True)
    return X, y


def write(folder: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    means = np.exp(0.08 * rng.normal(size=(2, N_FEATURES))).astype(np.float32)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n, N_FEATURES))
    y = np.empty(n, np.int64)
    for start in range(0, n, 20_000):
        part = slice(start, min(start + 20_000, n))
        X[part], y[part] = rows_of(part.stop - part.start, rng, means)
    np.save(folder / "y.npy", y)
    X_test, y_test = rows_of(N_TEST, rng, means)
    np.save(folder / "X_test.npy", X_test)
    np.save(folder / "y_test.npy", y_test)


def train(folder: Path, in_blocks: bool) -> None:
    """Print accuracy, passes, CPU seconds and the highest resident memory in MB."""
    y = np.load(folder / "y.npy")
    model = PmSVMClassifier()
    if in_blocks:
        resource.setrlimit(resource.RLIMIT_DATA, (CAP, CAP))
        X = np.load(folder / "X.npy", mmap_mode="r")
        model.fit_blocks(ArrayBlocks(X, y, n_rows=10_000), folder)
    else:
        model.fit(np.load(folder / "X.npy"), y)
    accuracy = model.score(np.load(folder / "X_test.npy"), np.load(folder / "y_test.npy"))
    status = Path("/proc/self/status").read_text()  # ru_maxrss would count the parent's memory
    memory = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(accuracy, model.n_iter_, time.process_time(), memory)


def main(n: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write(folder, n)
        size = (folder / "X.npy").stat().st_size / 2**20
        table = Table(f"training from disk: {n:,} × {N_FEATURES:,}, {size:,.0f} MB")
        results = {}
        for how in ("blocks", "memory"):
            command = [
                sys.executable,
                "-m",
                __spec__.name,
                "child",
                str(folder),
                how,
            ]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            results[how] = [float(v) for v in done.stdout.split()]
            _, passes, seconds, memory = results[how]
            print(f"{how}: {passes:.0f} passes, {seconds:.1f} s of CPU, {memory:,.0f} MB at most")
        table.check("data / limit", size / (CAP / 2**20), 1.0)
        table.check("MB in use, in blocks", results["blocks"][3], CAP / 2**20, at_least=False)
        table.check("accuracy in %, in memory", 100 * results["memory"][0], 0)
        table.check(
            "accuracy in %, in blocks", 100 * results["blocks"][0], 100 * results["memory"][0] - 0.1
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        train(Path(sys.argv[2]), sys.argv[3] == "blocks")
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 300_000)
