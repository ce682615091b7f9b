"""CPU and peak memory of the commands that take any number of images: check, sort, list, predict.

    python -m benchmarks.speed.many_images [check] [portraits] [sort] [list] [predict] [--images N]

Images of 96×96 pixels are generated: `different` ones are mixtures of two random crops of
photographs (Corel-1000), `alike` ones are a single crop under noise. Every measurement is a
process of its own with one job; its peak is that of the resident memory, libraries included.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np

from benchmarks.data import image_folder
from visualwords.duplicates import SIDE as PORTRAIT
from visualwords.duplicates import find_near_duplicates, portrait
from visualwords.images import read_image

SIDE = 96
PER_FOLDER = 5000  # files of a class
N_PHOTOGRAPHS = 300

SORT = """
import sys
from visualwords.apps.command_line.sort_into import Sorter
from visualwords.folders import list_files
sorter = Sorter(sys.argv[2])
for path in list_files(sys.argv[1])[0]:
    sorter.copy(path, "one label")
"""
LIST = """
import sys
from visualwords.folders import ImageFolder
from visualwords.apps.pipeline.dataset import Dataset
import resource
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = Dataset.of_folder(ImageFolder(sys.argv[1]))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(round((after - before) * 1024 / len(data)), "bytes an image,", end=" ", flush=True)
"""


def photographs() -> list[np.ndarray]:
    """Some photographs, blue first."""
    paths = image_folder("corel1000").paths
    chosen = np.linspace(0, len(paths) - 1, N_PHOTOGRAPHS).astype(int)
    return [read_image(paths[i])[:, :, ::-1] for i in chosen]


def crop(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random square of a photograph at the size of all images."""
    side = int(rng.integers(SIDE, min(image.shape[:2]) + 1))
    top, left = (int(rng.integers(0, extent - side + 1)) for extent in image.shape[:2])
    part = np.ascontiguousarray(image[top : top + side, left : left + side])
    return cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_AREA)


def different(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield mixtures of crops of which hardly any two look alike."""
    pool = photographs()
    while True:
        first, second = (crop(pool[rng.integers(len(pool))], rng) for _ in range(2))
        share = rng.uniform(0.3, 0.7)
        yield cv2.addWeighted(first, share, second[:, ::-1], 1 - share, 0)


def alike(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield one crop under noise, over and over."""
    image = crop(photographs()[0], rng).astype(np.int16)
    while True:
        noise = rng.integers(-6, 7, image.shape, np.int16)
        yield np.clip(image + noise, 0, 255).astype(np.uint8)


def write_images(folder: Path, kind: Callable[..., Iterator[np.ndarray]], n: int) -> Path:
    """Write n images as JPEG files in folders of classes; return the folder."""
    for i, image in zip(range(n), kind(np.random.default_rng(0))):
        to = folder / f"class{i // PER_FOLDER:03}"
        to.mkdir(parents=True, exist_ok=True)
        (to / f"{i:07}.jpg").write_bytes(cv2.imencode(".jpg", image)[1].tobytes())
    return folder


def measure(title: str, n: int, *command: object) -> None:
    """Run a command of its own; print its CPU seconds and its peak."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, *map(str, command)], stdout=subprocess.DEVNULL, env=environment
    )
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9
    done = "" if code in (0, 1) else f"  EXIT CODE {code}"
    each = f"{1e3 * seconds / n:.3f} ms each"
    print(f"{title:40} {n:8,} {seconds:8.1f} s CPU, {each}, {peak:.2f} GB{done}", flush=True)


def verb(*arguments: object) -> tuple[object, ...]:
    return ("-m", "visualwords.apps.classify_images", *arguments, "--jobs", 1, "--quiet")


def measure_check(folder: Path, n: int) -> None:
    for kind in (different, alike):
        images = write_images(folder / kind.__name__, kind, n)
        measure(
            f"check --no-labels, {kind.__name__}",
            n,
            *verb("check", images, "--no-labels", "--no-cache", "--json"),
        )


def measure_portraits(folder: Path, n: int) -> None:
    """The search alone, in this process: portraits of mixtures that are never written."""
    table = np.empty((n, PORTRAIT**2 + 5), np.float32)
    for i, image in zip(range(n), different(np.random.default_rng(0))):
        table[i] = portrait(np.ascontiguousarray(image[:, :, ::-1])).to_array()
    find_near_duplicates(table[:1000])  # compiles
    start = time.process_time()
    found = find_near_duplicates(table)
    seconds = time.process_time() - start
    print(
        f"{'near duplicates among portraits':40} {n:8,} {seconds:8.1f} s CPU, "
        f"{1e3 * seconds / n:.3f} ms each, {len(found.sets)} sets",
        flush=True,
    )


def measure_sort(folder: Path, n: int) -> None:
    for title, name in (("names of their own", "{0}.jpg"), ("one name, one size", "{0}/x.jpg")):
        images = folder / title
        for i in range(n):
            path = images / name.format(i)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"%08d" % i * 500)
        measure(f"Sorter.copy, {title}", n, "-c", SORT, images, folder / f"sorted {title}")


def measure_list(folder: Path, n: int) -> None:
    for i in range(n):
        path = folder / "listed" / f"class{i // PER_FOLDER:03}" / f"{i:08}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    measure("list as a data set", n, "-c", LIST, folder / "listed")


def measure_predict(folder: Path, n: int) -> None:
    training = write_images(folder / "training", different, 2 * 200)
    for i, path in enumerate(sorted(training.rglob("*.jpg"))):
        to = training / "ab"[i % 2] / path.name
        to.parent.mkdir(exist_ok=True)
        path.rename(to)
    (training / "class000").rmdir()
    model = folder / "m.vw"
    subprocess.run(
        [
            sys.executable,
            *map(str, verb("train", training, "-o", model, "--recipe", "tiny", "--no-cache")),
        ],
        check=True,
    )
    images = write_images(folder / "predicted", different, n)
    measure("predict --csv", n, *verb("predict", model, images, "--csv", "--no-cache"))
    measure("evaluate", n, *verb("evaluate", model, images, "--json", "--no-cache"))


def main() -> None:
    """Generate, measure and print."""
    parts = {
        "check": measure_check,
        "portraits": measure_portraits,
        "sort": measure_sort,
        "list": measure_list,
        "predict": measure_predict,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--images", type=int, nargs="+", default=[10_000, 50_000])
    options = parser.parse_args()
    for part in options.parts or parts:
        for n in options.images:
            with tempfile.TemporaryDirectory() as name:
                parts[part](Path(name), n)


if __name__ == "__main__":
    main()
