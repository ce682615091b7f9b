"""Training on more and more images: CPU, peak memory and accuracy, in memory and from disk.

    python -m benchmarks.speed.training_at_size --recipe photo --images 5000 20000 [--memory 1GB]
    python -m benchmarks.speed.training_at_size --recipe fast --images 5000 20000 80000

Crops of photographs (`benchmarks.speed.photo_crops`) are written to a folder that stays, and
``classify-images train`` is run on them without a cache, by one job. CPU time and the peak of
resident memory are those of the whole process, libraries included. The last column is the CPU time
of an image relative to the first size.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.data import KEPT
from benchmarks.speed.photo_crops import write_crops

TEST = 2000


def crops(n: int, split: str = "train") -> Path:
    """Return a folder with n crops, written if it is not there."""
    folder = KEPT / f"crops-{split}-{n}"
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}-unfinished-{os.getpid()}")
        write_crops(unfinished, n, split).rename(folder)
    return folder


def run(*arguments: object) -> tuple[dict, float, float]:
    """Run the command in a process of its own; return its JSON, CPU seconds and peak in GB."""
    command = [sys.executable, "-m", "visualwords.apps.classify_images", *map(str, arguments)]
    process = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"the command failed: {' '.join(command)}")
    return json.loads(output), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def main() -> None:
    """Train on every size, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="photo")
    parser.add_argument("--images", type=int, nargs="+", default=[5000, 20_000])
    parser.add_argument("--memory", help="as of train; without it all rows stay in memory")
    options = parser.parse_args()
    test = crops(TEST, "test")
    limit = ["--memory", options.memory] if options.memory else []
    print(f"recipe {options.recipe}{', --memory ' + options.memory if limit else ''}, one job")
    print(
        f"{'images':>8s} {'CPU s':>8s} {'ms/image':>9s} {'peak GB':>8s} {'right':>7s} {'ratio':>6s}"
    )
    first = None
    for n in options.images:
        folder = crops(n)
        with tempfile.TemporaryDirectory() as place:
            model = Path(place) / "m.vw"
            common = ["--recipe", options.recipe, "--jobs", 1, "--no-cache", "--quiet", *limit]
            _, seconds, peak = run("train", folder, "-o", model, *common)
            result, _, _ = run("evaluate", model, test, "--no-cache", "--quiet")
        each = 1000 * seconds / n
        first = each if first is None else first
        print(
            f"{n:8d} {seconds:8.1f} {each:9.2f} {peak:8.2f} {result['test']['accuracy']:7.1%} "
            f"{each / first:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
