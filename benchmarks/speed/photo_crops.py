"""Many small images at hand: crops of 96×96 pixels of the photographs of Corel-1000.

Four of every five photographs give training crops, the fifth gives test crops, so that no
photograph is on both sides. The same numbers always give the same files.
"""

from pathlib import Path

import cv2
import numpy as np

from benchmarks.data import image_folder
from visualwords.images import read_image

SIDE = 96
QUALITY = 90


def write_crops(folder: Path, n: int, split: str = "train", seed: int = 0) -> Path:
    """Write n crops as JPEG files ``folder/class/number.jpg``; return the folder.

    Every photograph of the split gives about the same number, at random places and from the
    whole photograph's height down to half of it.
    """
    photographs = image_folder("corel1000")
    chosen = [i for i in range(len(photographs.paths)) if (i % 5 == 4) == (split == "test")]
    rng = np.random.default_rng([seed, split == "test"])
    shares = np.diff(np.linspace(0, n, len(chosen) + 1).astype(int))
    number = 0
    for i, count in zip(chosen, shares):
        image = read_image(photographs.paths[i])
        to = folder / photographs.labels[i]
        to.mkdir(parents=True, exist_ok=True)
        for _ in range(count):
            jpeg = cv2.imencode(".jpg", _crop(image, rng), [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1]
            (to / f"{number:07}.jpg").write_bytes(jpeg.tobytes())
            number += 1
    return folder


def _crop(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random square of a photograph, brought to the size of all crops, blue first."""
    shorter = min(image.shape[:2])
    side = int(rng.integers(shorter // 2, shorter + 1))
    top, left = (int(rng.integers(0, extent - side + 1)) for extent in image.shape[:2])
    part = image[top : top + side, left : left + side, ::-1]
    return cv2.resize(np.ascontiguousarray(part), (SIDE, SIDE), interpolation=cv2.INTER_AREA)
