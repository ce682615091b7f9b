"""Compiled loops work wherever they are installed; at worst they are compiled again."""

import os
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import validate_data

from visualwords.compiled import is_plain, vector_bytes

MODULE = """
from visualwords.compiled import njit

@njit()
def double(x):
    return 2 * x

@njit(fastmath=True)
def triple(x):
    return 3 * x
"""
RUN = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import loops
    print(loops.double(3), loops.triple(3))
for warning in caught:
    print(warning.category.__name__, warning.message)
print(loops.double.stats.cache_hits if hasattr(loops.double, "stats") else "plain Python")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    (folder / "loops.py").write_text(MODULE)
    return folder


@pytest.fixture(scope="module")
def warm_cache(folder):
    """The cache after a first process, which must have run silently."""
    assert run(folder, NUMBA_CACHE_DIR=str(folder / "cache")) == ["6 9", "Counter()"]
    return folder / "cache"


def run(folder, **environment):
    """Run the loops in a process of their own; return its lines."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_"))}
    result = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.splitlines()


def test_the_second_process_finds_what_the_first_compiled(folder, warm_cache):
    first, hits = run(folder, NUMBA_CACHE_DIR=str(warm_cache))
    assert first == "6 9"
    assert "1" in hits


def test_a_read_only_installation_without_a_home_works_with_one_warning(tmp_path):
    (tmp_path / "loops.py").write_text(MODULE)
    # Files in the place of folders can't be written into, not even by root.
    (tmp_path / "__pycache__").write_bytes(b"")
    nowhere = f"{os.devnull}/cache"
    lines = run(tmp_path, HOME=os.devnull, XDG_CACHE_HOME=nowhere, NUMBA_CACHE_DIR=nowhere)
    assert lines[0] == "6 9"
    assert len(lines) == 3
    assert lines[1].startswith("RuntimeWarning")
    assert "NUMBA_CACHE_DIR" in lines[1]


def test_damaged_cache_files_cost_one_warning_and_are_replaced(folder, warm_cache, tmp_path):
    cache = tmp_path / "cache"
    shutil.copytree(warm_cache, cache)
    for suffix, kept in (("nbi", 0.0), ("nbi", 0.9), ("nbc", 0.5)):
        files = list(cache.rglob(f"*.{suffix}"))
        assert len(files) == 2
        for file in files:
            os.truncate(file, int(kept * file.stat().st_size))
        lines = run(folder, NUMBA_CACHE_DIR=str(cache))
        assert lines[0] == "6 9"
        assert len(lines) == 3  # and not more: what was damaged before has been replaced
        assert lines[1].startswith("RuntimeWarning")
    again = run(folder, NUMBA_CACHE_DIR=str(cache))
    assert len(again) == 2
    assert "1" in again[1]


def test_loops_run_as_plain_python_where_compiling_is_switched_off(folder):
    assert run(folder, NUMBA_DISABLE_JIT="1") == ["6 9", "plain Python"]


def test_code_is_compiled_again_when_a_file_changes_whose_intrinsics_it_holds(tmp_path):
    named = MODULE.replace("njit()", "njit(inlined=(inner,))")
    (tmp_path / "loops.py").write_text("import inner\n" + named)
    (tmp_path / "inner.py").write_text("")
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run(tmp_path, **cache)
    assert "1" in run(tmp_path, **cache)[1]
    (tmp_path / "inner.py").write_text("# another\n")
    assert run(tmp_path, **cache) == ["6 9", "Counter()"]


@pytest.mark.parametrize("names", ["njit", "njit, vector_bytes"])
def test_only_files_with_vectors_are_compiled_for_each_width(names, folder, monkeypatch):
    module = {"__name__": "loops", "__file__": str(folder / "loops.py")}
    code = compile(MODULE.replace("import njit", f"import {names}"), module["__file__"], "exec")
    exec(code, module)
    codegen = types.SimpleNamespace(magic_tuple=lambda: ("target",))
    keys = set()
    for width in ("0", "16"):
        monkeypatch.setenv("VISUALWORDS_VECTOR_BYTES", width)
        keys.add(module["double"]._cache._index_key("signature", codegen))
    assert len(keys) == 1 + ("vector_bytes" in names and vector_bytes() > 0)


WITHOUT = """
import numba.core.caching, numba.core.ccallback  # which imports it itself
del numba.core.caching.FunctionCache
"""
CHANGED = """
import numba.core.caching, numba.core.ccallback
class FunctionCache:
    def __init__(self, function):
        pass
numba.core.caching.FunctionCache = FunctionCache
"""


@pytest.mark.parametrize("later_numba", [WITHOUT, CHANGED], ids=["without", "changed"])
def test_with_another_cache_of_numba_loops_are_compiled_in_memory(later_numba, folder, monkeypatch):
    monkeypatch.setitem(globals(), "RUN", later_numba + RUN)
    lines = run(folder)
    assert lines[0] == "6 9"
    assert lines[1].startswith("RuntimeWarning numba ")
    assert "compiled again in every process" in lines[1]
    assert len(lines) == 3


def test_numbas_private_cache_is_as_we_extend_it():
    from numba.core.caching import FunctionCache

    from visualwords.compiled import njit

    assert callable(FunctionCache._index_key)
    assert callable(FunctionCache.flush)
    cache = njit()(run)._cache
    assert isinstance(cache, FunctionCache)
    assert isinstance(cache._cache_file._source_stamp, tuple)


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


GOOD = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def scaler():
    return MinMaxScaler().fit(GOOD)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "float64"])
def test_what_is_plain_comes_back_from_scikit_learn_as_it_is(scaler, dtype):
    X = GOOD.astype(dtype)
    assert is_plain(scaler, X)
    assert validate_data(scaler, X, dtype="numeric", order="C", reset=False) is X


@pytest.mark.parametrize(
    "X",
    [
        GOOD.tolist(),
        GOOD[0],
        GOOD[:0],
        GOOD[:, :1],
        np.asfortranarray(GOOD),
        GOOD.astype(object),
        GOOD.astype(str),
        GOOD.astype(complex),
        GOOD.astype(np.longdouble),
        np.ma.array(GOOD),
    ],
    ids=lambda X: type(X).__name__,
)
def test_everything_else_is_checked(scaler, X):
    assert not is_plain(scaler, X)


def test_an_estimator_that_knows_names_of_columns_checks_them(scaler):
    scaler.feature_names_in_ = np.array(["a", "b"], object)
    assert not is_plain(scaler, GOOD)


def test_kinds_of_numbers_can_be_limited(scaler):
    assert is_plain(scaler, GOOD.astype(np.uint8), "u")
    assert not is_plain(scaler, GOOD, "u")
