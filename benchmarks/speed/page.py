"""How many images a second the page's server answers, how fast, and whether its memory stays.

    python -m benchmarks.speed.page [--recipe words] [--requests 5000] [--seconds 600]
    python -m benchmarks.speed.page --recipe fast --size 96 --per-second 60

Eight clients on the same machine send 300×250 JPEGs, or square ones, to ``classify-images serve``
without pause, each the next image when the last is answered, or so many a second. The clients share
the two cores with the server, so the server's own CPU time an image is printed as well.
"""

import argparse
import http.client
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import skimage

from visualwords import ImageClassifier
from visualwords.apps.classify_images.demo_images import PICTURES, texture_tiles
from visualwords.images import encode_image, read_image

WARM_UP = 100  # requests that are not counted


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "tiles.vw")
        ImageClassifier(options.recipe, thumbnails=True).fit(*texture_tiles("train")).save(model)
        command = [sys.executable, "-m", "visualwords.apps.classify_images"]
        server = subprocess.Popen(
            [*command, "serve", model, "--port", "0", "--quiet"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            port = int(re.search(r":(\d+)/", server.stdout.readline())[1])
            size = "×".join(map(str, options.size_wh))
            print(f"recipe {options.recipe}, {options.clients} clients, {size} JPEGs")
            _run(port, WARM_UP, options)
            memory = [_memory(server.pid)]
            start, cpu = time.perf_counter(), _cpu_seconds(server.pid)
            seconds: list[float] = []
            step = max(1, options.requests // 10)
            while len(seconds) < options.requests and time.perf_counter() - start < options.seconds:
                seconds += _run(port, step, options)
                memory.append(_memory(server.pid))
            _tell(seconds, time.perf_counter() - start, _cpu_seconds(server.pid) - cpu, memory)
        finally:
            server.terminate()
            server.wait()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="words")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=600, help="stop after this long")
    parser.add_argument("--path", default="/api/predict", help="what is asked")
    parser.add_argument("--size", type=int, help="of square images, in pixels")
    parser.add_argument("--per-second", type=float, help="requests of all clients together")
    options = parser.parse_args()
    options.size_wh = (300, 250) if options.size is None else (options.size, options.size)
    return options


def _images(size_wh: tuple[int, int]) -> list[bytes]:
    """JPEGs that are cut from the pictures of the demo."""
    (width, height), files = size_wh, []
    for name in PICTURES.values():
        picture = read_image(Path(skimage.__file__).parent / "data" / name)
        for x, y in itertools.product((0, 100, 200), (0, 120, 240)):
            files.append(encode_image(picture[y : y + height, x : x + width], "jpeg"))
    return files


def _run(port: int, n_requests: int, options: argparse.Namespace) -> list[float]:
    """Ask ``n_requests`` times from all clients; return how long each answer took."""
    images, numbers, seconds = _images(options.size_wh), itertools.count(), []
    begun = time.perf_counter()

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while (number := next(numbers)) < n_requests:
            if options.per_second:
                time.sleep(max(0.0, begun + number / options.per_second - time.perf_counter()))
            start = time.perf_counter()
            connection.request("POST", options.path, images[number % len(images)])
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"answer {answer.status}")
            seconds.append(time.perf_counter() - start)
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(options.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(seconds) != n_requests:
        raise RuntimeError(f"only {len(seconds)} of {n_requests} were answered")
    return seconds


def _tell(seconds: list[float], wall: float, cpu: float, memory: list[int]) -> None:
    n = len(seconds)
    p50, p95, p99 = np.percentile(seconds, [50, 95, 99]) * 1000
    print(f"{n / wall:.1f} predictions/s over {n} requests in {wall:.0f} s")
    print(f"latency p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms")
    print(f"server CPU {1000 * cpu / n:.1f} ms a request: two cores to itself, {2 * n / cpu:.0f}/s")
    print("MB after each tenth:", " ".join(f"{m / 2**20:.1f}" for m in memory))


def _processes(pid: int) -> list[int]:
    """A process and those that it, or they, have started."""
    children = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [pid, *(own for child in itertools.chain(*children) for own in _processes(int(child)))]


def _memory(pid: int) -> int:
    """The bytes of a server's processes; what they share counts once."""
    files = [Path(f"/proc/{one}/smaps_rollup").read_text() for one in _processes(pid)]
    return sum(1024 * int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1]) for text in files)


def _cpu_seconds(pid: int) -> float:
    """The processor time of a server's processes."""
    files = [Path(f"/proc/{one}/stat").read_text() for one in _processes(pid)]
    fields = [text.rsplit(")", 1)[1].split() for text in files]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
