"""The linear SVM of bytes in blocks of rows against scikit-learn's linear classifiers.

    python -m benchmarks.speed.byte_classifier [--rows 20000] [--without LinearSVC]
    python -m benchmarks.speed.byte_classifier --rows 5000 --ways 1000 2000 4000

Rows are Fisher vectors and colours (recipe ``fisher``) of photographs' crops in ten classes, every
other column; peers get the same rows as float32 of mean squared length 1. ``LinearSVC`` solves the
same problem with the same stopping rule; ``SGDClassifier`` is averaged. CPU time of one thread;
accuracy on crops of other photographs. ``LinearSVC`` copies dense rows into 16 bytes a number:
20,000 rows of 33,000 columns take it 10 GB. ``--ways`` trains on parts of the rows on the matrix
of all products and in blocks, without and with five folds.
"""

import argparse
import time
from functools import partial

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from benchmarks import timing  # noqa: F401  sets the threads before NumPy starts
from benchmarks.data import KEPT
from benchmarks.speed.training_at_size import TEST, crops
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoder import rows_of
from visualwords.apps.pipeline.recipes import find_recipe
from visualwords.apps.pipeline.stages import encode_each, learn
from visualwords.apps.pipeline.training import FOLDS
from visualwords.classifiers.linear import ByteLinearClassifier
from visualwords.classifiers.solvers import byte_rows

C = 10.0
TOL = 0.1  # LIBLINEAR's own, and ours


def rows_of_crops(n: int) -> list[np.ndarray]:
    """Rows and classes of n training crops, and of the test crops; both are kept."""
    kept = KEPT / f"fisher-bytes-{n}.npz"
    if not kept.exists():
        env, recipe = ImageClassifier(n_jobs=1).environment(None), find_recipe("fisher")
        data = [Dataset.of(crops(n), None, None), Dataset.of(crops(TEST, "test"), None, None)]
        encoders = learn(recipe.channels, data[0], recipe.view, env, 0)
        made = []
        for part in data:
            stream = encode_each(encoders, part, recipe.view, env)
            made += [np.stack([rows_of(encoders, [list(a)])[0, ::2] for a in stream]), part.codes]
        np.savez(kept, *made)
    return list(np.load(kept).values())


def cpu_seconds(work: object) -> tuple[object, float]:
    """A function's result and its CPU time."""
    start = time.process_time()
    return work(), time.process_time() - start


def compare_ways(X: np.ndarray, y: np.ndarray, sizes: list[int]) -> None:
    """Train on parts of the rows on the matrix of products and in blocks, and print."""
    order = np.random.default_rng(0).permutation(len(X))
    for n in sizes:
        some = np.sort(order[:n])  # neighbours, often crops of one photograph, share a fold
        part, classes, folds = X[some], y[some], np.arange(n) * 10 * FOLDS // n % FOLDS
        for way in ("matrix", "blocks"):
            byte_rows.gram_is_faster = lambda *shape, way=way: way == "matrix"
            model = ByteLinearClassifier(C=C)
            _, plain = cpu_seconds(partial(model.fit, part, classes))
            held_out, with_folds = cpu_seconds(
                partial(model.fit_and_hold_out, part, classes, folds)
            )
            right = np.mean(held_out.argmax(axis=1) == classes)
            print(
                f"{n:7d} {way:7s} {plain:6.2f} s, with folds {with_folds:6.2f} s {right:7.1%} "
                f"  {model.n_iter_} passes",
                flush=True,
            )


def main() -> None:
    """Train each once, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=33_000)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--ways", type=int, nargs="+")
    options = parser.parse_args()
    X, y, Xt, yt = rows_of_crops(options.rows)
    X, Xt = X[:, : options.columns].copy(), Xt[:, : options.columns].copy()
    ByteLinearClassifier().fit(X[:: len(X) // 5000], y[:: len(X) // 5000])  # compiles
    if options.ways:
        compare_ways(X, y, options.ways)
        return
    ours, ours_seconds = cpu_seconds(lambda: ByteLinearClassifier(C=C).fit(X, y))
    print(f"{len(X)} rows of {X.shape[1]} bytes, {len(np.unique(y))} classes")
    right = float(np.mean(ours.predict(Xt) == yt))
    print(
        f"{'ByteLinearClassifier':22s} {ours_seconds:7.1f} s {right:7.1%}   {ours.n_iter_} passes"
    )
    scale = np.float32(1 / np.sqrt((X.astype(np.float32) ** 2).sum(axis=1).mean()))
    X, Xt = X.astype(np.float32) * scale, Xt.astype(np.float32) * scale
    peers = {
        "LinearSVC": LinearSVC(C=C, dual=True, tol=TOL, fit_intercept=False),
        "SGDClassifier": SGDClassifier(
            "hinge", alpha=1 / (C * len(X)), fit_intercept=False, random_state=0, average=True
        ),
    }
    for name, peer in peers.items():
        if name in options.without:
            continue
        _, seconds = cpu_seconds(lambda peer=peer: peer.fit(X, y))
        right = float(np.mean(peer.predict(Xt) == yt))
        print(
            f"{name:22s} {seconds:7.1f} s {right:7.1%}   {seconds / ours_seconds:.1f}×", flush=True
        )


if __name__ == "__main__":
    main()
