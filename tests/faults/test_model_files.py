"""A model file that was damaged or made up is refused, or predicts as if nothing had happened."""

import hashlib
import io
import json
import warnings
import zipfile

import numpy as np
import pytest

from tests.faults.commands import PATIENCE, server
from tests.faults.conftest import IS_LONG
from visualwords import ImageClassifier, load
from visualwords.errors import ModelFileError
from visualwords.folders import ImageFolder
from visualwords.model_file import manifest_checksum, read_manifest

N_FLIPS = 20_000 if IS_LONG else 500


@pytest.fixture(scope="module")
def images(photos):
    return ImageFolder(photos).paths[::6]


@pytest.fixture(scope="module")
def answers(model_bytes, images, tmp_path_factory):
    """Give the scores that the intact model gives."""
    path = tmp_path_factory.mktemp("intact") / "m.vw"
    path.write_bytes(model_bytes)
    return load(path).decision_function(images)


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def sealed(manifest):
    """Return the bytes of a manifest with the right checksum, as a forger would write them."""
    return json.dumps(manifest | {"checksum": manifest_checksum(manifest)}).encode()


def refused(path):
    """Say if the file is refused; then with one line that names it."""
    try:
        load(path)
    except ModelFileError as problem:
        sentence = str(problem)
    else:
        return False
    assert sentence.startswith(str(path))
    assert "\n" not in sentence
    return True


def test_any_bit_flipped_is_refused_or_changes_no_answer(model, model_bytes, images, answers, rng):
    n_refused = 0
    for place in rng.choice(8 * len(model_bytes), N_FLIPS, replace=False):
        spoilt = bytearray(model_bytes)
        spoilt[place // 8] ^= 1 << place % 8
        model.write_bytes(spoilt)
        if refused(model):
            n_refused += 1
        else:
            np.testing.assert_array_equal(load(model).decision_function(images), answers)
    assert n_refused > 0.9 * N_FLIPS


def test_every_member_cut_lengthened_or_missing_is_refused(model, model_bytes):
    members = members_of(model)
    for name, content in members.items():
        for spoilt in content[:-1], content[: len(content) // 2], b"", content + b"\0":
            write_members(model, members | {name: spoilt})
            assert refused(model), name
        write_members(model, {other: members[other] for other in members if other != name})
        assert refused(model), name


def test_every_array_changed_without_its_checksum_is_refused(model):
    members = members_of(model)
    for name in members.keys() - {"manifest.json"}:
        spoilt = bytearray(members[name])
        spoilt[-1] ^= 1
        write_members(model, members | {name: bytes(spoilt)})
        assert refused(model), name


def places_of(value, place=()):
    """Yield where every value of a manifest is, as the keys that lead to it."""
    if place:
        yield place
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from places_of(inner, (*place, key))


def replaced(manifest, place, value):
    """Return a copy of a manifest with another value in one place."""
    copy = json.loads(json.dumps(manifest))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return copy


WRONG = [None, True, -1, 10**9, 0.5, 1e308, "", "other", [], {}, [1], {"a": 1}]


def wrong_manifests(manifest, n_values, skip=()):
    """Yield manifests with some wrong value in every place, one at a time, and the place."""
    for number, place in enumerate(places_of(manifest)):
        if place[0] in skip:
            continue
        for k in range(n_values):
            changed = replaced(manifest, place, WRONG[(number + k) % len(WRONG)])
            if changed != manifest:
                yield place, changed


def test_every_value_of_the_manifest_changed_is_refused(model):
    members, manifest = members_of(model), read_manifest(model)
    for place, changed in wrong_manifests(manifest, n_values=len(WRONG) if IS_LONG else 1):
        write_members(model, members | {"manifest.json": json.dumps(changed).encode()})
        assert refused(model), place


def test_a_forged_manifest_is_refused_or_its_model_answers(model, images):
    """The checksums are right and the values absurd: by a bug, or by somebody who means it."""
    members, manifest = members_of(model), read_manifest(model)
    n_values = len(WRONG) if IS_LONG else 3
    for place, changed in wrong_manifests(manifest, n_values, skip=["arrays", "checksum"]):
        write_members(model, members | {"manifest.json": sealed(changed)})
        if not refused(model):
            assert np.isfinite(load(model).decision_function(images)).all(), place


def forged_arrays(array, rng):
    """Yield arrays that could do harm in the place of one: as numbers, sizes or indices."""
    if array.dtype.kind == "U":
        return
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


def write_forged(path, members, manifest, name, array):
    """Write a model file with another array, everything about it right."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    declared = {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "checksum": hashlib.blake2b(buffer.getvalue(), digest_size=16).hexdigest(),
    }
    changed = sealed(replaced(manifest, ("arrays", name), declared))
    write_members(path, members | {"manifest.json": changed, f"{name}.npy": buffer.getvalue()})


def forge_arrays(path, answer):
    """Forge the arrays of a model file one by one, and use what is not refused."""
    members, manifest = members_of(path), read_manifest(path)
    rng = np.random.default_rng(14)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in manifest["arrays"]:
            if name.startswith(("golden/", "training/", "gallery/")):
                continue
            for array in forged_arrays(np.load(io.BytesIO(members[f"{name}.npy"])), rng):
                write_forged(path, members, manifest, name, array)
                if not refused(path):
                    assert np.isfinite(answer(load(path))).all(), name


def forge_a_classifier(path, recipe, photos):
    ImageClassifier(recipe).fit(photos).save(path)
    images = ImageFolder(photos).paths[::6]
    forge_arrays(path, lambda model: model.decision_function(images))


def confidences(detector):
    return detector.detect(np.random.default_rng(14).integers(0, 256, (160, 120, 3), np.uint8))[1]


def forge_a_detector(path):
    load("pedestrian").save(path)
    forge_arrays(path, confidences)


def forge_the_manifest_of_a_detector(path):
    load("pedestrian").save(path)
    members, manifest = members_of(path), read_manifest(path)
    for place, changed in wrong_manifests(
        manifest, len(WRONG) if IS_LONG else 1, skip=["arrays", "checksum"]
    ):
        write_members(path, members | {"manifest.json": sealed(changed)})
        if not refused(path):
            assert np.isfinite(confidences(load(path))).all(), place


def passes(work, *arguments):
    """In a process of its own: an index beyond an array would end it without a word."""
    process = server.Process(target=work, args=arguments)
    process.start()
    process.join(PATIENCE)
    process.kill()
    return process.exitcode == 0


@pytest.mark.parametrize("recipe", ["tiny", "words", "pyramid-match"])
def test_a_forged_array_is_refused_or_its_model_answers(recipe, photos, tmp_path):
    assert passes(forge_a_classifier, tmp_path / "m.vw", recipe, photos)


@pytest.mark.parametrize("forge", [forge_a_detector, forge_the_manifest_of_a_detector])
def test_a_forged_detector_is_refused_or_answers(forge, tmp_path):
    assert passes(forge, tmp_path / "m.vw")
