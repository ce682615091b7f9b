"""Bag-of-words histograms of the scene15 photographs, made with other people's parts.

Dense SIFT of OpenCV (bins of 4 pixels, every 8 pixels), 200 words of scikit-learn's k-means, and
31 windows: 1 + (4 + 1) + (16 + 9), where the 1 and the 9 are shifted by half a window. Natural
counts, window-major. Kept in the temporary directory, since making them takes minutes.
"""

from pathlib import Path

import cv2
import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import MiniBatchKMeans

from benchmarks.data import DATA, KEPT

N_WORDS = 200


def windows() -> list[tuple[float, float, float]]:
    """Left, top and side of the 31 windows in the unit square."""
    found = [(0.0, 0.0, 1.0)]
    for parts in (2, 4):
        side = 1 / parts
        found += [(x * side, y * side, side) for y in range(parts) for x in range(parts)]
        shifted = range(parts - 1)
        found += [((x + 0.5) * side, (y + 0.5) * side, side) for y in shifted for x in shifted]
    return found


def dense_sift(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Descriptors (n, 128) float32 and positions (n, 2) in the unit square."""
    image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_GRAYSCALE)
    height, width = image.shape
    grid = [(x, y) for y in range(8, height - 8, 8) for x in range(8, width - 8, 8)]
    # a bin of OpenCV's descriptor is 1.5 × size pixels wide: 8 / 3 gives bins of 4
    points = [cv2.KeyPoint(float(x), float(y), 8 / 3, 0.0) for x, y in grid]
    points, descriptors = cv2.SIFT_create().compute(image, points)
    where = np.array([(p.pt[0] / width, p.pt[1] / height) for p in points])
    return descriptors, where


def histogram(words: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Counts of all words in all windows, window-major."""
    parts = []
    for x, y, side in windows():
        inside = np.all((where >= (x, y)) & (where < (x + side, y + side)), axis=1)
        parts.append(np.bincount(words[inside], minlength=N_WORDS))
    return np.concatenate(parts).astype(np.uint16)


def scene15() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Histograms (n, 6200) uint16 and class numbers: train, its labels, test, its labels."""
    kept = KEPT / "scene15-sift-200-31.npz"
    if kept.is_file():
        with np.load(kept) as arrays:
            return tuple(arrays[name] for name in ("X", "y", "X_test", "y_test"))
    classes = sorted(path.name for path in (DATA / "scene15" / "train").iterdir() if path.is_dir())
    paths, labels = {}, {}
    for part in ("train", "test"):
        pairs = [
            (path, k)
            for k, name in enumerate(classes)
            for path in sorted((DATA / "scene15" / part / name).iterdir())
        ]
        paths[part], labels[part] = zip(*pairs)
    features = {
        part: Parallel(n_jobs=2)(delayed(dense_sift)(path) for path in paths[part])
        for part in paths
    }
    rng = np.random.default_rng(0)
    sample = np.concatenate([d[rng.integers(0, len(d), 60)] for d, _ in features["train"]])
    codebook = MiniBatchKMeans(N_WORDS, batch_size=4096, n_init=1, random_state=0).fit(sample)
    X, X_test = (
        np.stack([histogram(codebook.predict(d), where) for d, where in features[part]])
        for part in ("train", "test")
    )
    KEPT.mkdir(exist_ok=True)
    arrays = {"X": X, "y": np.array(labels["train"]), "X_test": X_test}
    np.savez_compressed(kept, **arrays, y_test=np.array(labels["test"]))
    return X, arrays["y"], X_test, np.array(labels["test"])


if __name__ == "__main__":
    X, y, X_test, y_test = scene15()
    print("train", X.shape, "test", X_test.shape, "non-zero", round(float((X > 0).mean()), 3))
