"""ColorHistogram against OpenCV and NumPy on a photograph of 640 × 480, counts checked equal.

Run ``python -m benchmarks.speed.color``. CPU time of one thread, compilation not counted. The
NumPy peer is the quickest way found to number the colours before ``np.bincount``: shifts where the
number of bins is a power of two, tables otherwise.
"""

# isort: off
from benchmarks.timing import Table, best_cpu_seconds
# isort: on

import cv2
import numpy as np
from skimage import data

from visualwords.features import ColorHistogram


def with_opencv(image: np.ndarray, bins: int) -> np.ndarray:
    return cv2.calcHist([image], [0, 1, 2], None, [bins] * 3, [0, 256] * 3).ravel()


def with_bincount(image: np.ndarray, bins: int) -> np.ndarray:
    bits = bins.bit_length() - 1
    if 1 << bits == bins and bits <= 2:  # the number of a colour fits a byte
        level = image >> (8 - bits)
        color = level[..., 0] << (2 * bits) | level[..., 1] << bits | level[..., 2]
    else:
        level = np.arange(256) * bins // 256
        color = (level * bins * bins)[image[..., 0]] + (level * bins)[image[..., 1]]
        color += level[image[..., 2]]
    return np.bincount(color.ravel(), minlength=bins**3)


def main() -> None:
    cv2.setNumThreads(1)
    image = np.ascontiguousarray(cv2.resize(data.astronaut(), (640, 480)))
    for peer, other, bar in (
        ("cv2.calcHist", with_opencv, 1.3),
        ("np.bincount", with_bincount, 4.0),
    ):
        table = Table(f"ColorHistogram against {peer}, 640×480 RGB")
        for bins in (4, 6, 8, 16):
            extractor = ColorHistogram(bins)
            np.testing.assert_array_equal(extractor.describe(image), other(image, bins))
            ours = best_cpu_seconds(lambda e=extractor: e.describe(image))
            theirs = best_cpu_seconds(lambda o=other, b=bins: o(image, b))
            table.add(f"{bins} bins a channel", ours, theirs, bar)


if __name__ == "__main__":
    main()
