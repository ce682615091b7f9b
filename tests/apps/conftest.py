"""A small folder of generated photographs; classes differ in colour and in structure."""

import os
import shutil
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest

COLORS = {"sea": (30, 80, 190), "sand": (210, 180, 110), "wood": (40, 120, 50)}


def write_png(path: Path, image: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(cv2.imencode(".png", image[:, :, ::-1])[1].tobytes())
    return path


def noisy(color, rng, shape=(48, 64)):
    """Stripes of a colour, in a direction that is the colour's own, with some noise."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    angle = np.pi * color[0] / 255
    stripes = 40 * np.sin(0.8 * (rows * np.sin(angle) + columns * np.cos(angle)))
    image = rng.normal(color, 15, (*shape, 3)) + stripes[:, :, None]
    return np.clip(image, 0, 255).astype(np.uint8)


@cache
def photo_files() -> dict[str, bytes]:
    """The names and contents of three classes of eight images each."""
    rng = np.random.default_rng(1)
    return {
        f"{name}/{i}.png": cv2.imencode(".png", noisy(color, rng)[:, :, ::-1])[1].tobytes()
        for name, color in COLORS.items()
        for i in range(8)
    }


def write_photos(folder: Path) -> Path:
    for name, content in photo_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def photos(tmp_path):
    """Give a folder with three classes of eight images each."""
    return write_photos(tmp_path / "photos")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A file that the first worker makes that needs it; the others wait for it."""
    from visualwords.files import lock_file  # not before `tests.windows_like` hides locks

    folder = factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with open(folder / f"{name}.lock", "wb") as lock:
        while not lock_file(lock):
            time.sleep(0.2)
        if not (folder / name).exists():
            make(folder / name)
    return folder / name


@pytest.fixture(scope="session")
def detector_file(tmp_path_factory):
    """Give the path of a small detector of figures."""
    from tests.apps.detection.figures import train

    return made_once(tmp_path_factory, "figures.vw", lambda path: train().save(path))


SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--no-first-run"),
    *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),
]


@pytest.fixture(scope="module")
def browser():
    """Give Chromium, with a camera that shows a test picture."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Give ``open(address, ready, **context)`` → a page; errors and foreign requests fail the test.

    Answers of 4xx are no errors, nor are those that ``expected`` names.
    """
    contexts, troubles, expected = [], [], ["status of 4"]

    def open_it(address, ready=None, patience=60_000, expect=(), **options):
        own = (*address.split("#")[:1], "blob:", "data:")
        expected.extend(expect)
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(patience)  # milliseconds; others may have the processor
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda m: m.type == "error" and troubles.append(m.text))
        page.on("request", lambda r: r.url.startswith(own) or troubles.append(r.url))
        page.goto(address)
        if ready is not None:
            page.wait_for_selector(ready, state="attached")
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert [t for t in troubles if not any(word in t for word in expected)] == []
