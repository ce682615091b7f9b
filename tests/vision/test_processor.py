"""numba's target decides which vector instructions are used, and no result depends on them."""

import json
import os
import subprocess
import sys

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest

from visualwords import processor

WIDTH = "from visualwords.processor import *; print(vector_bytes())"
RESULTS = """
import json, sys
import numpy as np
from visualwords.classifiers.kernels import intersection
from visualwords.codebook import FisherVectors, KMeansCodebook
from visualwords.features import HOG, Centrist, DenseSIFT
from visualwords.features.local_features import LocalFeatures

random = np.random.default_rng(0)
image = random.integers(0, 256, (60, 70)).astype(np.uint8)
rows = random.integers(0, 200, (40, 70)).astype(np.uint8)
sift = DenseSIFT().extract(image)
book = KMeansCodebook(20).set_state({"words": random.random((20, 128)).astype(np.float32) * 60})
fisher = FisherVectors(3, 8, pyramid=1).set_state({
    "mean": np.full(128, 20.0), "directions": random.normal(size=(8, 128)).astype(np.float32),
    "weights": np.full(3, 1 / 3), "means": random.normal(size=(3, 8)) * 40,
    "variances": np.full((3, 8), 5e4),
})
whole = {
    "words": book.predict(sift.descriptors), "intersection": intersection(rows),
    "centrist": Centrist("whole").describe(image),
}
real = {"sift": sift.descriptors, "hog": HOG().describe(image), "fisher": fisher.encode(sift)}
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
    names = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", processor.OVERRIDE)
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
        ({"NUMBA_CPU_FEATURES": "+avx512bw", processor.OVERRIDE: "32"}, "32"),
        ({"NUMBA_CPU_FEATURES": "+avx2", processor.OVERRIDE: "64"}, "32"),
        ({processor.OVERRIDE: "0"}, "0"),
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
    monkeypatch.setenv(processor.OVERRIDE, "24")
    with pytest.raises(ValueError, match="BYTES=24; choose one of 0, 16, 32, 64"):
        processor.vector_bytes()


@pytest.fixture(scope="module")
def results():
    return json.loads(run(RESULTS))


@x86
@pytest.mark.parametrize(
    "environment",
    [
        {"NUMBA_CPU_NAME": "generic"},
        *({processor.OVERRIDE: width} for width in ("0", "16", "32", "64")),
    ],
    ids=lambda environment: "=".join(*environment.items()),
)
def test_results_do_not_depend_on_the_width(environment, results):
    whole, real = json.loads(run(RESULTS, **environment))
    assert whole == results[0]
    for name, value in real.items():
        np.testing.assert_allclose(value, results[1][name], rtol=1e-5, atol=1e-5, err_msg=name)
