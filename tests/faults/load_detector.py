"""Detect pedestrians in many frames, and see that memory stays as it is.

    python -m tests.faults.load_detector [--frames 2000] [--model pedestrian]

Frames are pieces of a photograph of scikit-image, moved and mixed with noise, so that no two are
equal. Prints the resident memory after each tenth; ends with 1 if it grew by more than 10 MB after
the first.
"""

import argparse
import sys
import time

import numpy as np
from skimage import data

from tests.faults.test_load import MEGABYTE, resident_bytes
from visualwords import load

SIZE_WH = (320, 240)


def frame(number: int, photograph: np.ndarray) -> np.ndarray:
    """Return one frame of an endless film."""
    rng = np.random.default_rng(number)
    width, height = SIZE_WH
    x = rng.integers(0, photograph.shape[1] - width)
    y = rng.integers(0, photograph.shape[0] - height)
    noise = rng.integers(-20, 21, (height, width, 1))
    return np.clip(photograph[y : y + height, x : x + width] + noise, 0, 255).astype(np.uint8)


def main() -> int:
    """Run the film."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--model", default="pedestrian", help="a model file, or the shipped one")
    options = parser.parse_args()
    n_frames = options.frames
    detector, photograph = load(options.model), data.astronaut().astype(int)
    memory, n_boxes, start = [], 0, time.monotonic()
    for number in range(n_frames):
        boxes, _ = detector.detect(frame(number, photograph))
        n_boxes += len(boxes)
        if (number + 1) % max(1, n_frames // 10) == 0:
            memory.append(resident_bytes())
    print(f"{n_frames} frames in {time.monotonic() - start:.0f} s, {n_boxes} boxes")
    print("resident MB after each tenth:", " ".join(f"{m / MEGABYTE:.1f}" for m in memory))
    return int(memory[-1] - memory[0] > 10 * MEGABYTE)


if __name__ == "__main__":
    sys.exit(main())
