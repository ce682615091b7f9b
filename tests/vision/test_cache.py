"""The feature cache: what it returns is right, whatever happened to the files."""

import multiprocessing
import os
import stat
import warnings
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

    def elsewhere():
        place = tmp_path / f"seen{len(list(tmp_path.glob('seen*')))}"
        place.symlink_to(tmp_path, target_is_directory=True)
        return FeatureCache(place / "cache")

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


def test_an_array_of_any_type_and_shape_comes_back(cache):
    for key, array in zip(keys_of(9), ARRAYS):
        assert cache.get(key) is None
        cache.put(key, array)
        back = cache.get(key)
        np.testing.assert_array_equal(back, array)
        assert (back.dtype, back.shape) == (np.asarray(array).dtype, np.shape(array))
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        cache.put(key, np.array([print], dtype=object))


@given(st.binary(max_size=20), st.binary(max_size=20), st.text(max_size=5), st.text(max_size=5))
def test_different_inputs_never_share_a_key(data, other, value, another):
    same = FeatureCache.key(data, {"v": value}) == FeatureCache.key(other, {"v": another})
    assert same == ((data, value) == (other, another))


def test_the_key_depends_on_every_setting_but_not_on_their_order():
    inputs = [SETTINGS, {}, SETTINGS | {"bins": 8}, SETTINGS | {"version": 2}]
    assert len({FeatureCache.key(b"image", one) for one in inputs}) == len(inputs)
    backwards = dict(reversed(SETTINGS.items()))
    assert FeatureCache.key(b"image", backwards) == FeatureCache.key(b"image", SETTINGS)


def test_an_entry_that_is_cut_or_changed_or_of_another_key_counts_as_absent(kept, elsewhere):
    cache, key, path = kept
    whole = path.read_bytes()
    for place in range(0, len(whole), 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert elsewhere().get(key) is None
        path.write_bytes(whole[:place])
        assert cache.get(key) is elsewhere().get(key) is None
    path.write_bytes(whole)
    assert cache.get(key) is not None
    cache.put(cache.key(b"another image", SETTINGS), np.arange(6, dtype=np.float32).reshape(2, 3))
    second = path.read_bytes()[len(whole) :]
    for content in second, whole[:20] + second[20:], whole[:-1] + b"?":
        path.write_bytes(content)
        assert cache.get(key) is elsewhere().get(key) is None
    cache.put(key, np.arange(4))
    assert cache.get(key).tolist() == [0, 1, 2, 3]


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


def write_and_read(folder):
    cache = FeatureCache(folder)
    for turn in range(200):
        key = cache.key(b"%d" % (turn % 3), {})
        cache.put(key, np.full(5000, turn % 3))
        assert (cache.get(key) == turn % 3).all()


def test_processes_may_share_a_cache_and_each_writes_to_a_segment_of_its_own(kept):
    cache, key, _ = kept
    writers = [
        multiprocessing.get_context(method).Process(target=write_and_read, args=(cache.folder,))
        for method in ("spawn", "fork")[: 1 + hasattr(os, "fork")]
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where threads are
        for writer in writers:
            writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert cache.get(key).size == 6
    assert [cache.get(name)[0] for name in keys_of(3)] == [0, 1, 2]
    cache.put(cache.key(b"parent", {}), np.arange(8))
    assert len(segments(cache)) == 1 + len(writers)
    assert cache.size()[0] == 5


def test_many_entries_are_in_few_files_and_there_for_others_at_once_if_expected(cache, elsewhere):
    other = elsewhere()
    for i, key in enumerate(keys_of(300)):
        if i % 100 == 0:
            assert other.get(key) is None
        cache.put(key, np.arange(50))
        if i % 100 == 0:
            assert other.get(key, expected=True) is not None
    assert len(list(cache.folder.iterdir())) == 1
    assert cache.size() == (300, sum(path.stat().st_size for path in cache.folder.iterdir()))
    assert elsewhere().size() == cache.size()


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
    for size, fits in (96_000, True), (110_000, False):  # a fourth
        cache.put(keys[-1], np.full(size, size % 7, np.uint8))
        assert (cache.get(keys[-1]).shape == (size,)) == fits


@pytest.mark.posix  # Windows deletes no file that is open
def test_a_segment_that_is_gone_or_a_pipe_or_folder_costs_only_its_entries(kept, elsewhere):
    cache, key, path = kept
    path.unlink()
    assert cache.get(key) is None
    cache.put(key, np.arange(4))
    assert cache.get(key).tolist() == [0, 1, 2, 3]
    (path,) = segments(cache)
    for make in os.mkfifo, os.mkdir:
        path.unlink(missing_ok=True)
        make(path)
        other = elsewhere()
        assert other.get(key) is None
        other.put(key, np.arange(4))
        assert other.get(key).tolist() == [0, 1, 2, 3]
        other.clear()


def fill(folder):
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    cache = FeatureCache(folder)
    for number in range(3):
        resource.setrlimit(resource.RLIMIT_FSIZE, (500 if number == 1 else 10**6, -1))
        cache.put(cache.key(b"%d" % number, {}), np.arange(40 if number == 1 else 3))


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_disk_that_fills_up_loses_no_entry_before_or_after(cache):
    writer = multiprocessing.get_context("fork").Process(target=fill, args=(cache.folder,))
    writer.start()
    writer.join()
    assert writer.exitcode == 0
    assert [cache.get(key) is not None for key in keys_of(3)] == [True, False, True]
    assert cache.size()[0] == 2


def test_forged_sizes_lead_only_to_what_is_there(cache, elsewhere):
    keys = keys_of(3)
    for i, key in enumerate(keys):
        cache.put(key, np.arange(i))
    (path,) = segments(cache)
    whole = path.read_bytes()
    for size in 0, 7, 2**39, 2**63 + 5:
        path.write_bytes(whole[:20] + size.to_bytes(8, "little") + whole[28:])
        assert elsewhere().get(keys[0]) is None


def test_the_default_folder_follows_the_environment(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_folder() == Path("/somewhere/visualwords")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda *_: {}["nobody"])
    assert default_folder() is None


@pytest.mark.posix
def test_files_of_others_and_links_are_neither_read_nor_written_nor_cleared(tmp_path, kept):
    other, key, path = kept
    cache = FeatureCache(tmp_path / "planted")
    cache.folder.mkdir()
    mine = cache.folder / "segment-mine.vwc"
    mine.write_bytes(b"12345")
    for file in other.folder.iterdir():
        (cache.folder / file.name).symlink_to(file)
    assert cache.get(key) is None
    cache.put(key, np.arange(4))
    assert cache.get(key).tolist() == [0, 1, 2, 3]
    assert cache.clear()[0] == 1
    assert (cache.get(key), cache.size(), list(cache.folder.iterdir())) == (None, (0, 0), [mine])
    assert other.get(key).shape == (2, 3)
    assert other.size() == (1, path.stat().st_size)


FORGED = {  # type and shape of an array, and its bytes
    "objects": ("'|O'", "(1,)", bytes(8)),
    "too short": ("'<f4'", "(9,)", bytes(8)),
    "not finite": ("'<f4'", "(2,)", b"\xff" * 8),
    "no shape": ("'<f4'", "(-1,)", b"\xff" * 8),
    "text": ("'<U1'", "(1,)", b"a\0\0\0"),
    "no header": ("(" * 9000, "", b""),
}


@pytest.mark.parametrize("kind", [*FORGED, "empty"])
def test_an_entry_that_is_no_array_counts_as_absent(kind, cache):
    payload = b""
    if kind in FORGED:
        descr, shape, content = FORGED[kind]
        header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
        payload = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content
    key = cache.key(b"image", {})
    entry = cache_module._checksum(key, payload) + payload
    cache._segments.put(bytes.fromhex(key), entry, None)
    assert cache.get(key) is None


@pytest.mark.posix
def test_a_cache_that_others_can_write_to_is_reported_and_the_default_one_refused(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder, shared = default_folder(), tmp_path / "shared"
    cache = open_cache(folder)
    cache.put(cache.key(b"image", {}), np.arange(3))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert open_cache(folder).get(cache.key(b"image", {})) is not None
    folder.chmod(0o777)
    with pytest.raises(FolderError, match=f"{folder} is writable by all users"):
        open_cache(folder)
    folder.rename(shared)
    with pytest.warns(UserWarning, match="is writable by all users"):
        open_cache(shared)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    shared.chmod(0o755)
    if shared.stat().st_uid:  # not root, whom everybody must trust
        with pytest.warns(UserWarning, match="belongs to another user"):
            open_cache(shared)
