"""What a new process takes until its first detection, with compiled code in its cache.

    python -m benchmarks.speed.detector_start

CPU seconds of all threads, beside seconds on the clock, which other work on the machine lengthens:
importing and loading the shipped detector, its first and its second detection, and the whole
command. The least of several processes counts, after one that fills the cache.
"""

# isort: off
from benchmarks.timing import Table
# isort: on

import json
import os
import subprocess
import sys
import time

from benchmarks.data import DATA

PROCESSES = 7
BAR = 1.5  # seconds from the start of a process to its first detection
INSIDE = """
import json, sys, time
def now(): return [time.process_time(), time.perf_counter()]
times = [[0.0, float(sys.argv[2])], now()]
import visualwords
detector = visualwords.load("pedestrian")
times.append(now())
for _ in range(2):
    detector.detect(sys.argv[1])
    times.append(now())
print(json.dumps(times))
"""


def inside(image: str) -> list[list[float]]:
    """CPU and clock of a process: its start, Python's start, loaded, first and second detection."""
    command = [sys.executable, "-c", INSIDE, image, repr(time.perf_counter())]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def whole(image: str) -> tuple[float, float]:
    """CPU and clock of ``detect-pedestrians run``."""
    before, start = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "visualwords.apps.detect_pedestrians", "run", image]
    subprocess.run(command, capture_output=True, check=True)
    after = os.times()
    spent = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return spent, time.perf_counter() - start


def main() -> None:
    scenes = DATA / "pedestrian" / "test" / "scenes"
    if not scenes.exists():
        raise SystemExit(f"{scenes}: this needs the INRIA person data")
    image = str(min(scenes.glob("*.jpg")))
    inside(image)
    runs = [inside(image) for _ in range(PROCESSES)]
    table = Table("a new process; peer: seconds on the clock")
    parts = ("Python starts", "import and load", "first detection", "second detection")
    for k, name in enumerate(parts):
        table.add(name, *(min(run[k + 1][c] - run[k][c] for run in runs) for c in (0, 1)))
    cpu, clock = (min(run[3][c] - run[0][c] for run in runs) for c in (0, 1))
    table.add("all until the first detection", cpu, clock)
    commands = [whole(image) for _ in range(PROCESSES)]
    table.add("detect-pedestrians run IMAGE", *(min(run[c] for run in commands) for c in (0, 1)))
    table.check("CPU seconds until the first detection", cpu, BAR, at_least=False)


if __name__ == "__main__":
    main()
