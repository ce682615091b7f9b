"""Other users and locales: what surrounds a run changes no result."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import IS_ROOT
from tests.faults.commands import server
from tests.faults.test_processes import litter
from visualwords.cache import FeatureCache

pytestmark = pytest.mark.posix


def test_a_name_from_another_locale_is_found(tmp_path):
    """Workers of a cluster may have a locale that can't encode the names of the others."""
    (tmp_path / "forêt.txt").write_bytes(b"here")
    code = (
        "import sys; from visualwords.files import open_regular\n"
        "assert sys.getfilesystemencoding() != 'utf-8'\n"
        "print(open_regular(sys.argv[1].encode('utf-8', 'surrogateescape').decode()).read())"
    )
    environment = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "forêt.txt")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "AssertionError" in done.stderr:
        pytest.skip("this system has UTF-8 names in all locales")
    assert done.stdout == "b'here'\n", done.stderr


NAMES = [b"private", b"public"]


def _listed(cache):
    found = [cache.get(cache.key(name, {})) for name in NAMES]
    return [None if array is None else array.tolist() for array in found]


def _as_another_user(folder, results):
    """Read and write a cache as a user who does not own it."""
    os.setgid(65534)
    os.setuid(65534)
    cache = FeatureCache(folder)
    results.put(_listed(cache))
    for name in NAMES:
        cache.put(cache.key(name, {}), np.arange(5))
    results.put(_listed(cache))


@pytest.fixture
def open_folder():
    """Give a folder that others can enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.skipif(not IS_ROOT, reason="needs to be root to become another user")
def test_two_users_of_one_cache_do_not_get_into_each_others_way(open_folder):
    cache = FeatureCache(open_folder / "cache")
    for name in NAMES:
        cache.put(cache.key(name, {}), np.arange(3))
        if name == b"private":
            (path,) = cache.folder.glob("*.vwc")
            path.chmod(0o600)
            cache.close()
    cache.folder.chmod(0o1777)  # as /tmp is: files belong to who made them
    results = server.Queue()
    process = server.Process(target=_as_another_user, args=(cache.folder, results))
    process.start()
    assert results.get(timeout=60) == [None, [0, 1, 2]]
    assert results.get(timeout=60) == [[0, 1, 2, 3, 4]] * 2  # computed again, and kept
    process.join()
    assert _listed(cache) == [[0, 1, 2]] * 2
    assert litter(cache.folder) == []
