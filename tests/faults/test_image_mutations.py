"""Image files with bytes changed, cut, doubled and spliced: refused, or read the same twice.

Each run of `tests.faults.fuzz_images` has a process of its own, as memory and time are limited.
"""

import os

import numpy as np
import pytest

from tests.faults import fuzz_images
from tests.faults.commands import exit_code_of
from tests.faults.conftest import IS_LONG
from visualwords.images import read_image

N_FILES = 100_000 if IS_LONG else 1_000


@pytest.mark.parametrize("seed", [0, 1])
def test_mutated_files_are_refused_or_read_alike(seed, tmp_path):
    for name in [*fuzz_images.FORMS, *fuzz_images.REAL]:
        assert read_image(fuzz_images.sample(name)).ndim == 3
    code = exit_code_of(fuzz_images.run, seed, N_FILES // 2, tmp_path / "file")
    assert code == 0, f"the file: {(tmp_path / 'file').read_bytes()}"
    assert not (tmp_path / "file").exists()


def spend_memory(data, **_):
    return bytearray(2 * fuzz_images.MEMORY)


def never_end(data, **_):
    while True:
        pass


def leave_memory_as_it_is(data, **_):
    image = read_image(fuzz_images.sample("BMP"))
    image[0] = np.frombuffer(os.urandom(image[0].size), np.uint8).reshape(image[0].shape)
    return image


def run_a_bad_decoder(decoder, keep):
    fuzz_images.read_image, fuzz_images.SECONDS = decoder, 1
    fuzz_images.run(0, 3, keep)


@pytest.mark.parametrize("decoder", [spend_memory, never_end, leave_memory_as_it_is])
def test_the_limits_and_comparisons_notice_a_bad_decoder(decoder, tmp_path):
    assert exit_code_of(run_a_bad_decoder, decoder, tmp_path / "file") != 0
    assert (tmp_path / "file").exists()
