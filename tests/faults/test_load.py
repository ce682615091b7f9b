"""Work that goes on for long takes no more memory than work that begins.

Minutes of it: `docs/explanation/guarantees.md` has the commands for the server and the detector.
"""

import gc
import os

import pytest

from tests.faults.commands import server
from tests.faults.conftest import IS_LONG
from tests.faults.fuzz_images import sample
from visualwords import load
from visualwords.errors import ImageError
from visualwords.folders import ImageFolder
from visualwords.images import read_image

N_TURNS = 5_000 if IS_LONG else 300
MEGABYTE = 1 << 20


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(work):
    """Return by how many bytes the process grew from the first third of the turns to the last."""
    for turn in range(N_TURNS):
        if turn == N_TURNS // 3:
            gc.collect()
            before = resident_bytes()
        work(turn)
    gc.collect()
    return resident_bytes() - before


def predict_for_long(model, photos):
    classifier, paths = load(model), ImageFolder(photos).paths[::6]
    assert growth(lambda turn: classifier.predict(paths)) < 4 * MEGABYTE


def load_for_long(model, photos):
    assert growth(lambda turn: load(model)) < 4 * MEGABYTE


def refuse_for_long(model, photos):
    """Errors hold on to what was being read; they must free it."""
    whole = sample("progressive JPEG"), sample("PNG"), sample("LZW TIFF"), sample("GIF")

    def refuse(turn):
        data = whole[turn % len(whole)]
        with pytest.raises(ImageError):
            read_image(data[: len(data) // 2])

    assert growth(refuse) < 4 * MEGABYTE


@pytest.mark.parametrize("work", [predict_for_long, load_for_long, refuse_for_long])
def test_memory_stays_as_it_is(work, model, photos):
    process = server.Process(target=work, args=(model, photos))
    process.start()
    process.join()
    assert process.exitcode == 0


def grow_for_long(model, photos):
    kept = []
    assert growth(lambda turn: kept.append(bytearray(os.urandom(100_000)))) < 4 * MEGABYTE


def test_a_leak_would_be_noticed(model, photos, capfd):
    process = server.Process(target=grow_for_long, args=(model, photos))
    process.start()
    process.join()
    assert process.exitcode == 1
