"""Training on many images under a cap of memory: peak of the process, time and accuracy.

    python -m benchmarks.speed.disk_training [--images 20000] [--cap 1.5]

Generates stripes of eight classes as JPEG files, trains ``classify-images --recipe words --memory
300MB`` on them, and tests on images that were not trained on. The peak is that of the resident
memory, libraries included; a run that exceeds the cap fails.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

CLASSES = 8
SIDE = 128


def picture(kind: int, rng: np.random.Generator) -> np.ndarray:
    """Return stripes of a direction and width that are the class's own, under much noise."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    angle = np.pi * (kind % 4) / 4 + rng.normal(0, 0.15)
    wave = (rows * np.sin(angle) + columns * np.cos(angle)) * (0.5 if kind < 4 else 0.8)
    image = 128 + 40 * np.sin(wave + rng.uniform(0, 7)) + rng.normal(0, 40, (SIDE, SIDE))
    return np.clip(image, 0, 255).astype(np.uint8)


def write_images(folder: Path, n: int, seed: int) -> Path:
    """Write n images of the classes as JPEG files."""
    rng = np.random.default_rng(seed)
    for number in range(n):
        kind = number % CLASSES
        path = folder / f"class{kind}" / f"{number:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(cv2.imencode(".jpg", picture(kind, rng))[1].tobytes())
    return folder


def run(*arguments: object) -> tuple[dict, float, float]:
    """Run the command; return its JSON, the seconds it took, and its peak of memory in GB."""
    command = [sys.executable, "-m", "visualwords.apps.classify_images", *map(str, arguments)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    start = time.perf_counter()
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak > before, "another child was larger; its peak can't be told from this one's"
    return json.loads(done.stdout), time.perf_counter() - start, peak * 1024 / 1e9


def main() -> None:
    """Generate, train, test, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--cap", type=float, default=1.5, help="GB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train = write_images(folder / "train", options.images, 0)
        test = write_images(folder / "test", 800, 1)
        common = ("--recipe", "words", "--memory", "300MB", "--cache", folder / "cache")
        result, seconds, peak = run(
            *("train", train, "-o", folder / "m.vw", "--test", test, *common)
        )
        accuracy = result["test"]["mean_per_class_accuracy"]
    print(f"{options.images} images in {seconds:.0f} s, {options.images / seconds:.0f} a second")
    print(f"peak {peak:.2f} GB, cap {options.cap} GB; test accuracy {accuracy:.1%}")
    if peak > options.cap:
        raise SystemExit("the cap was exceeded")


if __name__ == "__main__":
    main()
