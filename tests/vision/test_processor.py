"""numba's target decides which vector instructions are used, and no result depends on them."""

import json
import os
import subprocess
import sys

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest

from visualwords import compiled

WIDTH = "from visualwords.compiled import *; print(vector_bytes())"
RESULTS = """
import json
import numpy as np
from visualwords.classifiers.kernels import intersection
from visualwords.codebook import FisherVectors, KMeansCodebook
from visualwords.features.local_features import LocalFeatures

random = np.random.default_rng(0)
bytes_ = random.integers(0, 200, (42, 128)).astype(np.uint8)
book = KMeansCodebook(20).set_state({
    "words": random.random((20, 128)) * 200, "counts": np.ones(20), "inertia": np.array(0),
    "mean_distance": np.array(0), "n_iter": np.array(1),
})
fisher = FisherVectors(3, 8, pyramid=1).set_state({
    "mean": np.full(128, 100.0), "directions": random.integers(-127, 128, (8, 128)) / 127,
    "weights": np.full(3, 1 / 3), "means": random.normal(size=(3, 8)) * 400,
    "variances": np.full((3, 8), 1e5),
})
image = LocalFeatures(bytes_, random.random((42, 2)), np.full(42, 16.0))
whole = {"words": book.predict(bytes_), "intersection": intersection(bytes_)}
real = {"fisher": fisher.encode(image)}
"""
FEATURES = """
from visualwords.features import HOG, Centrist, DenseSIFT

picture = random.integers(0, 256, (60, 70)).astype(np.uint8)
whole["centrist"] = Centrist("whole").describe(picture)
real |= {"sift": DenseSIFT().extract(picture).descriptors, "hog": HOG().describe(picture)}
"""
PRINT = """
for name, value in {**whole, **real}.items():
    assert np.isfinite(value).all() and value.any(), name
print(json.dumps([{k: v.ravel().tolist() for k, v in part.items()} for part in (whole, real)]))
"""
x86 = pytest.mark.skipif(
    not llvm.get_process_triple().startswith("x86_64") or numba.config.DISABLE_JIT,
    reason="hand-written vectors are for x86",
)


def run(code, **environment):
    """Run code in a process of its own, with other targets for numba; return its last line."""
    names = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", compiled.OVERRIDE)
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.splitlines()[-1]


@x86
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NUMBA_CPU_NAME": "generic"}, "16"),
        ({"NUMBA_CPU_FEATURES": "+avx2,+bmi2,-avx512f"}, "32"),
        ({"NUMBA_CPU_FEATURES": "+avx512bw,+avx2"}, "64"),
        ({"NUMBA_CPU_FEATURES": "+avx512bw", compiled.OVERRIDE: "32"}, "32"),
        ({"NUMBA_CPU_FEATURES": "+avx2", compiled.OVERRIDE: "64"}, "32"),
        ({compiled.OVERRIDE: "0"}, "0"),
        ({"NUMBA_DISABLE_JIT": "1"}, "0"),
    ],
)
def test_the_width_is_that_of_numbas_target(environment, expected):
    assert run(WIDTH, **environment) == expected


@x86
def test_without_other_wishes_the_host_decides():
    has = llvm.get_host_cpu_features()
    expected = 64 if has.get("avx512bw") else 32 if has.get("avx2") else 16
    assert run(WIDTH).split()[0] == str(expected)


@x86
def test_a_width_that_no_vector_has_is_refused(monkeypatch):
    monkeypatch.setenv(compiled.OVERRIDE, "24")
    with pytest.raises(ValueError, match="BYTES=24; choose one of 0, 16, 32, 64"):
        compiled.vector_bytes()


def results(code, **environment):
    return json.loads(run(code + PRINT, **environment))


def assert_equal(found, expected):
    """Whole numbers are the same; others are as float32 rounds in another order."""
    assert found[0] == expected[0]
    for name, value in found[1].items():
        np.testing.assert_allclose(value, expected[1][name], rtol=1e-5, atol=1e-5, err_msg=name)


@x86
@pytest.mark.parametrize("width", [0, 16, 32])
def test_results_do_not_depend_on_the_width(width):
    if width >= compiled.vector_bytes():
        pytest.skip("no narrower than this processor's vectors")
    assert_equal(results(RESULTS, **{compiled.OVERRIDE: str(width)}), results(RESULTS))


@x86
def test_results_are_the_same_for_a_generic_processor():
    code = RESULTS + FEATURES
    assert_equal(results(code, NUMBA_CPU_NAME="generic"), results(code))
