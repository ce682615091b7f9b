"""A folder of tiny photographs, a model of it, and how long the tests may take."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords.apps.classify_images.main import main

IS_LONG = os.environ.get("VISUALWORDS_LONG_TESTS") == "1"


def write_photos(folder: Path, n_images: int = 6) -> Path:
    """Write three classes of small images that differ in colour and in structure."""
    rng = np.random.default_rng(14)
    for name, color in COLORS.items():
        for i in range(n_images):
            write_png(folder / name / f"{i}.png", noisy(color, rng))
    return folder


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """Give a folder with three classes of six images each; tests only read it."""
    return write_photos(tmp_path_factory.mktemp("data") / "photos")


@pytest.fixture(scope="session")
def model_bytes(photos, tmp_path_factory):
    """Give the content of the model file that ``train --recipe tiny`` makes of the photos."""
    path = tmp_path_factory.mktemp("model") / "photos.vw"
    arguments = ["train", photos, "-o", path, "--recipe", "tiny", "--no-cache", "--quiet"]
    assert main([str(argument) for argument in arguments]) == 0
    return path.read_bytes()


@pytest.fixture
def model(model_bytes, tmp_path):
    """Give a model file that the test may spoil."""
    path = tmp_path / "photos.vw"
    path.write_bytes(model_bytes)
    return path


@pytest.fixture
def small_disk(tmp_path):
    """Give ``small_disk(kilobytes)`` → a folder on a disk of that size; needs to be root."""
    mounted = []

    def mount(kilobytes: int) -> Path:
        folder = tmp_path / f"disk{len(mounted)}"
        folder.mkdir()
        if os.system(f"mount -t tmpfs -o size={kilobytes}k tmpfs '{folder}' 2>/dev/null"):
            pytest.skip("needs the right to mount a small disk")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        os.system(f"umount '{folder}'")
