"""Make the pictures of the studio for docs/how-to, from images that come with scikit-image.

    python -m benchmarks.figures.studio_screenshot docs/images

Needs Chromium and the extra ``test``.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import skimage
from playwright.sync_api import sync_playwright

from benchmarks.figures.page_screenshot import with_few_colors
from visualwords.apps.classify_images.demo_images import PICTURES
from visualwords.files import write_atomically
from visualwords.images import encode_image, read_image

N_TILES = 24  # of a class
SIDES_HW = (150, 200)
WRONG = 2  # tiles of grass that lie among those of gravel


def main(target: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "textures")
        _write(root)
        command = [sys.executable, "-m", "visualwords.apps.classify_images", "studio", root]
        server = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            address = re.match(r"http\S+", server.stdout.readline())[0]
            for name, png in _photographs(address).items():
                write_atomically(Path(target, name), with_few_colors(png))
        finally:
            server.terminate()
            server.wait()


def _write(root: Path) -> None:
    rng = np.random.default_rng(0)
    height, width = SIDES_HW
    for label, name in PICTURES.items():
        picture = read_image(Path(skimage.__file__).parent / "data" / name)
        for i in range(N_TILES):
            y = int(rng.integers(0, picture.shape[0] - height))
            x = int(rng.integers(0, picture.shape[1] - width))
            tile = np.ascontiguousarray(picture[y : y + height, x : x + width])
            is_wrong = label == "grass" and i < WRONG
            place = root / ("gravel" if is_wrong else label) / f"{label}-{i:02d}.jpg"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(encode_image(tile, "jpeg", 92))


def _photographs(address: str) -> dict[str, bytes]:
    chromium = shutil.which("chromium") or sys.exit("needs Chromium: apt-get install chromium")
    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 760})
        page.goto(address)
        tested = "() => document.getElementById('learner-words').textContent.includes('right')"
        page.wait_for_function(tested, timeout=300_000)
        page.wait_for_timeout(1500)
        found["studio.png"] = page.screenshot()
        page.click("#to-review")
        page.wait_for_selector("#pictures img")
        page.wait_for_timeout(1500)
        found["studio-review.png"] = page.screenshot()
        browser.close()
    return found


if __name__ == "__main__":
    main(sys.argv[1])
