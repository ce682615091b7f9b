"""Make the picture of the page for docs/how-to, from images that come with scikit-image.

    python -m benchmarks.figures.page_screenshot docs/images/page.png

Needs Chromium and the extra ``test``.
"""

import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import skimage
from PIL import Image
from playwright.sync_api import sync_playwright

from visualwords import ImageClassifier
from visualwords.apps.classify_images.demo_images import texture_tiles
from visualwords.files import write_atomically
from visualwords.images import encode_image, read_image


def main(target: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "tiles.vw")
        ImageClassifier("words", thumbnails=True).fit(*texture_tiles("train")).save(model)
        command = [sys.executable, "-m", "visualwords.apps.classify_images", "serve", model]
        server = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            address = re.match(r"http\S+", server.stdout.readline())[0]
            write_atomically(target, _photograph(address, _images(Path(folder))))
        finally:
            server.terminate()
            server.wait()


def _images(folder: Path) -> list[Path]:
    """Write pieces of pictures; the first is half brick, half grass."""
    pieces = {
        "wall-and-lawn.png": np.hstack([_cut("brick.png", 320, 300), _cut("grass.png", 320, 100)]),
        "path.png": _cut("gravel.png", 320, 200),
        "crater.png": _cut("moon.png", 320, 200),
        "slide.png": _cut("ihc.png", 320, 250),
    }
    for name, pixels in pieces.items():
        (folder / name).write_bytes(encode_image(pixels))
    (folder / "notes.png").write_text("not an image")
    return [folder / name for name in (*pieces, "notes.png")]


def _cut(name: str, left: int, top: int) -> np.ndarray:
    """A piece of the part of a picture that no training tile comes from."""
    picture = read_image(Path(skimage.__file__).parent / "data" / name)
    return picture[top - 60 : top + 200, left : left + 190]


def _photograph(address: str, images: list[Path]) -> bytes:
    chromium = shutil.which("chromium") or sys.exit("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 900})
        page.goto(address)
        page.set_input_files("#files", images[:1])
        page.wait_for_selector("#overlay-controls:not([hidden])")
        page.set_input_files("#files", images[1:])
        page.wait_for_function(
            "() => [...document.querySelectorAll('.tile span')].every(s => s.innerText != '…')"
        )
        page.click(".tile >> nth=0")
        page.wait_for_selector("#overlay-controls:not([hidden])")
        page.wait_for_timeout(1000)  # the bars grow
        picture = page.screenshot()
        browser.close()
    return with_few_colors(picture)


def with_few_colors(png: bytes) -> bytes:
    """A PNG of 256 colours, a third as large."""
    small = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(256, Image.Quantize.MEDIANCUT).save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    main(sys.argv[1])
