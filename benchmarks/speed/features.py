"""Descriptors against OpenCV, scikit-image and NumPy on photographs of 640 × 480, results compared.

Run ``python -m benchmarks.speed.features``. CPU time of one thread for three photographs, best of
several rounds; compilation is measured apart, in processes of its own. The photographs are the
first three of the pedestrian scenes where VISUALWORDS_DATA has them, else scikit-image's.
"""

# isort: off
from benchmarks.timing import Table, best_cpu_seconds
# isort: on

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import cv2
import numpy as np
from skimage import data
from skimage.feature import hog

from benchmarks.data import DATA
from visualwords.features import HOG, Centrist, ColorHistogram, DenseFilters, DenseSIFT
from visualwords.images import read_image

FIRST_CALL = """
import json, sys, time
import numpy as np
import visualwords.features as features
image = np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)
extractor = eval("features." + sys.argv[1])
work = extractor.extract if extractor.is_local else extractor.describe
times = []
for _ in range(2):
    start = time.process_time()
    work(image)
    times.append(time.process_time() - start)
print(json.dumps(times[0] - times[1]))
"""


def photographs() -> np.ndarray:
    folder = DATA / "pedestrian" / "test" / "scenes"
    if folder.is_dir():
        paths = sorted(folder.rglob("*.*"))[:3]
        images = [read_image(path, mode="grey") for path in paths]
    else:
        names = (data.astronaut, data.coffee, data.chelsea)
        images = [cv2.cvtColor(name(), cv2.COLOR_RGB2GRAY) for name in names]
    return np.stack([cv2.resize(image, (640, 480)) for image in images])


def each(images: np.ndarray, work: Callable[[np.ndarray], object]) -> Callable[[], object]:
    return lambda: [work(image) for image in images]


def mean_cosine(a: np.ndarray, b: np.ndarray) -> float:
    """The mean over rows that are zero in neither."""
    a, b = a.astype(float), b.astype(float)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    used = lengths > 0
    return float(((a * b).sum(axis=1)[used] / lengths[used]).mean())


def compare_sift(images: np.ndarray) -> None:
    table = Table("DenseSIFT against cv2.SIFT.compute on the same patches, 3 images")
    peer = cv2.SIFT_create(sigma=0.5)  # the smoothing it assumes images to have: it adds none
    for bins, step, bar in (((4,), 4, 20), ((4, 6, 8, 10), 4, 50), ((4, 6, 8, 10), 8, 20)):
        extractor = DenseSIFT(bins, step)
        found = [extractor.extract(image) for image in images]
        places = found[0].positions * (640, 480) - 0.5
        points = [
            cv2.KeyPoint(float(x), float(y), float(size) / 6, 0)
            for (x, y), size in zip(places, found[0].sizes)
        ]
        cosines = [
            mean_cosine(one.descriptors, peer.compute(image, points)[1])
            for one, image in zip(found, images)
        ]
        work = f"bins {', '.join(map(str, bins))}; step {step}; {len(points)} patches"
        ours = best_cpu_seconds(each(images, extractor.extract))
        theirs = best_cpu_seconds(
            each(images, lambda image, points=points: peer.compute(image, points)), repeats=3
        )
        table.add(work, ours, theirs, bar)
        table.check("    mean cosine on patches that are not flat", min(cosines), 0.995)


def filters_with_opencv(image: np.ndarray) -> np.ndarray:
    """The result of ``DenseFilters()``, by OpenCV's filters and NumPy's indices."""
    x, u = np.arange(5) + 0.5, np.arange(5)[:, None]
    basis = np.where(u == 0, 1, np.sqrt(2)) / np.sqrt(5) * np.cos(np.pi * u * x / 5)
    triangle = np.array([1, 2, 3, 4, 3, 2, 1], np.float32) / 16
    pixels = image.astype(np.float32)
    found = [
        cv2.sepFilter2D(pixels, -1, basis[n], basis[total - n], borderType=cv2.BORDER_REFLECT_101)
        for total in (1, 2, 3)
        for n in range(total + 1)
    ]
    maps = [np.maximum(r, 0) for r in found] + [np.maximum(-r, 0) for r in found]
    pooled = [
        cv2.sepFilter2D(m, -1, triangle, triangle, borderType=cv2.BORDER_CONSTANT) for m in maps
    ]
    cells = np.stack(pooled, axis=2)[2::4, 2::4]
    patches = np.lib.stride_tricks.sliding_window_view(cells, (4, 4), axis=(0, 1))[::2, ::2]
    rows = patches.transpose(0, 1, 3, 4, 2).reshape(-1, 16 * len(maps))
    return 255 * np.sqrt(rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 5))


def compare_filters(images: np.ndarray) -> None:
    table = Table("DenseFilters against cv2.sepFilter2D and NumPy, 3 images")
    extractor = DenseFilters()
    cosines = [
        mean_cosine(extractor.extract(image).descriptors, filters_with_opencv(image))
        for image in images
    ]
    ours = best_cpu_seconds(each(images, extractor.extract))
    table.add("one scale, step 8", ours, best_cpu_seconds(each(images, filters_with_opencv)), 3)
    table.check("    mean cosine", min(cosines), 0.999)


def compare_hog(images: np.ndarray) -> None:
    table = Table("HOG (cells of 8, blocks of 2, 9 angles) against skimage.feature.hog, 3 images")

    def with_skimage(image: np.ndarray) -> np.ndarray:
        return hog(image, 9, (8, 8), (2, 2), block_norm="L2-Hys")

    error = max(np.abs(HOG().describe(i) - with_skimage(i)).max() for i in images)
    ours = best_cpu_seconds(each(images, HOG().describe))
    table.add("counted", ours, best_cpu_seconds(each(images, with_skimage), repeats=3), 50)
    table.check("    largest difference", float(error), 1e-6, at_least=False)


def census_plain(image: np.ndarray) -> np.ndarray:
    """Census and histogram as one writes them down."""
    height, width = image.shape
    center = image[1:-1, 1:-1]
    code = np.zeros(center.shape, np.uint8)
    for bit, n in zip(range(7, -1, -1), (0, 1, 2, 3, 5, 6, 7, 8)):
        y, x = divmod(n, 3)
        neighbour = image[y : y + height - 2, x : x + width - 2]
        code += ((center >= neighbour) * 2**bit).astype(np.uint8)
    return np.bincount(code.ravel(), minlength=256)


def compare_census(images: np.ndarray) -> None:
    table = Table("Centrist (census and histogram) against NumPy, 3 images, counts equal")
    for image in images:
        np.testing.assert_array_equal(Centrist().describe(image), census_plain(image))
    ours = best_cpu_seconds(each(images, Centrist().describe))
    table.add("as written down", ours, best_cpu_seconds(each(images, census_plain)), 12)


def compare_colors() -> None:
    image = np.ascontiguousarray(cv2.resize(data.astronaut(), (640, 480)))
    table = Table("ColorHistogram against cv2.calcHist, 640×480 RGB, counts equal")
    for bins in (4, 16):

        def with_opencv(b: int = bins) -> np.ndarray:
            return cv2.calcHist([image], [0, 1, 2], None, [b] * 3, [0, 256] * 3).ravel()

        extractor = ColorHistogram(bins)
        np.testing.assert_array_equal(extractor.describe(image), with_opencv())
        ours = best_cpu_seconds(lambda e=extractor: e.describe(image))
        table.add(f"{bins} bins a channel", ours, best_cpu_seconds(with_opencv), 1.3)


def measure_first_calls() -> None:
    print("\nFirst call, CPU seconds of compiling; bar 8 s cold, then from the cache")
    names = (
        "DenseSIFT()",
        "DenseFilters()",
        "HOG()",
        "HOG(interpolated=True)",
        "Centrist()",
        "Centrist('dense')",
        "ColorHistogram()",
        "KeypointSIFT()",
    )
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            seconds = [
                json.loads(
                    subprocess.run(
                        [sys.executable, "-c", FIRST_CALL, name],
                        env=environment,
                        capture_output=True,
                        text=True,
                        check=True,
                    ).stdout
                )
                for _ in range(2)
            ]
        verdict = "pass" if seconds[0] <= 8 else "MISS"
        print(f"{name:28s} {seconds[0]:6.2f} s cold {seconds[1]:6.2f} s cached  {verdict}")


def main() -> None:
    cv2.setNumThreads(1)
    images = photographs()
    compare_sift(images)
    compare_filters(images)
    compare_hog(images)
    compare_census(images)
    compare_colors()
    measure_first_calls()


if __name__ == "__main__":
    main()
