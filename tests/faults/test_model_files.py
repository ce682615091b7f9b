"""A model file that was damaged or made up is refused, or predicts as if nothing had happened."""

import hashlib
import io
import json
import warnings
import zipfile

import numpy as np
import pytest

from tests.faults.commands import exit_code_of
from tests.faults.conftest import IS_LONG
from visualwords import ImageClassifier, load
from visualwords.errors import ModelFileError
from visualwords.images import read_image
from visualwords.model_file import manifest_checksum, read_manifest

WRONG = [None, True, -1, 10**9, 0.5, 1e308, "", "other", [], {}, [1], {"a": 1}]
N_VALUES = {"tiny": 12 if IS_LONG else 2, "pedestrian": 1}  # of WRONG in every place of a manifest


def load_or_refuse(path):
    """The model, or None if the file is refused; then with one line that names it."""
    try:
        return load(path)
    except ModelFileError as problem:
        sentence = str(problem)
    assert sentence.startswith(str(path))
    assert "\n" not in sentence
    return None


def places_of(value, place=()):
    """Yield where every value of a manifest is, as the keys that lead to it."""
    if place:
        yield place
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from places_of(inner, (*place, key))


def replaced(manifest, place, value):
    """A copy of a manifest with another value in one place."""
    copy = json.loads(json.dumps(manifest))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return copy


def forged_arrays(array, rng):
    """Yield arrays that could do harm in the place of one: as numbers, sizes or indices."""
    kinds = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(np.float32)
    for number in 0, 1, kinds.min, kinds.max:
        yield np.full_like(array, number)
    if array.dtype.kind == "f":
        yield np.full_like(array, np.nan)
    if array.size > 1:
        one_wrong = array.copy()
        one_wrong.flat[rng.integers(array.size)] = kinds.max
        yield one_wrong
        yield array[::-1].copy()
        yield array[:-1].copy()
        yield np.concatenate([array, array])


def forgeries(members, manifest, n_values):
    """Yield what is forged, and the members of a model file in which everything else is right."""
    for number, place in enumerate(places_of(manifest)):
        for k in range(n_values if place[0] not in ("arrays", "checksum") else 0):
            yield place, {}, replaced(manifest, place, WRONG[(number + k) % len(WRONG)])
    rng = np.random.default_rng(14)
    for name, one in manifest["arrays"].items():
        if name.startswith(("golden/", "training/")) or one["dtype"].startswith("<U"):
            continue
        for array in forged_arrays(np.load(io.BytesIO(members[f"{name}.npy"])), rng):
            buffer = io.BytesIO()
            np.save(buffer, array)
            content = buffer.getvalue()
            checksum = hashlib.blake2b(content, digest_size=16).hexdigest()
            declared = {"dtype": array.dtype.str, "shape": list(array.shape), "checksum": checksum}
            changed = replaced(manifest, ("arrays", name), declared)
            yield name, {f"{name}.npy": content}, changed


def numbers_of(model, image, picture):
    """Yield numbers that a model gives, and use all else that it has."""
    if hasattr(model, "detect"):
        yield from model.detect(picture)
        return
    yield list(model.predict_one(image).scores.values())
    yield [similarity for *_, similarity in model.similar(image)]


def forge(path, recipe, photos):
    """Forge values of a manifest and arrays one by one, and use what is not refused."""
    image = read_image(photos / "sea" / "0.png")
    picture = np.random.default_rng(14).integers(0, 256, (160, 120, 3), np.uint8)
    trained = load(recipe) if recipe == "pedestrian" else ImageClassifier(recipe).fit(photos)
    trained.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = forgeries(members, read_manifest(path), N_VALUES.get(recipe, 0))
        for what, forged, manifest in found:
            sealed = json.dumps(manifest | {"checksum": manifest_checksum(manifest)}).encode()
            with zipfile.ZipFile(path, "w") as archive:
                for name, content in (members | forged | {"manifest.json": sealed}).items():
                    archive.writestr(name, content)
            model = load_or_refuse(path)
            if model is not None:
                for numbers in numbers_of(model, image, picture):
                    assert np.isfinite(numbers).all(), what


@pytest.mark.parametrize("recipe", ["tiny", "words", "pyramid-match", "pedestrian"])
def test_a_forged_model_is_refused_or_answers(recipe, photos, tmp_path):
    """In a process of its own: an index beyond an array would end it without a word."""
    assert exit_code_of(forge, tmp_path / "m.vw", recipe, photos) == 0
