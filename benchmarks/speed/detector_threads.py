"""How much faster two threads find people than one, by the clock.

    python -m benchmarks.speed.detector_threads

The scales of one image (``n_jobs``), image files (``detect-pedestrians run --jobs``, without its
start), and a compiled loop that needs nothing but a core, which shows what the machine has to give:
on one that does other work it is less than 2. All take turns; sums of all turns are compared.
"""

# isort: off
from benchmarks.timing import Table
# isort: on

import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np

import visualwords
from benchmarks.data import DATA
from visualwords.apps.detect_pedestrians.searching import search_files
from visualwords.compiled import njit
from visualwords.images import read_image
from visualwords.parallel import map_in_threads

TURNS = 10
FRAMES, FILES = 6, 12
STEPS = 60_000_000
BAR = 1.7


@njit()
def count(n):
    """A sum of n terms that depend on each other."""
    total = 0.0
    for i in range(n):
        total += (i % 7) * 1e-3
    return total


def main() -> None:
    scenes = sorted((DATA / "pedestrian" / "test" / "scenes").glob("*.jpg"))
    if not scenes:
        raise SystemExit(f"{DATA}: this needs the INRIA person data")
    detector, image = visualwords.load("pedestrian"), read_image(scenes[1])
    files = [str(path) for path in scenes[:FILES]]

    def frames(n_jobs: int) -> None:
        detector.set_params(n_jobs=n_jobs)
        for _ in range(FRAMES):
            detector.detect(image)
        detector.set_params(n_jobs=None)

    works: dict[str, Callable[[int], object]] = {
        "scales of one image": frames,
        "image files": lambda n_jobs: list(search_files(detector, files, n_jobs)),
        "a loop without memory": lambda n_jobs: map_in_threads(count, [STEPS] * 4, n_jobs),
    }
    clock, spent = defaultdict(float), defaultdict(float)
    for turn in range(TURNS + 1):
        for name, work in works.items():
            for n_jobs in (1, 2):
                before = np.array([time.perf_counter(), time.process_time()])
                work(n_jobs)
                took = np.array([time.perf_counter(), time.process_time()]) - before
                if turn:  # the first one compiles and fills caches
                    clock[name, n_jobs] += took[0] / TURNS
                    spent[name, n_jobs] += took[1] / TURNS
    table = Table("two threads | one, by the clock")
    for name in works:
        table.add(name, clock[name, 2], clock[name, 1], BAR)
    table = Table("CPU of two threads | of one")
    for name in works:
        table.add(name, spent[name, 2], spent[name, 1])


if __name__ == "__main__":
    main()
