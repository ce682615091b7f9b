"""Similar training images: the signatures of a model's gallery against MinMaxIndex.

    python -m benchmarks.speed.similar

Rows like those of 200 words in 31 windows, a seventh full; one query for five images. One thread,
CPU time, and the bytes that a model file would keep.
"""

from benchmarks.timing import Table, best_cpu_seconds

import numpy as np  # isort: skip - after the number of threads is set
from scipy import sparse

from visualwords.apps.pipeline.similarity import Gallery, Signer, sketch_rows
from visualwords.classifiers import MinMaxIndex

COLUMNS, SCENES = 6200, 15


def rows_of(n: int) -> sparse.csr_array:
    """Counts of words of images of 15 scenes."""
    rng = np.random.default_rng(0)
    means = 0.5 * rng.random((SCENES, COLUMNS)) ** 2
    parts = [rng.poisson(means[np.arange(s, min(s + 500, n)) % SCENES]) for s in range(0, n, 500)]
    return sparse.vstack([sparse.csr_array(p.astype(np.float32)) for p in parts], format="csr")


def main() -> None:
    for n in (1_500, 10_000):
        rows = rows_of(n)
        sketch = sketch_rows(rows)
        signer = Signer().fit(sketch)
        signatures, lengths = signer.sign(sketch)
        gallery = Gallery(signer, signatures, [""] * n, np.full(n, ""), None, lengths)
        index = MinMaxIndex().fit(rows)
        query = rows[[7]]
        table = Table(f"five similar of {n:,} images (ours: signatures, peer: MinMaxIndex)")
        table.add(
            "one query",
            best_cpu_seconds(lambda: gallery.query(query, 5), repeats=3),  # noqa: B023
            best_cpu_seconds(lambda: index.query(query, 5), repeats=3),  # noqa: B023
        )
        kept = sum(array.nbytes for array in gallery.get_state().values())
        stored = 4 * index.rows_.nnz  # float16 and uint16, as KernelSVC keeps rows
        print(f"    {kept / 1e6:.1f} MB of signatures, {stored / 1e6:.1f} MB of rows")


if __name__ == "__main__":
    main()
