"""A cache that others can write to: links are not followed, forged entries are not used."""

import io
import os
import shutil
import stat

import numpy as np
import pytest

from tests.faults.conftest import IS_LONG, write_photos
from visualwords import cache_secret
from visualwords.apps.classify_images.main import main
from visualwords.cache import MAGIC, FeatureCache, _checksum, default_folder, open_cache
from visualwords.model_file import packed, unpacked
from visualwords.segments import SegmentFolder, segment_folder

pytestmark = pytest.mark.posix


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """Give the default cache of a user whose home is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    cache_secret.secret_of.cache_clear()
    return open_cache(default_folder())


def forge(cache, key, array=None, payload=None):
    """Add an entry with a right checksum, as anyone can who knows the program."""
    if payload is None:
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asarray(array, order="C"), (1, 0))
        payload = buffer.getvalue()
    forger = SegmentFolder(cache.folder)
    forger.put(bytes.fromhex(key), MAGIC + _checksum(key, payload, b"") + payload, None)
    forger.close()


def begin_anew(cache):
    """Forget what this process knows of a cache, as the next run does."""
    cache.close()
    segment_folder.cache_clear()


def keys_of(cache):
    """Return the keys of all entries."""
    keys = set()
    for path in segment_folder(cache.folder).segments():
        content, place = path.read_bytes(), 0
        while place < len(content):
            keys.add(content[place : place + 20].hex())
            place += 28 + int.from_bytes(content[place + 20 : place + 28], "little")
    return sorted(keys)


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


@pytest.mark.parametrize("suffix", ["vwi", "vwc"])
def test_a_pipe_in_the_place_of_a_segment_is_not_waited_for(suffix, tmp_path):
    cache = FeatureCache(tmp_path / "cache")
    key = cache.key(b"image", {})
    forge(cache, key, np.arange(3))
    (path,) = cache.folder.glob(f"*.{suffix}")
    path.unlink()
    os.mkfifo(path)
    assert cache.get(key) is None
    cache.put(key, np.arange(4))
    assert cache.get(key).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("offset", [7, 2**39, 2**63 + 5])
def test_a_forged_index_leads_nowhere(offset, tmp_path):
    cache = FeatureCache(tmp_path / "cache")
    key = cache.key(b"image", {})
    forge(cache, key, np.arange(3))
    (path,) = cache.folder.glob("*.vwi")
    path.write_bytes(bytes.fromhex(key)[:8] + offset.to_bytes(8, "little"))
    assert cache.get(key) is None


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
        npy(b"(" * 9000),
    ],
    ids=["empty", "objects", "too short", "not finite", "no shape", "no header"],
)
def test_an_entry_that_is_no_array_counts_as_absent(payload, tmp_path):
    cache = FeatureCache(tmp_path / "cache")
    key = cache.key(b"image", {})
    forge(cache, key, payload=payload)
    assert cache.get(key) is None


def test_entries_of_the_default_cache_are_used_only_if_its_user_wrote_them(own_cache):
    key = own_cache.key(b"image", {})
    own_cache.put(key, np.arange(3))
    assert own_cache.get(key).tolist() == [0, 1, 2]
    forge(own_cache, key, np.arange(9))
    begin_anew(own_cache)
    assert own_cache.get(key) is None


def test_the_secret_is_the_users_alone_and_stays(own_cache):
    own_cache.put(own_cache.key(b"image", {}), np.arange(3))
    path = own_cache.folder / cache_secret.NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    cache_secret.secret_of.cache_clear()
    assert own_cache.get(own_cache.key(b"image", {})) is not None
    own_cache.clear()
    assert path.exists()
    assert path.read_bytes() not in vars(own_cache).values()  # workers read their own


def test_a_secret_that_others_can_read_is_replaced(own_cache):
    key = own_cache.key(b"image", {})
    own_cache.put(key, np.arange(3))
    path = own_cache.folder / cache_secret.NAME
    path.chmod(0o644)
    before = path.read_bytes()
    cache_secret.secret_of.cache_clear()
    assert own_cache.get(key) is None
    assert path.read_bytes() != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_cache_that_others_can_write_to_is_told_in_a_sentence(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    with pytest.warns(UserWarning, match="is writable by all users"):
        open_cache(tmp_path / "cache")


def spoilt(entry):
    """Return what somebody could put in the place of an entry."""
    array = entry.copy()
    if array.dtype == np.uint8 and array[:2].tobytes() == b"PK":
        return [*_spoilt_states(unpacked(array)), array[: len(array) // 2]]
    if array.dtype.kind == "V":  # records of patches
        far = array.copy()
        far["position"] = 9
        fields = [("descriptor", "u1", 5), ("position", "f4", 2), ("size", "f4")]
        narrow = np.zeros(3, fields)
        return [np.zeros(3), np.zeros((2, 2), np.uint8), array[:, None], far, narrow]
    others = [
        array.astype(np.float64),
        np.stack([array, array]),
        array[:-1],
        np.append(array, array),
    ]
    if array.dtype.kind == "f":
        others += [array[:, None], np.full_like(array, np.inf)]
        others += [-array - 1, np.full_like(array, np.finfo(array.dtype).max)]
    return others


def _spoilt_states(state):
    arrays = {name: array for name, array in state.items() if array.ndim}
    floats = {name: array for name, array in state.items() if array.dtype in ("f4", "f8")}
    yield packed({})
    yield packed(state | {"kept": np.array([-5])})
    yield packed(state | {name: array[..., :-1] for name, array in arrays.items()})
    yield packed(state | {name: array * np.nan for name, array in floats.items()})
    yield packed(state | {name: np.full_like(array, 1e38) for name, array in floats.items()})
    yield packed({name: array for name, array in state.items() if name not in arrays})


RECIPES = ["fast", "color", *(["words", "photo", "pyramid-match"] if IS_LONG else [])]


@pytest.fixture(scope="module", params=RECIPES)
def filled(request, tmp_path_factory):
    """Give a recipe, the model it makes, and the entries of the cache that it filled."""
    folder = tmp_path_factory.mktemp("filled")
    photos = write_photos(folder / "photos", n_images=3)
    train = ["train", photos, "--recipe", request.param, "--quiet"]
    assert call(*train, "--cache", folder / "cache", "-o", folder / "m.vw") == 0
    return train, (folder / "m.vw").read_bytes(), folder / "cache"


def call(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.mark.parametrize("turn", range(8))
def test_training_with_a_spoilt_shared_cache_makes_the_same_model(turn, filled, tmp_path, capsys):
    train, model, entries = filled
    cache = FeatureCache(shutil.copytree(entries, tmp_path / "cache"))
    n_forged = 0
    for key in keys_of(cache):
        bad = spoilt(cache.get(key))
        if turn < len(bad):
            forge(cache, key, bad[turn])
            n_forged += 1
    begin_anew(cache)
    if not n_forged:
        pytest.skip("all entries have been spoilt in all these ways")
    assert call(*train, "--cache", cache.folder, "-o", tmp_path / "m.vw") == 0, capsys.readouterr()
    assert (tmp_path / "m.vw").read_bytes() == model


def test_a_folder_is_checked_alike_with_a_spoilt_shared_cache(photos, tmp_path, capsys):
    cache = FeatureCache(tmp_path / "cache")
    check = ["check", photos, "--no-labels", "--json", "--cache", cache.folder, "-q"]
    code = call(*check)
    expected = capsys.readouterr().out
    for turn in range(8):
        good = {key: cache.get(key) for key in keys_of(cache)}
        for key, array in good.items():
            forge(cache, key, spoilt(array)[turn])
        begin_anew(cache)
        assert call(*check) == code
        assert capsys.readouterr().out == expected
