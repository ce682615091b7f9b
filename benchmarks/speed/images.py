"""Reading images: grey working images from JPEGs against Pillow's RGB path, and scanning folders.

The pictures are noise with the spectrum of photographs (amplitude 1/f), saved as cameras do:
quality 90, chroma at half resolution. The peer decodes to RGB by Pillow and makes that grey by the
quickest way there is, OpenCV's; a line without a bar is its decoding to RGB alone.
"""

# isort: off
from benchmarks.timing import Table, best_cpu_seconds
# isort: on

import io
import os
import tempfile
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

import visualwords.decoding as decoding
from visualwords.folders import ImageFolder
from visualwords.images import read_image, shrink

SIZES_WH = {2: (1632, 1224), 8: (3264, 2448), 12: (4000, 3000)}  # megapixels → sides
BAR = 1.9
REPEATS = 15
N_FILES, N_CLASSES = 100_000, 100
SCAN_BAR = 5.0


def camera_jpeg(size_wh: tuple[int, int], seed: int = 0) -> bytes:
    """Return a JPEG of coloured 1/f noise."""
    width, height = size_wh
    rng = np.random.default_rng(seed)
    scene = np.zeros((height, width, 3), np.float32)
    side = 4
    while side < 2 * width:
        octave = rng.normal(size=(-(-side * height // width), side, 3)).astype(np.float32)
        scene += cv2.resize(octave, size_wh, interpolation=cv2.INTER_CUBIC) * (40 / np.log2(side))
        side *= 2
    chroma = scene - scene.mean(axis=2, keepdims=True)
    scene = 128 + scene - 0.7 * chroma  # photographs vary more in brightness than in colour
    buffer = io.BytesIO()
    Image.fromarray(scene.clip(0, 255).astype(np.uint8)).save(
        buffer, "JPEG", quality=90, subsampling=2
    )
    return buffer.getvalue()


def pillow_rgb(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def grey_through_pillow_rgb(data: bytes, max_side: int | None = None) -> np.ndarray:
    return shrink(cv2.cvtColor(pillow_rgb(data), cv2.COLOR_RGB2GRAY), max_side)


def check_same_picture(data: bytes, max_side: int | None, tolerance: float) -> None:
    """Assert that our grey is, but for rounding, the grey of what Pillow decodes."""
    ours = read_image(data, mode="grey", max_side=max_side).astype(int)
    assert np.abs(ours - grey_through_pillow_rgb(data, max_side)).mean() < tolerance


def measure_decoding(table: Table) -> None:
    simplejpeg = decoding.simplejpeg
    for megapixels, size_wh in SIZES_WH.items():
        data = camera_jpeg(size_wh)
        print(f"{megapixels} MP, {8 * len(data) / np.prod(size_wh):.2f} bits a pixel")
        peer_rgb = best_cpu_seconds(partial(pillow_rgb, data), REPEATS)
        peer = best_cpu_seconds(partial(grey_through_pillow_rgb, data), REPEATS)
        peer_small = best_cpu_seconds(partial(grey_through_pillow_rgb, data, 512), REPEATS)
        for module in (simplejpeg, None) if simplejpeg else (None,):
            decoding.simplejpeg = module
            check_same_picture(data, None, tolerance=1)
            check_same_picture(data, 512, tolerance=4)
            how = "with simplejpeg" if module else "without"
            ours = best_cpu_seconds(partial(read_image, data, "grey"), REPEATS)
            table.add(f"{megapixels} MP to grey, {how}", ours, peer, BAR)
            table.add(f"{megapixels} MP to grey against RGB, {how}", ours, peer_rgb)
            ours = best_cpu_seconds(partial(read_image, data, "grey", max_side=512), REPEATS)
            table.add(f"{megapixels} MP to grey of 512, {how}", ours, peer_small)
        decoding.simplejpeg = simplejpeg


def measure_scan(table: Table) -> None:
    with tempfile.TemporaryDirectory() as root:
        for label in range(N_CLASSES):
            folder = Path(root, f"class {label:03}")
            folder.mkdir()
            for number in range(N_FILES // N_CLASSES):
                os.close(os.open(folder / f"{number:05}.jpg", os.O_CREAT))
        assert len(ImageFolder(root)) == N_FILES
        seconds = best_cpu_seconds(lambda: ImageFolder(root).paths, repeats=3)
        table.check(f"scan of {N_FILES:,} files, warm, CPU seconds", seconds, SCAN_BAR, False)


if __name__ == "__main__":
    cv2.setNumThreads(1)
    results = Table("Reading JPEGs and folders (peer: Pillow to RGB, then grey)")
    measure_decoding(results)
    measure_scan(results)
    raise SystemExit(bool(results.missed))
