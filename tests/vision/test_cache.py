"""The feature cache: what is found is right, whatever happened to the files."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import IS_ROOT
from visualwords import cache_secret
from visualwords import segments as segments_module
from visualwords.cache import FeatureCache, default_folder
from visualwords.segments import SegmentFolder, segment_folder

SETTINGS = {"extractor": "ColorHistogram", "version": 1, "bins": 4}


def segments(cache):
    return segment_folder(cache.folder).segments()


@pytest.fixture
def cache(tmp_path):
    return FeatureCache(tmp_path / "cache")


@pytest.fixture
def kept(cache):
    """A cache with one small entry, and the file that it is in."""
    key = cache.key(b"image", SETTINGS)
    cache.put(key, np.arange(6, dtype=np.float32).reshape(2, 3))
    (path,) = segments(cache)
    return cache, key, path


@pytest.mark.parametrize(
    "array",
    [
        np.arange(3),
        np.zeros((0, 128), np.uint8),
        np.float64(3.5),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array([True, False]),
    ],
    ids=["ints", "no rows", "scalar", "Fortran order", "bools"],
)
def test_what_was_put_is_got_back(array, cache):
    key = cache.key(b"image", SETTINGS)
    assert cache.get(key) is None
    cache.put(key, array)
    got = cache.get(key)
    np.testing.assert_array_equal(got, array)
    assert got.dtype == np.asarray(array).dtype


def test_the_key_depends_on_the_bytes_and_on_every_setting():
    keys = {
        FeatureCache.key(b"image", SETTINGS),
        FeatureCache.key(b"imagf", SETTINGS),
        FeatureCache.key(b"", SETTINGS),
        FeatureCache.key(b"image", SETTINGS | {"bins": 8}),
        FeatureCache.key(b"image", SETTINGS | {"version": 2}),
        FeatureCache.key(b"image", {}),
    }
    assert len(keys) == 6


def test_the_key_does_not_depend_on_the_order_of_the_settings():
    backwards = dict(reversed(SETTINGS.items()))
    assert FeatureCache.key(b"image", backwards) == FeatureCache.key(b"image", SETTINGS)


@given(st.binary(max_size=20), st.binary(max_size=20), st.text(max_size=5), st.text(max_size=5))
def test_different_inputs_never_share_a_key(data, other, value, another):
    same = FeatureCache.key(data, {"v": value}) == FeatureCache.key(other, {"v": another})
    assert same == ((data, value) == (other, another))


def test_a_file_that_changed_has_another_key_and_so_no_stale_entry(tmp_path, cache):
    path = tmp_path / "photo.png"
    path.write_bytes(b"first")
    status = path.stat()
    cache.put(cache.key(path.read_bytes(), SETTINGS), np.arange(3))
    path.write_bytes(b"other")  # the same length, and below the same time
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cache.get(cache.key(path.read_bytes(), SETTINGS)) is None


def test_an_entry_cut_anywhere_counts_as_absent(kept):
    cache, key, path = kept
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert cache.get(key) is None
    path.write_bytes(whole)
    assert cache.get(key) is not None


def test_an_entry_with_any_bit_flipped_counts_as_absent(kept):
    cache, key, path = kept
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            assert cache.get(key) is None


def test_an_entry_of_something_else_counts_as_absent(kept):
    cache, key, path = kept
    whole, start = path.read_bytes(), path.stat().st_size
    cache.put(cache.key(b"another image", SETTINGS), np.arange(6, dtype=np.float32).reshape(2, 3))
    path.write_bytes(path.read_bytes()[start:])
    assert cache.get(key) is None
    path.write_bytes(whole[:20] + path.read_bytes()[20:])  # the other's content under this name
    assert cache.get(key) is None
    path.write_bytes(b"notes of somebody")
    assert cache.get(key) is None


def test_a_damaged_entry_is_replaced_by_the_next_put(kept):
    cache, key, path = kept
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"?")
    assert cache.get(key) is None
    cache.put(key, np.arange(4))
    np.testing.assert_array_equal(cache.get(key), np.arange(4))


@pytest.mark.posix  # Windows deletes no file that is open
def test_a_folder_in_the_place_of_a_segment_does_no_harm(kept):
    cache, key, path = kept
    path.unlink()
    path.mkdir()
    assert cache.get(key) is None
    cache.put(key, np.arange(3))
    assert cache.get(key) is None or cache.get(key).tolist() == [0, 1, 2]
    path.rmdir()


def test_objects_are_never_kept(cache):
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        cache.put(cache.key(b"", {}), np.array([print], dtype=object))
    assert cache.size()[0] == 0


def test_where_nothing_can_be_written_putting_does_nothing(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    cache = FeatureCache(tmp_path / "file" / "cache")
    key = cache.key(b"image", SETTINGS)
    cache.put(key, np.arange(3))
    assert cache.get(key) is None


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_a_read_only_cache_is_still_read(kept):
    cache, key, path = kept
    cache.close()
    path.parent.chmod(0o555)
    try:
        cache.put(key, np.arange(99))
        assert cache.get(key).shape == (2, 3)
    finally:
        path.parent.chmod(0o755)


WRITE_AND_READ = """
import sys
import numpy as np
from visualwords.cache import FeatureCache
cache = FeatureCache(sys.argv[1])
for turn in range(200):
    key = cache.key(b"%d" % (turn % 3), {})
    cache.put(key, np.full(5000, turn % 3))
    assert (cache.get(key) == turn % 3).all()
"""


def test_processes_may_share_a_cache(tmp_path):
    command = [sys.executable, "-c", WRITE_AND_READ, str(tmp_path / "cache")]
    writers = [subprocess.Popen(command) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    cache = FeatureCache(tmp_path / "cache")
    assert cache.size()[0] == 3
    assert [cache.get(cache.key(b"%d" % i, {}))[0] for i in range(3)] == [0, 1, 2]
    assert len(segments(cache)) == 3


def test_what_another_process_puts_is_found_at_once_if_it_is_expected(cache):
    other = SegmentFolder(cache.folder)  # knows nothing of this process's, as another process
    for i in range(20):
        key = cache.key(b"%d" % i, {})
        assert other.get(bytes.fromhex(key)) is None
        cache.put(key, np.arange(i))
        assert other.get(bytes.fromhex(key), expected=True) is not None


def test_many_entries_are_in_few_files(cache):
    for i in range(500):
        cache.put(cache.key(b"%d" % i, {}), np.arange(50))
    assert len(list(cache.folder.iterdir())) == 2
    assert cache.size()[0] == 500


def test_beyond_its_size_a_cache_loses_what_was_used_least_recently(tmp_path, monkeypatch):
    cache = FeatureCache(tmp_path / "cache", most_bytes=400_000)
    monkeypatch.setattr("visualwords.segments.TOUCH", -1.0)
    keys = [cache.key(b"%d" % i, {}) for i in range(600)]
    now = 0
    for key in keys:
        cache.put(key, np.zeros(1000, np.uint8))
        assert cache.get(keys[0]) is not None  # in use all the time
        for path in segments(cache):  # file systems may have coarse clocks
            if path.stat().st_mtime > 10**8:
                now += 1
                os.utime(path, (now, now))
        assert sum(path.stat().st_size for path in segments(cache)) <= 400_000
    found = [cache.get(key) is not None for key in keys]
    assert found[0]
    assert all(found[-200:])
    assert not any(found[50:150])
    assert cache.size()[0] == sum(found)


def test_an_entry_too_large_for_its_cache_is_not_kept(tmp_path):
    cache = FeatureCache(tmp_path / "cache", most_bytes=100_000)
    key = cache.key(b"image", {})
    cache.put(key, np.zeros(30_000, np.uint8))
    assert cache.get(key) is None


@pytest.mark.posix  # Windows deletes no file that is open
def test_a_segment_that_another_process_deleted_costs_only_its_entries(kept):
    cache, key, path = kept
    path.unlink()
    path.with_suffix(".vwi").unlink()
    assert cache.get(key) is None
    cache.put(key, np.arange(4))
    assert cache.get(key).tolist() == [0, 1, 2, 3]
    assert len(segments(cache)) == 1


def test_an_index_cut_anywhere_lists_only_what_is_there(cache):
    keys = [cache.key(b"%d" % i, {}) for i in range(5)]
    for i, key in enumerate(keys):
        cache.put(key, np.arange(i))
    (path,) = segments(cache)
    index = path.with_suffix(".vwi")
    whole = index.read_bytes()
    for length in range(len(whole) + 1):
        index.write_bytes(whole[:length])
        other = SegmentFolder(cache.folder)
        found = [other.get(bytes.fromhex(key)) is not None for key in keys]
        assert found == [i < length // 16 for i in range(5)]


def test_a_disk_that_fills_up_loses_no_entry_before(kept, monkeypatch):
    cache, key, _ = kept
    write = segments_module._append

    def half(file, end, content):
        write(file, end, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segments_module, "_append", half)
    cache.put(cache.key(b"other", {}), np.arange(9))
    monkeypatch.setattr(segments_module, "_append", write)
    cache.put(cache.key(b"third", {}), np.arange(3))
    other = SegmentFolder(cache.folder)
    found = [other.get(bytes.fromhex(cache.key(name, {}))) for name in (b"other", b"third")]
    assert [one is not None for one in found] == [False, True]
    assert cache.get(key) is not None
    assert cache.get(cache.key(b"third", {})).tolist() == [0, 1, 2]


def test_entries_of_older_versions_are_deleted_in_the_default_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = FeatureCache(default_folder())
    old = cache.folder / "ab" / f"{'0' * 38}.npy"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"VWCACHE1")
    cache.put(cache.key(b"image", {}), np.arange(3))
    assert not old.exists()


def test_the_default_folder_follows_the_environment(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_folder() == Path("/somewhere/visualwords")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    assert default_folder() == Path("/home/ada/.cache/visualwords")


def test_without_a_home_there_is_no_default_folder_and_no_crash():
    code = (
        "import os, pwd\n"
        "def nobody(*_): raise KeyError\n"
        "pwd.getpwuid = nobody\n"
        "from visualwords.cache import default_folder\n"
        "print(default_folder())\n"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "None"


def test_clear_deletes_entries_also_of_older_versions_but_no_file_of_others(kept):
    cache, key, path = kept
    old = cache.folder / "ab" / f"{'0' * 38}.npy"
    mine, also_mine = cache.folder / "segment-mine.vwc", cache.folder / "ab" / "mine.npy"
    also_mine.parent.mkdir()
    for file in (old, mine, also_mine):
        file.write_bytes(b"12345")
    assert cache.size() == (1, path.stat().st_size + 16)
    assert cache.clear()[0] == 2
    assert cache.get(key) is None
    assert not old.exists()
    assert not path.exists()
    assert mine.exists()
    assert also_mine.exists()
    assert cache.size() == (0, 0)


def test_clearing_a_cache_that_was_never_used_is_harmless(tmp_path):
    assert FeatureCache(tmp_path / "none").clear() == (0, 0)


@pytest.mark.parametrize(
    "array",
    [np.zeros((0, 3)), np.array(7, np.uint8), np.asfortranarray(np.arange(6).reshape(2, 3))],
    ids=["empty", "scalar", "columns first"],
)
def test_arrays_of_any_shape_and_order_come_back(tmp_path, array):
    cache = FeatureCache(tmp_path)
    cache.put("0a" * 20, array)
    back = cache.get("0a" * 20)
    assert back.shape == array.shape
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_a_secret_is_any_bytes(tmp_path, monkeypatch):
    """Windows would write two bytes for each of these, and read none of them, in a text file."""
    monkeypatch.setattr(cache_secret.secrets, "token_bytes", lambda n: b"\n\x1a" * (n // 2))
    for _ in range(2):
        cache_secret.secret_of.cache_clear()
        assert cache_secret.secret_of(tmp_path) == b"\n\x1a" * 16
        assert (tmp_path / cache_secret.NAME).stat().st_size == 32
