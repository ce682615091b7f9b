"""The feature cache: what it returns is right, whatever happened to the files."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import IS_ROOT
from visualwords import cache as cache_module
from visualwords.cache import FeatureCache, default_folder, open_cache
from visualwords.errors import FolderError

SETTINGS = {"extractor": "ColorHistogram", "version": 1, "bins": 4}


def segments(cache):
    return sorted(cache.folder.glob("segment-*.vwc"))


def keys_of(n):
    return [FeatureCache.key(b"%d" % i, {}) for i in range(n)]


@pytest.fixture
def cache(tmp_path):
    return FeatureCache(tmp_path / "cache")


@pytest.fixture
def elsewhere(tmp_path):
    """Give ``elsewhere()`` → the same cache as a process sees it that knows nothing of it yet."""

    def elsewhere(**options):
        place = tmp_path / f"seen{len(list(tmp_path.glob('seen*')))}"
        place.symlink_to(tmp_path, target_is_directory=True)
        return FeatureCache(place / "cache", **options)

    return elsewhere


@pytest.fixture
def kept(cache):
    """A cache with one small entry, and the file that it is in."""
    key = cache.key(b"image", SETTINGS)
    cache.put(key, np.arange(6, dtype=np.float32).reshape(2, 3))
    (path,) = segments(cache)
    return cache, key, path


ARRAYS = [
    *[np.arange(3), np.zeros((0, 128), np.uint8), np.float64(3.5), np.array([True, False])],
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.zeros(2, [("place", "f4", 2), ("size", "u1")]),
]


@pytest.mark.parametrize("array", ARRAYS, ids=["ints", "empty", "scalar", "bools", "F", "records"])
def test_an_array_of_any_type_and_shape_comes_back(array, cache):
    key = cache.key(b"image", SETTINGS)
    assert cache.get(key) is None
    cache.put(key, array)
    back = cache.get(key)
    np.testing.assert_array_equal(back, array)
    assert (back.dtype, back.shape) == (np.asarray(array).dtype, np.shape(array))
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        cache.put(key, np.array([print], dtype=object))


def test_the_key_depends_on_the_content_and_on_every_setting_but_not_on_their_order():
    inputs = [(b"image", SETTINGS), (b"imagf", SETTINGS), (b"", SETTINGS), (b"image", {})]
    inputs += [(b"image", SETTINGS | change) for change in ({"bins": 8}, {"version": 2})]
    assert len({FeatureCache.key(*one) for one in inputs}) == len(inputs)
    backwards = dict(reversed(SETTINGS.items()))
    assert FeatureCache.key(b"image", backwards) == FeatureCache.key(b"image", SETTINGS)


@given(st.binary(max_size=20), st.binary(max_size=20), st.text(max_size=5), st.text(max_size=5))
def test_different_inputs_never_share_a_key(data, other, value, another):
    same = FeatureCache.key(data, {"v": value}) == FeatureCache.key(other, {"v": another})
    assert same == ((data, value) == (other, another))


def test_an_entry_that_is_cut_or_has_a_flipped_bit_counts_as_absent(kept):
    cache, key, path = kept
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place])
        assert cache.get(key) is None
        for bit in range(8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            assert cache.get(key) is None
    path.write_bytes(whole)
    assert cache.get(key) is not None
    path.write_bytes(whole[:-1] + b"?")
    cache.put(key, np.arange(4))
    assert cache.get(key).tolist() == [0, 1, 2, 3]


def test_the_content_of_another_key_counts_as_absent(kept):
    cache, key, path = kept
    first = path.read_bytes()
    cache.put(cache.key(b"another image", SETTINGS), np.arange(6, dtype=np.float32).reshape(2, 3))
    second = path.read_bytes()[len(first) :]
    for content in second, first[:20] + second[20:]:  # and the other's under this key
        path.write_bytes(content)
        assert cache.get(key) is None


def test_where_nothing_can_be_written_putting_does_nothing(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    cache = FeatureCache(tmp_path / "file" / "cache")
    cache.put(cache.key(b"image", SETTINGS), np.arange(3))
    assert cache.get(cache.key(b"image", SETTINGS)) is None
    assert cache.size() == cache.clear() == (0, 0)


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
    assert [cache.get(key)[0] for key in keys_of(3)] == [0, 1, 2]
    assert len(segments(cache)) == 3


@pytest.mark.posix
def test_a_forked_process_writes_to_a_segment_of_its_own(kept):
    cache, key, _ = kept
    process = os.fork()
    if not process:
        cache.put(cache.key(b"child", {}), np.arange(9))
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0
    cache.put(cache.key(b"parent", {}), np.arange(8))
    assert len(segments(cache)) == 2
    keys = key, cache.key(b"child", {}), cache.key(b"parent", {})
    assert [cache.get(key, expected=True).size for key in keys] == [6, 9, 8]


def test_what_another_process_puts_is_there_at_once_if_it_is_expected(cache, elsewhere):
    other = elsewhere()
    for i, key in enumerate(keys_of(20)):
        assert other.get(key) is None
        cache.put(key, np.arange(i))
        assert other.get(key, expected=True) is not None


def test_many_entries_are_in_few_files(cache):
    for key in keys_of(500):
        cache.put(key, np.arange(50))
    assert len(list(cache.folder.iterdir())) == 2
    assert cache.size() == (500, sum(path.stat().st_size for path in cache.folder.iterdir()))


def test_beyond_its_size_a_cache_loses_what_was_used_least_recently(tmp_path, monkeypatch):
    cache = FeatureCache(tmp_path / "cache", most_bytes=400_000)
    monkeypatch.setattr(cache_module, "TOUCH", -1.0)
    keys = keys_of(600)
    now = 0
    for key in keys:
        cache.put(key, np.zeros(1000, np.uint8))
        assert cache.get(keys[0]) is not None  # in use all the time
        for path in segments(cache):  # file systems may have coarse clocks
            if path.stat().st_mtime > 10**8:
                now += 1
                os.utime(path, (now, now))
        assert sum(path.stat().st_size for path in segments(cache)) <= 400_000
    is_kept = [cache.get(key) is not None for key in keys]
    assert is_kept[0]
    assert all(is_kept[-200:])
    assert not any(is_kept[50:150])
    assert cache.size()[0] == sum(is_kept)


def test_an_entry_too_large_for_its_cache_is_not_kept(tmp_path):
    cache = FeatureCache(tmp_path / "cache", most_bytes=100_000)
    for size, is_kept in (24_000, True), (30_000, False):
        key = cache.key(b"%d" % size, {})
        cache.put(key, np.zeros(size, np.uint8))
        assert (cache.get(key) is not None) == is_kept


@pytest.mark.posix  # Windows deletes no file that is open
def test_a_segment_that_another_process_deleted_costs_only_its_entries(kept):
    cache, key, path = kept
    path.unlink()
    path.with_suffix(".vwi").unlink()
    assert cache.get(key) is None
    cache.put(key, np.arange(4))
    assert cache.get(key).tolist() == [0, 1, 2, 3]
    assert len(segments(cache)) == 1


def test_an_index_cut_anywhere_lists_only_what_is_there(cache, elsewhere):
    keys = keys_of(3)
    for i, key in enumerate(keys):
        cache.put(key, np.arange(i))
    (path,) = segments(cache)
    index = path.with_suffix(".vwi")
    whole = index.read_bytes()
    for length in range(len(whole) + 1):
        index.write_bytes(whole[:length])
        other = elsewhere()
        assert [other.get(key) is not None for key in keys] == [i < length // 16 for i in range(3)]


def test_a_disk_that_fills_up_loses_no_entry_before(kept, elsewhere, monkeypatch):
    cache, key, _ = kept
    append = cache_module._append

    def half(file, end, content):
        append(file, end, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    other_key, third_key = keys_of(2)
    with monkeypatch.context() as full:
        full.setattr(cache_module, "_append", half)
        cache.put(other_key, np.arange(9))
    cache.put(third_key, np.arange(3))
    seen = elsewhere()
    assert [seen.get(k) is not None for k in (key, other_key, third_key)] == [True, False, True]
    assert cache.get(third_key).tolist() == [0, 1, 2]


def test_the_default_folder_follows_the_environment(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_folder() == Path("/somewhere/visualwords")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    assert default_folder() == Path("/home/ada/.cache/visualwords")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda *_: {}["nobody"])
    assert default_folder() is None


def test_clear_deletes_entries_but_no_file_of_others(kept):
    cache, key, path = kept
    mine = cache.folder / "segment-mine.vwc"
    mine.write_bytes(b"12345")
    assert cache.size() == (1, path.stat().st_size + 16)
    assert cache.clear()[0] == 1
    assert cache.get(key) is None
    assert list(cache.folder.iterdir()) == [mine]
    assert cache.size() == (0, 0)


@pytest.mark.posix
def test_planted_links_are_neither_read_nor_written_nor_cleared(tmp_path):
    cache, other = FeatureCache(tmp_path / "cache"), FeatureCache(tmp_path / "other")
    key = cache.key(b"image", {})
    other.put(key, np.arange(3))
    cache.folder.mkdir()
    for path in other.folder.iterdir():
        (cache.folder / path.name).symlink_to(path)
    assert cache.get(key) is None
    cache.put(key, np.arange(4))
    assert cache.get(key).tolist() == [0, 1, 2, 3]
    cache.clear()
    assert other.get(key).tolist() == [0, 1, 2]


@pytest.mark.posix
@pytest.mark.parametrize("suffix", ["vwi", "vwc"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_or_folder_in_the_place_of_a_segment_does_no_harm(make, suffix, kept, elsewhere):
    _, key, path = kept
    path.with_suffix(f".{suffix}").unlink()
    make(path.with_suffix(f".{suffix}"))
    other = elsewhere()
    assert other.get(key) is None
    other.put(key, np.arange(4))
    assert other.get(key).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("offset", [7, 2**39, 2**63 + 5])
def test_a_forged_index_leads_nowhere(offset, kept, elsewhere):
    _, key, path = kept
    place = bytes.fromhex(key)[:8] + offset.to_bytes(8, "little")
    path.with_suffix(".vwi").write_bytes(place)
    assert elsewhere().get(key) is None


def npy(header: bytes, content: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n", bytes(8)),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (9,)}\n", bytes(8)),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n", b"\xff" * 8),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}\n", b"\xff" * 8),
        npy(b"{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}\n", b"a\0\0\0"),
        npy(b"(" * 9000),
    ],
    ids=["empty", "objects", "too short", "not finite", "no shape", "text", "no header"],
)
def test_an_entry_that_is_no_array_counts_as_absent(payload, cache, elsewhere):
    key = cache.key(b"image", {})
    entry = cache_module._checksum(key, payload) + payload
    cache._segments.put(bytes.fromhex(key), entry, None)
    assert cache.get(key) is None
    assert elsewhere().get(key) is None


@pytest.mark.posix
def test_a_cache_that_others_can_write_to_is_reported_and_the_default_one_refused(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = default_folder()
    cache = open_cache(folder)
    cache.put(cache.key(b"image", {}), np.arange(3))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert open_cache(folder).get(cache.key(b"image", {})) is not None
    folder.chmod(0o777)
    with pytest.raises(FolderError, match=f"{folder} is writable by all users"):
        open_cache(folder)
    folder.rename(tmp_path / "shared")
    with pytest.warns(UserWarning, match="is writable by all users"):
        open_cache(tmp_path / "shared")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    (tmp_path / "shared").chmod(0o755)
    if (tmp_path / "shared").stat().st_uid:  # not root, whom everybody must trust
        with pytest.warns(UserWarning, match="belongs to another user"):
            open_cache(tmp_path / "shared")
