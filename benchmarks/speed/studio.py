"""How fast the studio is, in Chromium: its first model, and its page with thousands of images.

    python -m benchmarks.speed.studio [--images 5000] [--classes 10]

First, three classes of twenty photographs each (corel1000, if the data is there) are given to the
page of an empty folder, one class after the other. Printed is the time from the moment when the
last photographs were given until the page shows how many of all a quick model gets right.

Then tiles of 96×96 pixels, cut from pictures that come with scikit-image, are written into class
folders and opened with ``classify-images studio``. Printed are, of several tries: the time from the
request of the page to its first paint and to the first image, by the browser's own clock; from a
click on an image to the frame that shows it selected; from a click on a class to the frame that
shows its images; and the time until a quick model was trained and tested. Needs Chromium and the
extra ``test``.
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import skimage
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.data import DATA
from visualwords.apps.classify_images.demo_images import PICTURES
from visualwords.images import encode_image, read_image

SIDE = 96
CLICK = """(selector) => new Promise((resolve) => {
    const [target, start] = [document.querySelector(selector), performance.now()];
    target.click();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
})"""
TESTED = "(n) => document.getElementById('learner-words').textContent.includes(`of ${n}`)"
PAINTS = """() => Object.fromEntries(performance.getEntriesByType("paint")
    .map(({ name, startTime }) => [name, startTime]))"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--classes", type=int, default=10)
    options = parser.parse_args()
    photographs = sorted((DATA / "corel1000").glob("*/"))[:3]
    if len(photographs) == 3:
        with tempfile.TemporaryDirectory() as folder, served(Path(folder, "empty")) as address:
            measure_first_model(address, photographs)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "tiles")
        write_tiles(root, options.images, options.classes)
        with served(root) as address:
            measure(address, options.images)


@contextmanager
def served(root: Path) -> Iterator[str]:
    """Serve a folder; give the address."""
    command = [sys.executable, "-m", "visualwords.apps.classify_images", "studio", root]
    command += ["--port", "0", "--cache", root.parent / "cache"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield re.match(r"http\S+", server.stdout.readline())[0]
    finally:
        server.terminate()
        server.wait()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser."""
    found = shutil.which("chromium") or sys.exit("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


def measure_first_model(address: str, folders: list[Path]) -> None:
    """Give a class after the other to the page of an empty folder, and wait for a tested model."""
    with chromium() as browser:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_timeout(5000)  # a person reads; meanwhile the studio gets ready
        for folder in folders:
            page.fill("#new-name", folder.name)
            page.press("#new-name", "Enter")
            page.wait_for_function(
                "(name) => document.getElementById('chosen-name').textContent === name",
                arg=folder.name,
            )
            page.set_input_files("#files", sorted(folder.iterdir())[:20])
            start = time.perf_counter()
            page.wait_for_function(
                "() => document.getElementById('chosen-count').textContent.startsWith('20 ')"
            )
        page.wait_for_function(TESTED, arg=60, timeout=60_000)
        print(f"quick model of 3 × 20 photographs, tested: {time.perf_counter() - start:.1f} s")


def write_tiles(root: Path, n: int, n_classes: int) -> None:
    rng = np.random.default_rng(0)
    names = list(PICTURES)
    for k in range(n_classes):
        label = names[k % len(names)]
        name = PICTURES[label]
        picture = read_image(Path(skimage.__file__).parent / "data" / name)
        (root / f"{label} {k}").mkdir(parents=True)
        for i in range(n // n_classes):
            y, x = (int(rng.integers(0, size - SIDE)) for size in picture.shape[:2])
            tile = np.ascontiguousarray(picture[y : y + SIDE, x : x + SIDE])
            path = root / f"{label} {k}" / f"{i:05d}.jpg"
            path.write_bytes(encode_image(tile, "jpeg", 90))


def measure(address: str, n: int) -> None:
    with chromium() as browser:
        start = time.perf_counter()
        firsts, grids = [], []
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(address)
            page.wait_for_selector(".cell")
            grids.append(page.evaluate("performance.now()"))
            firsts.append(page.evaluate(PAINTS)["first-contentful-paint"])
            if len(firsts) < 5:
                page.close()
        report("first paint", firsts)
        report("first row of images", grids)
        report("click on an image", clicks(page, [f".cell:nth-child({i})" for i in range(1, 21)]))
        rows = [f"#class-rows li:nth-child({i}) button" for i in (2, 3, 4, 1) * 3]
        report("click on a class", clicks(page, rows))
        page.wait_for_function(TESTED, arg=n, timeout=600_000)
        print(f"quick model trained and tested: {time.perf_counter() - start:.1f} s")
        report("click on an image, with a model", clicks(page, [".cell:nth-child(3)"] * 20))


def clicks(page: Page, selectors: list[str]) -> list[float]:
    times = []
    for selector in selectors:
        times.append(page.evaluate(CLICK, selector))
        page.wait_for_timeout(100)
    return times


def report(what: str, times: list[float]) -> None:
    middle, longest = statistics.median(times), max(times)
    print(f"{what}: median {middle:.0f} ms, longest {longest:.0f} ms of {len(times)}", flush=True)


if __name__ == "__main__":
    main()
