"""CPU time of commands with --jobs 1, against the same with all thread variables set to 1.

    python -m benchmarks.speed.threads [--images 12] [--rounds 3]

Trains recipe photo on some images of each class of corel1000, predicts others, and searches a
photograph for pedestrians. User and system time of the whole process, the best of several rounds.
Where --jobs 1 does not hold a library to one thread, the ratio is above 1.1.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(os.environ.get("VISUALWORDS_DATA") or Path(os.pardir, "shared", "data"))
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR", "BLIS")
ONE = {f"{library}_NUM_THREADS": "1" for library in LIBRARIES} | {"OPENCV_FOR_THREADS_NUM": "1"}


def cpu_of(words: list[str], variables: dict[str, str]) -> float:
    """User and system seconds of a command."""
    free = {name: value for name, value in os.environ.items() if name not in ONE}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", *words], env=free | variables, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def copy_some(n: int, training: Path, testing: Path) -> None:
    """Copy the first images of each class of corel1000 to train, and the next to test."""
    for folder in sorted(path for path in (DATA / "corel1000").iterdir() if path.is_dir()):
        files = sorted(path for path in folder.iterdir() if path.is_file())
        for place, part in ((training, files[:n]), (testing, files[n : 2 * n])):
            (place / folder.name).mkdir(parents=True)
            for file in part:
                shutil.copy(file, place / folder.name)


def main() -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=12, help="of each class")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy_some(options.images, place / "train", place / "test")
        model, jobs = str(place / "m.vw"), ["--jobs", "1", "--quiet"]
        classify, detect = "visualwords.apps.classify_images", "visualwords.apps.detect_pedestrians"
        alone = [*jobs, "--no-cache"]
        train = [classify, "train", str(place / "train"), "-o", model, "--recipe", "photo", *alone]
        commands = {
            "train": train,
            "predict": [classify, "predict", model, str(place / "test"), *alone],
            "detect": [detect, "run", str(place / "test"), *jobs],
        }
        cpu_of(train, {})  # compiles
        for name, words in commands.items():
            pairs = [(cpu_of(words, {}), cpu_of(words, ONE)) for _ in range(options.rounds)]
            free, held = (min(times) for times in zip(*pairs))
            print(f"{name:8} --jobs 1: {free:6.2f} s of CPU; variables set: {held:6.2f} s; ratio "
                  f"{free / held:.2f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
