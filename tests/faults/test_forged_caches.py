"""A cache that others can write to: entries that can't be what was computed are not used."""

import shutil

import numpy as np
import pytest

from tests.faults.conftest import IS_LONG, write_photos
from visualwords.apps.classify_images.main import main
from visualwords.cache import FeatureCache
from visualwords.model_file import packed, unpacked

pytestmark = pytest.mark.posix


def seen_anew(folder):
    """Return a cache as the next run sees it, which knows nothing of it: by another name."""
    links = folder.parent / "links"
    links.mkdir(exist_ok=True)
    link = links / f"{len(list(links.iterdir()))}"
    link.symlink_to(folder, target_is_directory=True)
    return FeatureCache(link)


def keys_of(cache):
    """Return the keys of all entries."""
    keys = set()
    for path in cache.folder.glob("segment-*.vwc"):
        content, place = path.read_bytes(), 0
        while place < len(content):
            keys.add(content[place : place + 20].hex())
            place += 28 + int.from_bytes(content[place + 20 : place + 28], "little")
    return sorted(keys)


def spoilt(entry):
    """A forged entry of the same shape."""
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


RECIPES = ["fast", "tiny", *(["words", "pyramid-match"] if IS_LONG else [])]


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
    folder = shutil.copytree(entries, tmp_path / "cache")
    cache, forger = seen_anew(folder), seen_anew(folder)  # anyone who may write to the folder
    n_forged = 0
    for key in keys_of(cache):
        bad = spoilt(cache.get(key))
        if turn < len(bad):
            forger.put(key, bad[turn])
            n_forged += 1
    if not n_forged:
        pytest.skip("all entries have been spoilt in all these ways")
    assert call(*train, "--cache", folder, "-o", tmp_path / "m.vw") == 0, capsys.readouterr()
    assert (tmp_path / "m.vw").read_bytes() == model


def test_a_folder_is_checked_alike_with_a_spoilt_shared_cache(photos, tmp_path, capsys):
    folder = tmp_path / "cache"
    check = ["check", photos, "--no-labels", "--json", "-q", "--cache"]
    code = call(*check, folder)
    expected = capsys.readouterr().out
    cache = FeatureCache(folder)
    good = {key: cache.get(key) for key in keys_of(cache)}
    for turn in range(8):
        forger = seen_anew(folder)
        for key, array in good.items():
            forger.put(key, spoilt(array)[turn])
        assert call(*check, seen_anew(folder).folder) == code
        assert capsys.readouterr().out == expected
