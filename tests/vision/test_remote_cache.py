import numpy as np
import pytest

from visualwords.cache import FeatureCache, open_cache
from visualwords.errors import FolderError
from visualwords.remote_cache import RemoteCache

fsspec = pytest.importorskip("fsspec", reason="pip install 'visualwords[distributed]'")


@pytest.fixture
def cache(tmp_path):
    return open_cache(f"file://{tmp_path}/features")


def test_an_array_comes_back(cache):
    cache.put("abcd", np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(cache.get("abcd"), np.arange(6.0).reshape(2, 3))
    assert cache.get("abce") is None


def test_a_damaged_entry_counts_as_absent(cache, tmp_path):
    cache.put("abcd", np.arange(6))
    (entry,) = tmp_path.glob("features/ab/*.npy")
    entry.write_bytes(entry.read_bytes()[:-3])
    assert cache.get("abcd") is None


def test_size_and_clear(cache):
    cache.put("abcd", np.arange(6))
    n_entries, n_bytes = cache.size()
    assert (n_entries, n_bytes > 48) == (1, True)
    assert cache.clear() == (n_entries, n_bytes)
    assert cache.size() == (0, 0)


def test_an_unknown_kind_of_place_is_refused():
    with pytest.raises(FolderError, match="nowhere://x"):
        RemoteCache("nowhere://x")


def test_a_name_without_a_scheme_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert type(open_cache("features")) is FeatureCache
    assert open_cache("features").folder == tmp_path / "features"
