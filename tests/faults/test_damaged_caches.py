"""A cache whose files were damaged gives the same results: damaged entries count as absent."""

import shutil

import numpy as np
import pytest

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


@pytest.mark.parametrize("recipe", ["fast", "tiny"])
def test_training_with_a_damaged_cache_makes_the_same_model(recipe, photos, tmp_path, rng):
    train = ["train", photos, "--recipe", recipe, "--quiet", "-o", tmp_path / "m.vw"]
    assert call(*train, "--cache", tmp_path / "whole") == 0
    expected = (tmp_path / "m.vw").read_bytes()
    for name, damage in DAMAGES.items():
        folder = shutil.copytree(tmp_path / "whole", tmp_path / name)
        for path in folder.glob("segment-*"):
            path.write_bytes(damage(path.read_bytes(), rng))
        assert call(*train, "--cache", folder) == 0
        assert (tmp_path / "m.vw").read_bytes() == expected, name
