"""The same images and seed give the same bytes, whatever surrounds the program."""

import os
import shutil

import numpy as np
import pytest

from tests.faults.commands import run_from_shell
from tests.faults.conftest import write_photos
from visualwords.model_file import read_model


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """Give a folder of photographs with a class that is not written in ASCII."""
    folder = write_photos(tmp_path_factory.mktemp("crowd") / "photos", n_images=7)
    (folder / "wood").rename(folder / "forêt")
    return folder


def train(folder, target, *arguments, environment=None, **options):
    """Train with two recipes' worth of words and windows; return the bytes of the model."""
    done = run_from_shell(
        *("train", folder, "-o", target, "--recipe", "words", "--no-cache", "--quiet", *arguments),
        environment=os.environ | (environment or {}),
        **options,
    )
    assert done.code == 0, done.output
    return target.read_bytes()


@pytest.fixture(scope="module")
def expected(crowd, tmp_path_factory):
    return train(crowd, tmp_path_factory.mktemp("expected") / "m.vw", "--jobs", "1")


def test_the_model_depends_on_nothing_but_the_images_and_the_seed(crowd, expected, tmp_path):
    """Jobs, threads, place, order and time of the files, language, hash seed and umask differ at
    once, as every training is a process.
    """
    elsewhere = tmp_path / "elsewhere" / crowd.name  # a model keeps the name of its folder
    for path in sorted(crowd.rglob("*.png"), key=lambda path: path.stem, reverse=True):
        copy = elsewhere / path.relative_to(crowd)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
        os.utime(copy, (1, 1))
    threads = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"], "1")
    surroundings = {
        "LC_ALL": "C",
        "LANG": "tr_TR.UTF-8",
        "TZ": "Asia/Kathmandu",
        "PYTHONHASHSEED": "14",
    }
    found = train(
        *(crowd.name, tmp_path / "m.vw", "--jobs", "7"),
        environment=threads | surroundings,
        cwd=elsewhere.parent,
        umask=0o077,
    )
    assert found == expected


def test_other_kernels_of_blas_change_no_score_of_words(crowd, expected, tmp_path):
    """Only signatures of similar images and novelty are computed by BLAS, see the docs."""
    (tmp_path / "a.vw").write_bytes(expected)
    environment = {"OPENBLAS_CORETYPE": "Prescott"}
    train(crowd, tmp_path / "b.vw", environment=environment)
    (_, old), (_, new) = read_model(tmp_path / "a.vw"), read_model(tmp_path / "b.vw")
    differing = [name for name in old if old[name].tobytes() != new[name].tobytes()]
    assert {name.split("/")[0] for name in differing} <= {"gallery", "novelty"}
    assert np.array_equal(old["golden/decisions"], new["golden/decisions"])
    for name in differing:
        assert np.allclose(old[name], new[name], rtol=1e-3, atol=1e-4)
