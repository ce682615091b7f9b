"""What `classify-images train --budget 60s` takes, on images of many kinds.

    python -m benchmarks.speed.auto_budget                        all data sets
    python -m benchmarks.speed.auto_budget demo tasks/blood       some of them

The limit is 90 s of the clock on two idle cores. Each data set is trained on in a process of its
own, without a cache, after a run that compiles. Prints the plan's seconds, seconds of the clock
and of CPU (all threads and processes). On a busy machine the clock is too noisy; half of the CPU
time is the least that two cores need.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from time import perf_counter

from benchmarks.data import DATA
from visualwords.apps.classify_images.demo_images import write_demo

LIMIT = 90.0  # seconds of the clock for a budget of 60 s


def train(folder: str, budget: str) -> tuple[str, float, float]:
    """The command's output, and its seconds by the clock and of CPU."""
    with tempfile.TemporaryDirectory() as place:
        command = [
            *(sys.executable, "-m", "visualwords.apps.classify_images", "train", folder),
            *("-o", os.path.join(place, "m.vw"), "--budget", budget, "--no-cache", "--jobs", "2"),
        ]
        before, start = _cpu_of_children(), perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = perf_counter() - start
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr)
    return done.stderr, seconds, _cpu_of_children() - before


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", help="demo, or a folder of the data")
    parser.add_argument("--budget", default="60s")
    options = parser.parse_args()
    tasks = sorted(f"tasks/{path.name}" for path in (DATA / "tasks").glob("*/"))
    names = options.data or ["demo", "corel1000", "scene15", *tasks]
    with tempfile.TemporaryDirectory() as place:
        demo = str(write_demo("tiles", os.path.join(place, "tiles")))
        train(demo, options.budget)  # compiles
        print(f"{'data':16s} {'plan':>8s} {'clock':>8s} {'CPU':>8s} {'CPU / 2':>8s}")
        for name in names:
            folder = demo if name == "demo" else str(DATA / name)
            printed, seconds, cpu = train(folder, options.budget)
            planned = re.search(r"about (\d+) s on two idle cores", printed)
            plan = planned[1] if planned else "?"
            late = "" if cpu / 2 <= LIMIT else "  over the limit"
            print(
                f"{name:16s} {plan:>6s} s {seconds:6.1f} s {cpu:6.1f} s {cpu / 2:6.1f} s{late}",
                flush=True,
            )
            for line in re.findall(r"^(?:auto tries|recipe|chosen).*", printed, re.M):
                print(f"    {line}", flush=True)


if __name__ == "__main__":
    main()
