"""What an image and a descriptor cost, and what a million and a hundred million images would.

    python -m benchmarks.speed.cluster_cost [--images 240] [--recipe words]

Measures, on images of scene15: CPU time of one core for reading and encoding an image and for
learning words, sizes of what is kept, and what two Dask workers in processes of their own send and
receive. All bytes that any process writes to a socket are counted. From these figures the second
table is arithmetic; nothing of it is run.
"""

import argparse
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import benchmarks.timing  # noqa: F401  isort: skip - sets one thread

import distributed
import numpy as np
from distributed.comm import tcp
from scipy import sparse

from benchmarks.data import DATA
from visualwords.apps.cluster.connection import on_cluster
from visualwords.apps.pipeline.contents import OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import find_recipe
from visualwords.apps.pipeline.stages import PATCHES, Environment, encode, learn, sample
from visualwords.cache import FeatureCache
from visualwords.classifiers import PmSVMClassifier
from visualwords.codebook import KMeansCodebook
from visualwords.folders import ImageFolder

DOLLARS_OF_A_CORE_HOUR = 0.04  # an assumption, as are the next three
CORES = {1_000_000: 16, 100_000_000: 1000}
PASSES = 20  # of the classifier over the rows
DISK = 1e9  # bytes a second


@dataclass
class Cost:
    """Of an image, unless said otherwise."""

    file: float  # bytes
    cpu: float  # seconds of one core: read, extract, encode
    n_descriptors: float
    descriptor: float  # seconds of one core, all of it divided by their number
    learning: float  # seconds of one core, for a descriptor and iteration
    cached: float  # bytes
    on_disk: float  # bytes of rows in blocks and as levels
    scan: float  # seconds of one core, for a pass of the classifier over its row and a class
    named: float  # bytes in the memory of the first machine
    wire: float  # bytes over the network beside the image itself
    wire_once: float  # bytes over the network, whatever the number of images


def cpu_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The least CPU time of several calls."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def count_writes() -> None:
    """Let this process count what it writes to sockets."""
    write = tcp.TCP.write

    async def counted(self, *args, **kwargs):
        size = await write(self, *args, **kwargs)
        tcp.TCP.n_written += size
        return size

    tcp.TCP.write, tcp.TCP.n_written = counted, 0


def n_written() -> int:
    """The bytes that this process has written."""
    return tcp.TCP.n_written


def measured_network(data: Dataset, encoders: list, recipe: Recipe) -> tuple[float, float]:
    """The bytes an image adds, and those that do not depend on the number of images."""
    with (
        tempfile.TemporaryDirectory() as place,
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(count_writes)
        count_writes()
        with on_cluster(client):
            env = Environment(FeatureCache(f"{place}/warm"))
            encode(recipe, encoders, data.part(range(32)), env)
            sizes = []
            for n in (len(data) // 3, len(data)):
                before = sum(client.run(n_written).values()) + n_written()
                env = Environment(FeatureCache(f"{place}/{n}"))
                assert len(encode(recipe, encoders, data.part(range(n)), env).kept) == n
                sizes.append(sum(client.run(n_written).values()) + n_written() - before)
    slope = (sizes[1] - sizes[0]) / (len(data) - len(data) // 3)
    return slope, sizes[1] - slope * len(data)


def measured_learning(data: Dataset, recipe: object) -> float:
    """Seconds for one descriptor and iteration of k-means."""
    channel = recipe.channels[0]
    (patches,) = sample([channel], data, recipe.view, Environment())
    book = KMeansCodebook(channel.words.n_words, random_state=0, root=True)
    seconds = cpu_seconds(lambda: book.fit(patches.descriptors), 2)
    return seconds / len(patches.descriptors) / book.n_iter_


def measured_training(rows: object, labels: np.ndarray) -> tuple[float, float]:
    """Bytes on disk of an image, and seconds of a pass for an image and class."""
    rows = sparse.csr_matrix(rows)
    blocks = [(rows[k : k + 60], labels[k : k + 60]) for k in range(0, rows.shape[0], 60)]
    model = PmSVMClassifier(C=1.0)
    with tempfile.TemporaryDirectory() as place:
        seconds = cpu_seconds(lambda: model.fit_blocks(blocks, place), 2)
        levels = sum(path.stat().st_size for path in Path(place).iterdir())
    kept = rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes + levels
    n = rows.shape[0]
    return kept / n, seconds / model.n_iter_ / n / len(np.unique(labels))


def measured_names(folder: Path) -> float:
    """The bytes of memory that the list of a folder's images takes for each."""
    tracemalloc.start()
    listed = ImageFolder(folder)
    fingerprints = [os.urandom(8) for _ in listed.paths]
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size / len(fingerprints)


def measure(n_images: int, name: str) -> Cost:
    """Measure everything on images of scene15."""
    listed = ImageFolder(DATA / "scene15" / "train")
    chosen = np.linspace(0, len(listed.paths) - 1, n_images).astype(int)
    paths = [listed.paths[i] for i in chosen]
    labels = np.array(listed.labels)[chosen]
    recipe = find_recipe(name)
    env, view = Environment(), recipe.view
    encoders = learn(recipe.channels, Dataset.of(paths, labels), view, env, 0)
    data = Dataset.unlabelled(paths)  # which keeps no bytes: every pass reads the files
    opened = [OpenedImage(one, env.max_pixels) for one in islice(data.contents, 0, None, 8)]
    counts = [sum(len(one.features(c, view)) for c in recipe.channels) for one in opened]
    rows = encode(recipe, encoders, data, env).rows
    cpu = cpu_seconds(lambda: encode(recipe, encoders, data, env)) / n_images
    with tempfile.TemporaryDirectory() as place:
        cache = FeatureCache(place)
        encode(recipe, encoders, data, Environment(cache))
        cached = cache.size()[1] / n_images
    on_disk, scan = measured_training(rows, labels)
    return Cost(
        float(np.mean([Path(path).stat().st_size for path in paths])),
        cpu,
        float(np.mean(counts)),
        cpu / float(np.mean(counts)),
        measured_learning(data, recipe),
        cached,
        on_disk,
        scan,
        measured_names(DATA / "scene15" / "train"),
        *measured_network(data, encoders, recipe),
    )


def print_measured(cost: Cost, n_images: int, name: str) -> None:
    """Print what was measured."""
    print(f"Measured on {n_images} images of scene15, recipe {name}:\n")
    print("| measured | |\n|---|---|")
    for what, value in (
        ("file of an image", f"{cost.file / 1e3:.0f} kB"),
        ("reading, extracting and encoding an image", f"{cost.cpu * 1e3:.1f} ms of one core"),
        (
            "the same for a descriptor",
            f"{cost.descriptor * 1e6:.1f} µs of one core; an image has {cost.n_descriptors:,.0f}",
        ),
        (
            "learning words: a descriptor, an iteration",
            f"{cost.learning * 1e6:.2f} µs of one core; at most {PATCHES:,} of each channel",
        ),
        ("row of an image in the cache", f"{cost.cached / 1e3:.0f} kB"),
        ("rows on disk while training", f"{cost.on_disk / 1e3:.0f} kB an image"),
        (
            "training from disk: a row, a class, a pass",
            f"{cost.scan * 1e6:.1f} µs of one core",
        ),
        ("name, label and fingerprint in memory", f"{cost.named:.0f} bytes an image"),
        ("network: paths there, keys back", f"{cost.wire:,.0f} bytes an image"),
        (
            "network: encoders to two workers, and whatever else comes once",
            f"{cost.wire_once / 1e6:.1f} MB",
        ),
    ):
        print(f"| {what} | {value} |")


def print_worked(cost: Cost, n_classes: int = 15) -> None:
    """Print what many images would cost."""
    columns = {n: _worked(cost, n, cores, n_classes) for n, cores in CORES.items()}
    print("\nBy arithmetic, nothing of it run:\n")
    print("| | " + " | ".join(f"{n // 1_000_000} million images" for n in columns) + " |")
    print("|---|" + "---|" * len(columns))
    for row in next(iter(columns.values())):
        print(f"| {row} | " + " | ".join(column[row] for column in columns.values()) + " |")


def _worked(cost: Cost, n: int, cores: int, n_classes: int) -> dict[str, str]:
    hours = n * cost.cpu / 3600
    reading = n * cost.on_disk / 2 / DISK  # levels are about half of what is kept
    scan = max(n * cost.scan * n_classes, reading)
    return {
        "reading and encoding": (
            f"{hours:,.1f} core hours: {hours / cores:.2f} hours on {cores:,} cores"
        ),
        f"at {100 * DOLLARS_OF_A_CORE_HOUR:.0f} cents a core hour": (
            f"{hours * DOLLARS_OF_A_CORE_HOUR:,.2f} dollars"
        ),
        "images, cache, rows on disk": " + ".join(
            _size(n * part) for part in (cost.file, cost.cached, cost.on_disk)
        ),
        "network: images from storage, rows to it and back, paths and keys, encoders": ", ".join(
            _size(part)
            for part in (
                n * cost.file,
                2 * n * cost.cached,
                n * cost.wire,
                cost.wire_once * cores / 2,
            )
        ),
        "memory of the first machine for names": _size(n * cost.named),
        f"a pass of the classifier for {n_classes} classes, one core": (
            f"{scan / 60:,.1f} minutes; {PASSES} passes {PASSES * scan / 3600:,.1f} hours"
        ),
    }


def _size(n_bytes: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= size:
            return f"{n_bytes / size:,.3g} {unit}"
    return f"{n_bytes / 1e3:,.3g} kB"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=240)
    parser.add_argument("--recipe", default="words", choices=["words", "fast"])
    options = parser.parse_args()
    cost = measure(options.images, options.recipe)
    print_measured(cost, options.images, options.recipe)
    print_worked(cost)


if __name__ == "__main__":
    main()
