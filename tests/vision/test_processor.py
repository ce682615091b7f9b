"""numba's target decides which vector instructions are used, and no result depends on them.

Models, features and the demo are compared in `tests.vector_widths`, a step of CI.
"""

import json
import os
import subprocess
import sys

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest

from visualwords import compiled

pytestmark = pytest.mark.slow

RESULTS = """
import json
import numpy as np
from visualwords.classifiers.kernels import intersection
from visualwords.codebook import FisherVectors, KMeansCodebook
from visualwords.compiled import vector_bytes
from visualwords.features.local_features import LocalFeatures

random = np.random.default_rng(0)
bytes_ = random.integers(0, 200, (42, 128)).astype(np.uint8)
book = KMeansCodebook(20).set_state({
    "words": random.random((20, 128)) * 200, "counts": np.ones(20), "inertia": np.array(0),
    "n_iter": np.array(1),
})
fisher = FisherVectors(3, 8, pyramid=1).set_state({
    "mean": np.full(128, 100.0), "directions": random.integers(-127, 128, (8, 128)) / 127,
    "weights": np.full(3, 1 / 3), "means": random.normal(size=(3, 8)) * 400,
    "variances": np.full((3, 8), 1e5),
})
image = LocalFeatures(bytes_, random.random((42, 2)), np.full(42, 16.0))
found = {
    "words": book.predict(bytes_), "intersection": intersection(bytes_),
    "fisher": fisher.encode(image),
}
"""
PRINT = """
assert all(np.isfinite(value).all() and value.any() for value in found.values())
print(json.dumps([vector_bytes(), {name: value.ravel().tolist() for name, value in found.items()}]))
"""
x86 = pytest.mark.skipif(
    not llvm.get_process_triple().startswith("x86_64") or numba.config.DISABLE_JIT,
    reason="hand-written vectors are for x86",
)


@pytest.fixture
def target(monkeypatch):
    """Give ``set(features, limit)``: what numba has read of its environment, and our limit."""

    def choose(features=None, limit=None, **options):
        monkeypatch.setattr(numba.config, "CPU_FEATURES", features)
        for name, value in options.items():
            monkeypatch.setattr(numba.config, name, value)
        monkeypatch.delenv(compiled.OVERRIDE, raising=False)
        if limit is not None:
            monkeypatch.setenv(compiled.OVERRIDE, limit)
        compiled._features.cache_clear()

    yield choose
    compiled._features.cache_clear()


@x86
@pytest.mark.parametrize(
    ("features", "limit", "expected"),
    [
        ("", None, 16),  # what numba makes of NUMBA_CPU_NAME=generic
        ("+avx2,+bmi2,-avx512f", None, 32),
        ("+avx512bw,+avx2", None, 64),
        ("+avx512bw", "32", 32),
        ("+avx2", "64", 32),
        (None, "0", 0),
    ],
)
def test_the_width_is_that_of_numbas_target(target, features, limit, expected):
    target(features, limit)
    assert compiled.vector_bytes() == expected


@x86
def test_without_other_wishes_the_host_decides(target):
    target()
    has = llvm.get_host_cpu_features()
    expected = 64 if has.get("avx512bw") else 32 if has.get("avx2") else 16
    assert compiled.vector_bytes() == expected


@x86
def test_without_compiled_loops_there_are_no_vectors(target):
    target(DISABLE_JIT=1)
    assert compiled.vector_bytes() == 0


@x86
def test_a_width_that_no_vector_has_is_refused(target):
    target(limit="24")
    with pytest.raises(ValueError, match="BYTES=24; choose one of 0, 16, 32, 64"):
        compiled.vector_bytes()


@x86
@pytest.mark.parametrize(
    ("environment", "width"),
    [({"NUMBA_CPU_NAME": "generic"}, 16), ({compiled.OVERRIDE: "0"}, 0)],
    ids=["generic", "0"],
)
def test_results_do_not_depend_on_the_target(environment, width):
    """Whole numbers are the same; others are as float32 rounds in another order."""
    names = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", compiled.OVERRIDE)
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [sys.executable, "-c", RESULTS + PRINT],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    there, found = json.loads(done.stdout.splitlines()[-1])
    here = {}
    exec(RESULTS, here)
    assert there == width
    for name in ("words", "intersection"):
        assert found[name] == here["found"][name].ravel().tolist()
    np.testing.assert_allclose(found["fisher"], here["found"]["fisher"].ravel(), atol=1e-5)
