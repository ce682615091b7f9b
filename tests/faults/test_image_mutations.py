"""Image files with bytes changed, cut, doubled and spliced: refused, or read the same twice.

The mutations are made in a process of its own, under a limit of memory and time: see
`tests.faults.fuzz_images`, which also runs alone, for as long as one likes.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.faults import fuzz_images
from tests.faults.conftest import IS_LONG
from visualwords.images import read_image

N_FILES = 100_000 if IS_LONG else 1_000


@pytest.mark.parametrize("seed", [0, 1])
def test_mutated_files_are_refused_or_read_alike(seed, tmp_path):
    arguments = ["--examples", N_FILES // 2, "--seed", seed, "--keep", tmp_path]
    done = subprocess.run(
        [sys.executable, fuzz_images.__file__, *map(str, arguments)],
        capture_output=True,
        text=True,
        errors="replace",
    )
    left = [path.read_bytes() for path in tmp_path.iterdir()]
    assert done.returncode == 0, f"{done.stderr[-3000:]}\nthe file: {left}"
    assert f"{N_FILES // 2:,} files" in done.stdout


@pytest.mark.parametrize("name", [*fuzz_images.FORMS, *fuzz_images.REAL])
def test_what_is_mutated_is_a_good_file(name):
    assert read_image(fuzz_images.sample(name)).ndim == 3


def spend_memory(data, **_):
    return bytearray(2 * fuzz_images.MEMORY)


def never_end(data, **_):
    while True:
        pass


def leave_memory_as_it_is(data, **_):
    image = read_image(fuzz_images.sample("BMP"))
    image[0] = np.frombuffer(os.urandom(image[0].size), np.uint8).reshape(image[0].shape)
    return image


@pytest.mark.parametrize("fault", [spend_memory, never_end, leave_memory_as_it_is])
def test_the_limits_and_comparisons_notice_a_bad_decoder(fault, tmp_path):
    code = (
        "from tests.faults import fuzz_images, test_image_mutations as bad\n"
        f"fuzz_images.read_image, fuzz_images.SECONDS = bad.{fault.__name__}, 1\n"
        f"fuzz_images.main(['--examples', '3', '--keep', {str(tmp_path)!r}])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True
    )
    assert done.returncode != 0
    assert [path.name for path in tmp_path.iterdir()] == ["fuzzed-image.bin"]
