"""Compiled loops work wherever they are installed; at worst they are compiled again."""

import os
import subprocess
import sys
import types
import warnings

import llvmlite.binding as llvm
import numba
import pytest

from visualwords import compiled
from visualwords.compiled import vector_bytes

MODULE = """
from visualwords.compiled import njit

@njit()
def double(x):
    return 2 * x

@njit(fastmath=True)
def triple(x):
    return 3 * x
"""


@pytest.fixture
def run(monkeypatch):
    """Give ``run(folder, …)`` → what loops return, warnings and cache hits, as in a new process."""

    def run(folder, name="loops.py", **config):
        for key, value in config.items():
            monkeypatch.setattr(numba.config, key, value)
        monkeypatch.setattr(compiled, "_warned", False)
        path = str(folder / name)
        module = {"__name__": "loops", "__file__": path}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            exec(compile((folder / name).read_text(), path, "exec"), module)
            results = module["double"](3), module["triple"](3)
        assert results == (6, 9)
        hits = sum(module["double"].stats.cache_hits.values()) if "CACHE_DIR" in config else None
        return [str(warning.message) for warning in caught], hits

    return run


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "loops.py").write_text(MODULE)
    return tmp_path


def test_compiled_code_is_kept_and_replaced_with_one_warning_where_it_is_damaged(folder, run):
    cache = folder / "cache"
    assert run(folder, CACHE_DIR=str(cache)) == ([], 0)
    assert run(folder, CACHE_DIR=str(cache)) == ([], 1)
    for suffix, kept in (("nbi", 0.0), ("nbi", 0.9), ("nbc", 0.5)):
        files = list(cache.rglob(f"*.{suffix}"))
        assert len(files) == 2
        for file in files:
            os.truncate(file, int(kept * file.stat().st_size))
        messages, hits = run(folder, CACHE_DIR=str(cache))
        assert [message.endswith("is compiled again") for message in messages] == [True]
        assert hits == 0
    assert run(folder, CACHE_DIR=str(cache)) == ([], 1)


def test_without_the_short_way_to_the_cache_numbas_own_is_taken(folder, run, monkeypatch):
    cache = {"CACHE_DIR": str(folder / "cache")}
    run(folder, **cache)
    monkeypatch.setattr(compiled, "rtsys", None)
    assert run(folder, **cache) == ([], 1)


def test_where_nothing_can_be_written_loops_work_with_one_warning(folder, run, monkeypatch):
    # Files in the place of folders can't be written into, not even by root.
    (folder / "__pycache__").write_bytes(b"")
    nowhere = f"{os.devnull}/cache"
    for name in "HOME", "XDG_CACHE_HOME":
        monkeypatch.setenv(name, nowhere)
    messages, _ = run(folder, CACHE_DIR=nowhere)
    assert len(messages) == 1
    assert "NUMBA_CACHE_DIR" in messages[0]


def test_loops_run_as_plain_python_where_compiling_is_switched_off(folder, run):
    assert run(folder, DISABLE_JIT=1) == ([], None)


def test_code_is_compiled_again_when_a_file_changes_whose_intrinsics_it_holds(
    folder, run, monkeypatch
):
    inner = types.SimpleNamespace(__file__=str(folder / "inner.py"))
    monkeypatch.setitem(sys.modules, "inner", inner)
    (folder / "inner.py").write_text("")
    (folder / "loops.py").write_text(
        "import inner" + MODULE.replace("njit()", "njit(inlined=(inner,))")
    )
    cache = {"CACHE_DIR": str(folder / "cache")}
    assert [run(folder, **cache)[1] for _ in range(2)] == [0, 1]
    (folder / "inner.py").write_text("# another\n")
    assert run(folder, **cache) == ([], 0)


WITHOUT = """
import warnings
import numba.core.caching, numba.core.ccallback  # which imports it itself
del numba.core.caching.FunctionCache
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import loops
    print(loops.double(3), loops.triple(3))
print(*[warning.message for warning in caught])
"""


def test_with_another_cache_of_numba_loops_are_compiled_in_memory(folder, run, monkeypatch):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=folder, capture_output=True, text=True, check=True
    )
    result, without = done.stdout.splitlines()
    assert result == "6 9"

    def changed(*_):
        raise AttributeError("_cache_file")

    monkeypatch.setattr(compiled, "_ForgivingCache", changed)
    (message,), _ = run(folder)
    for warning in without, message:
        assert warning.startswith("numba ")
        assert "compiled again in every process" in warning


DESCRIBE = """
import hashlib
import numpy as np
from visualwords.features import DenseSIFT
rng, digest = np.random.default_rng(0), hashlib.sha256()
for _ in range(10):
    small = rng.integers(0, 256, (12, 12), np.uint8)
    image = np.kron(small, np.ones((8, 8), np.uint8))
    digest.update(DenseSIFT(4, 8, dtype="float32").extract(image).descriptors)
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_a_process_that_compiles_computes_what_one_that_loads_does(tmp_path):
    """Sums in any order are the same in both only if there is one compiled form of each loop."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", DESCRIBE]
    compiled, loaded = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert compiled == loaded


HOST = llvm.get_host_cpu_features()


@pytest.mark.skipif(
    not llvm.get_process_triple().startswith("x86_64") or numba.config.DISABLE_JIT,
    reason="hand-written vectors are for x86",
)
@pytest.mark.parametrize(
    ("features", "limit", "expected"),
    [
        ("", None, 16),  # what numba makes of NUMBA_CPU_NAME=generic
        ("+avx2,+bmi2,-avx512f", None, 32),
        ("+avx512bw,+avx2", None, 64),
        ("+avx512bw", "32", 32),
        ("+avx2", "64", 32),
        (None, "0", 0),
        (None, None, 64 if HOST.get("avx512bw") else 32 if HOST.get("avx2") else 16),
        (None, "24", "BYTES=24; choose one of 0, 16, 32, 64"),
    ],
)
def test_the_width_is_that_of_numbas_target(features, limit, expected, monkeypatch):
    """Models, features and the demo are compared in `tests.vector_widths`, a step of CI."""
    monkeypatch.setattr(numba.config, "CPU_FEATURES", features)
    monkeypatch.setattr(compiled, "_features", compiled._features.__wrapped__)
    monkeypatch.delenv(compiled.OVERRIDE, raising=False)
    if limit is not None:
        monkeypatch.setenv(compiled.OVERRIDE, limit)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            vector_bytes()
    else:
        assert vector_bytes() == expected
        monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
        assert vector_bytes() == 0
