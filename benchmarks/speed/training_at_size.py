"""Training on more and more images: CPU, peak memory and accuracy, in memory and from disk.

    python -m benchmarks.speed.training_at_size --recipe photo --images 5000 20000 [--memory 1GB]
    python -m benchmarks.speed.training_at_size --recipe fast --images 5000 20000 80000
    python -m benchmarks.speed.training_at_size --images 5000 --jobs 2 [--scheduler local:2]
    python -m benchmarks.speed.training_at_size --recipe auto --budget 60s --images 1000 5000 25000

Crops of photographs (`benchmarks.speed.photo_crops`) are written to a folder that stays, and
``classify-images train`` is run on them without a cache. CPU time and peak of resident memory are
those of the whole process, libraries included; with a scheduler of local workers, CPU time is that
of all processes and memory that of the first (Linux only). The last columns are the CPU time of an
image relative to the first size, the wall time of training, the first digits of the model's
SHA-256, and the recipe, which ``auto`` chooses.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import KEPT
from benchmarks.speed.photo_crops import write_crops

TEST = 2000


def crops(n: int, split: str = "train") -> Path:
    """A folder with n crops, written if it is not there."""
    folder = KEPT / f"crops-{split}-{n}"
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}-unfinished-{os.getpid()}")
        write_crops(unfinished, n, split).rename(folder)
    return folder


def run(*arguments: object) -> tuple[dict, float, float]:
    """Run the command in a process of its own; return its JSON, CPU seconds and peak in GB."""
    command = [sys.executable, "-m", "visualwords.apps.classify_images", *map(str, arguments)]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([*command, "--json"], stdout=output)
        peak = 0.0
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            peak = max(peak, _own_peak(process.pid))
            time.sleep(0.05)
        _, status, used = ended
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(f"the command failed: {' '.join(command)}")
        output.seek(0)
        return json.load(output), used.ru_utime + used.ru_stime, peak


def _own_peak(pid: int) -> float:
    """The peak of a process without its children so far, in GB; 0 once it has ended."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(float(line.split()[1]) * 1024 / 1e9 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Train on every size, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="photo")
    parser.add_argument("--images", type=int, nargs="+", default=[5000, 20_000])
    parser.add_argument("--memory", help="as of train; without it all rows stay in memory")
    parser.add_argument("--budget", help="as of train")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--scheduler", help="as of train")
    options = parser.parse_args()
    test = crops(TEST, "test")
    given = {
        "--memory": options.memory,
        "--budget": options.budget,
        "--scheduler": options.scheduler,
        "--jobs": options.jobs,
    }
    how = [str(x) for name, value in given.items() if value for x in (name, value)]
    print(f"recipe {options.recipe} {' '.join(how)}")
    print("  images    CPU s  ms/image  peak GB   right  ratio   wall s  model         recipe")
    first = None
    for n in options.images:
        folder = crops(n)
        with tempfile.TemporaryDirectory() as place:
            model = Path(place) / "m.vw"
            common = ["--recipe", options.recipe, "--no-cache", "--quiet", *how]
            start = time.perf_counter()
            trained, seconds, peak = run("train", folder, "-o", model, *common)
            wall = time.perf_counter() - start
            digest = hashlib.sha256(model.read_bytes()).hexdigest()[:12]
            result, _, _ = run("evaluate", model, test, "--no-cache", "--quiet")
        each = 1000 * seconds / n
        first = each if first is None else first
        print(
            f"{n:8d} {seconds:8.1f} {each:9.2f} {peak:8.2f} {result['test']['accuracy']:7.1%} "
            f"{each / first:6.2f} {wall:8.1f}  {digest}  {trained['recipe']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
