"""How fast the studio's page is with thousands of images, in Chromium.

    python -m benchmarks.speed.studio [--images 5000] [--classes 10]

Tiles of 96×96 pixels, cut from pictures that come with scikit-image, are written into class folders
and opened with ``classify-images studio``. Printed are, of several tries: the time from the request
of the page to its first paint and to the first image, by the browser's own clock; from a click on
an image to the frame that shows it selected; from a click on a class to the frame that shows its
images; and the time until a quick model was trained and tested. Needs Chromium and the extra
``test``.
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import skimage
from playwright.sync_api import Page, sync_playwright

from visualwords.apps.classify_images.demo_images import PICTURES
from visualwords.images import encode_image, read_image

SIDE = 96
CLICK = """(selector) => new Promise((resolve) => {
    const [target, start] = [document.querySelector(selector), performance.now()];
    target.click();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
})"""
PAINTS = """() => Object.fromEntries(performance.getEntriesByType("paint")
    .map(({ name, startTime }) => [name, startTime]))"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--classes", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "tiles")
        write_tiles(root, options.images, options.classes)
        command = [sys.executable, "-m", "visualwords.apps.classify_images", "studio", root]
        command += ["--port", "0", "--cache", Path(folder, "cache")]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            address = re.match(r"http\S+", server.stdout.readline())[0]
            measure(address, options.images)
        finally:
            server.terminate()
            server.wait()


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
    chromium = shutil.which("chromium") or sys.exit("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
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
        page.wait_for_function(
            "(n) => document.getElementById('learner-words').textContent.includes(`of ${n}`)",
            arg=n,
            timeout=600_000,
        )
        print(f"quick model trained and tested: {time.perf_counter() - start:.1f} s")
        report("click on an image, with a model", clicks(page, [".cell:nth-child(3)"] * 20))
        browser.close()


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
