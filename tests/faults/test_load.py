"""Work that goes on for long takes no more memory than work that begins."""

import gc
import os

import numpy as np
import pytest
from skimage import data

from tests.faults.commands import exit_code_of
from tests.faults.conftest import IS_LONG
from tests.faults.fuzz_images import sample
from visualwords import load
from visualwords.errors import ImageError
from visualwords.folders import ImageFolder
from visualwords.images import read_image

N_TURNS = 5_000 if IS_LONG else 300
N_LOADS = 5_000 if IS_LONG else 120
N_FRAMES = 500 if IS_LONG else 30
MEGABYTE = 1 << 20


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def stay(work, n_turns=N_TURNS):
    """Fail if the process grows from the first third of the turns to the last."""
    for turn in range(n_turns):
        if turn == n_turns // 3:
            gc.collect()
            before = resident_bytes()
        work(turn)
    gc.collect()
    assert resident_bytes() - before < 4 * MEGABYTE


def predict(model, photos):
    classifier, paths = load(model), ImageFolder(photos).paths[::6]
    stay(lambda turn: classifier.predict(paths))


def load_again(model, photos):
    stay(lambda turn: load(model), N_LOADS)


def refuse(model, photos):
    """Errors hold on to what was being read; they must free it."""
    whole = sample("progressive JPEG"), sample("PNG"), sample("LZW TIFF"), sample("GIF")

    def refuse_one(turn):
        data = whole[turn % len(whole)]
        with pytest.raises(ImageError):
            read_image(data[: len(data) // 2])

    stay(refuse_one)


def detect(model, photos):
    detector, photograph = load("pedestrian"), data.astronaut()

    def detect_in_one(turn):
        x, y = np.random.default_rng(turn).integers(0, 300, 2)
        detector.detect(np.ascontiguousarray(photograph[y : y + 144, x : x + 96]))

    stay(detect_in_one, N_FRAMES)


def leak(model, photos):
    kept = []
    stay(lambda turn: kept.append(bytearray(os.urandom(100_000))))


@pytest.mark.parametrize("work", [predict, load_again, refuse, detect, leak])
def test_memory_stays_as_it_is(work, model, photos):
    assert exit_code_of(work, model, photos) == (work is leak)
