"""A cache whose files were damaged gives the same results: damaged entries count as absent."""

import shutil

import numpy as np
import pytest

from tests.faults.conftest import write_photos
from visualwords.apps.classify_images.main import main

pytestmark = pytest.mark.posix


def call(*arguments):
    return main([str(argument) for argument in arguments])


def flip(content, rng):
    """Change a byte in every hundred."""
    changed = np.frombuffer(content, np.uint8).copy()
    places = rng.integers(0, len(changed), max(1, len(changed) // 100))
    changed[places] ^= rng.integers(1, 256, len(places), dtype=np.uint8)
    return changed.tobytes()


DAMAGES = {
    "flipped": flip,
    "cut off": lambda content, rng: content[: len(content) // 2],
    "empty": lambda content, rng: b"",
    "zeros": lambda content, rng: bytes(len(content)),
}


@pytest.fixture(scope="module", params=["fast", "tiny"])
def filled(request, tmp_path_factory):
    """Give a training command, the model it makes, and the cache that it filled."""
    folder = tmp_path_factory.mktemp("filled")
    photos = write_photos(folder / "photos", n_images=3)
    train = ["train", photos, "--recipe", request.param, "--quiet"]
    assert call(*train, "--cache", folder / "cache", "-o", folder / "m.vw") == 0
    return train, (folder / "m.vw").read_bytes(), folder / "cache"


@pytest.mark.parametrize("damage", DAMAGES)
def test_training_with_a_damaged_cache_makes_the_same_model(damage, filled, tmp_path, rng):
    train, model, entries = filled
    folder = shutil.copytree(entries, tmp_path / "cache")
    for path in folder.glob("segment-*"):
        path.write_bytes(DAMAGES[damage](path.read_bytes(), rng))
    assert call(*train, "--cache", folder, "-o", tmp_path / "m.vw") == 0
    assert (tmp_path / "m.vw").read_bytes() == model
