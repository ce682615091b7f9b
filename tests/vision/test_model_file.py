"""The model file: what is damaged or hostile is refused before it can cost memory or run code."""

import hashlib
import io
import json
import os
import pickle  # noqa: TID251  (to show that a pickle is refused)
import resource
import struct
import zipfile

import numpy as np
import pytest

from visualwords.errors import ModelFileError
from visualwords.model_file import (
    FORMAT_VERSION,
    manifest_checksum,
    read_manifest,
    read_model,
    write_model,
)

ARRAYS = {"weights": np.arange(6, dtype=np.float32).reshape(2, 3), "code/words": np.arange(4)}
MANIFEST = {"recipe": "scene", "classes": ["cat", "dög", "\udcff"]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "photos.vw"


@pytest.fixture
def model(path):
    write_model(path, MANIFEST, ARRAYS)
    return path


def npy(array, allow_pickle=False):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def sealed(manifest):
    """Return a manifest as bytes, its checksum right: what is wrong with it is something else."""
    return json.dumps(manifest | {"checksum": manifest_checksum(manifest)}).encode()


def manifest_of(arrays, **changes):
    described = {
        name: {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "checksum": checksum(npy(array, allow_pickle=True)),
        }
        for name, array in arrays.items()
    }
    return sealed({"format_version": FORMAT_VERSION, "arrays": described} | changes)


def checksum(content):
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def write_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)


def refuse(path, match=".", readers=(read_model, read_manifest)):
    """Assert that the file is refused with a line that names it, in little memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for read in readers:
        with pytest.raises(ModelFileError, match=match) as caught:
            read(path)
        assert str(caught.value).startswith(str(path))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_what_was_written_is_read_back(model):
    manifest, arrays = read_model(model)
    assert manifest["recipe"] == "scene"
    assert manifest["classes"] == MANIFEST["classes"]
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
        assert arrays[name].flags.writeable
    assert read_manifest(model) == manifest


@pytest.mark.parametrize(
    "array",
    [
        np.float64(2.5),
        np.zeros((0, 7), np.uint8),
        np.zeros((3, 0)),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(20)[::3],
        np.array([True, False]),
        np.zeros((1,) * 20, np.float16),
    ],
    ids=["scalar", "no rows", "no columns", "Fortran", "strided", "bools", "20 axes"],
)
def test_any_array_of_numbers_survives(array, path):
    write_model(path, {}, {"a": np.asarray(array)})
    got = read_model(path)[1]["a"]
    np.testing.assert_array_equal(got, array)
    assert got.shape == np.asarray(array).shape


def test_equal_content_gives_equal_bytes(model, tmp_path):
    again = tmp_path / "again.vw"
    write_model(again, dict(reversed(MANIFEST.items())), dict(reversed(ARRAYS.items())))
    assert again.read_bytes() == model.read_bytes()


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("../a", np.arange(3)),
        ("/a", np.arange(3)),
        ("A", np.arange(3)),
        ("", np.arange(3)),
        ("a", np.array([b"bytes"])),
        ("a", np.array([None])),
        ("a", np.zeros(2, complex)),
        ("a", np.zeros(2, ">f4")),
    ],
)
def test_what_could_not_be_read_is_not_written(name, array, path):
    with pytest.raises(ValueError, match="can't be kept"):
        write_model(path, {}, {name: array})
    assert not path.exists()


def test_a_manifest_that_json_can_not_hold_leaves_no_file(path):
    with pytest.raises(ValueError, match="JSON"):
        write_model(path, {"score": float("nan")}, {})
    with pytest.raises(TypeError):
        write_model(path, {"score": object()}, {})
    assert not path.exists()


def test_a_file_cut_at_any_byte_is_refused(model):
    whole = model.read_bytes()
    for length in range(len(whole)):
        model.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            read_model(model)


def test_a_file_with_any_bit_flipped_is_refused_or_reads_the_same(path):
    write_model(path, {}, {"a": np.arange(3, dtype=np.uint8)})
    expected_manifest, expected = read_model(path)
    whole = path.read_bytes()
    n_refused = 0
    for place in range(len(whole)):
        for bit in range(8):
            flipped = whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
            path.write_bytes(flipped)
            try:
                manifest, arrays = read_model(path)
            except ModelFileError:
                n_refused += 1
                continue
            assert manifest == expected_manifest
            np.testing.assert_equal(arrays, expected)
    assert n_refused > 4 * len(whole)


def test_bytes_that_are_no_zip_are_refused(path):
    for content in b"", b"PK", b"text\n" * 99, bytes(1000):
        path.write_bytes(content)
        refuse(path, "not a usable model file")


@pytest.mark.posix
def test_a_missing_file_a_folder_and_a_pipe_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.vw")
    for name, reason in (
        ("none.vw", "no such file"),
        (".", "a folder"),
        ("pipe.vw", "not a regular"),
    ):
        with pytest.raises(ModelFileError, match=reason):
            read_model(tmp_path / name)


class Exploding:
    def __reduce__(self):
        return os.mkdir, ("/tmp/a-pickle-was-run",)


def test_a_renamed_pickle_is_refused_and_not_run(path):
    path.write_bytes(pickle.dumps(Exploding()))
    refuse(path, "not a usable model file")
    assert not os.path.exists("/tmp/a-pickle-was-run")


def test_a_pickle_inside_is_refused_and_not_run(path):
    objects = np.array([Exploding()], dtype=object)
    content = npy(objects, allow_pickle=True)
    for manifest in (
        manifest_of({"a": objects}),
        sealed(
            {
                "format_version": 1,
                "arrays": {
                    "a": {
                        "dtype": "|u1",
                        "shape": [len(content) - 128],
                        "checksum": checksum(content),
                    }
                },
            }
        ),
    ):
        write_zip(path, [("manifest.json", manifest), ("a.npy", content)])
        refuse(path, readers=[read_model])
        pickled = pickle.dumps(Exploding()) + bytes(200)
        write_zip(path, [("manifest.json", manifest), ("a.npy", pickled)])
        refuse(path, readers=[read_model])
    assert not os.path.exists("/tmp/a-pickle-was-run")


@pytest.mark.parametrize(
    "name", ["../a.npy", "/etc/a.npy", "a/../b.npy", "a.npy.exe", "C:\\a.npy", "a b.npy", "a/.npy"]
)
def test_a_member_with_a_strange_name_is_refused(name, path):
    array = np.arange(3)
    write_zip(path, [("manifest.json", manifest_of({name[:-4]: array})), (name, npy(array))])
    refuse(path, "is not part of a model file")


def test_a_newer_format_says_what_to_do(path):
    write_zip(path, [("manifest.json", manifest_of({}, format_version=FORMAT_VERSION + 1))])
    refuse(path, "install a newer version of visualwords")


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b"{",
        b"\xff\xfe",
        b'{"format_version": "1", "arrays": {}}',
        b'{"format_version": 0, "arrays": {}}',
        b'{"format_version": 1, "arrays": {}}',
        sealed({"format_version": 1}),
        sealed({"format_version": 1, "arrays": []}),
        sealed({"format_version": 1, "arrays": {"a": {"dtype": "<f4", "shape": [3]}}}),
        b"[" * 100_000,
    ],
    ids=lambda text: text[:40].decode("latin-1"),
)
def test_a_manifest_that_makes_no_sense_is_refused(manifest, path):
    write_zip(path, [("manifest.json", manifest)])
    refuse(path)


def test_a_manifest_changed_by_hand_is_refused(model):
    with zipfile.ZipFile(model) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    changed = members["manifest.json"].replace(b'"scene"', b'"words"')
    assert changed != members["manifest.json"]
    write_zip(model, (members | {"manifest.json": changed}).items())
    refuse(model, "not as it was written")


def test_an_array_of_another_file_is_refused(model, tmp_path):
    """Zip's own checksum belongs to the member and travels with it; ours is in the manifest."""
    other = tmp_path / "other.vw"
    write_model(other, MANIFEST, ARRAYS | {"weights": ARRAYS["weights"] + 1})
    members = {}
    for name, path in (("manifest.json", model), ("weights.npy", other), ("code/words.npy", model)):
        with zipfile.ZipFile(path) as archive:
            members[name] = archive.read(name)
    write_zip(model, members.items())
    refuse(model, "'weights' is not as it was written", readers=[read_model])


def test_a_file_without_a_manifest_or_with_two_is_refused(path):
    write_zip(path, [("a.npy", npy(np.arange(3)))])
    refuse(path, "manifest is missing")
    content = manifest_of({})
    with pytest.warns(UserWarning, match="Duplicate name"):
        write_zip(path, [("manifest.json", content), ("manifest.json", content)])
    refuse(path, "there twice")


def test_members_and_manifest_must_match(path):
    array = np.arange(3)
    for described, there in ({"a": array}, []), ({}, ["a"]), ({"a": array}, ["b"]):
        members = [(f"{name}.npy", npy(array)) for name in there]
        write_zip(path, [("manifest.json", manifest_of(described)), *members])
        refuse(path, "does not match")


@pytest.mark.parametrize(
    "declared",
    [
        {"dtype": "<i8", "shape": [10**15]},
        {"dtype": "<i8", "shape": [2**40, 2**40]},
        {"dtype": "<i8", "shape": [-3]},
        {"dtype": "<i8", "shape": [3.0]},
        {"dtype": "<i8", "shape": ["3"]},
        {"dtype": "<i8", "shape": 3},
        {"dtype": "<i8", "shape": None},
        {"dtype": "<i8"},
        {"dtype": "|O", "shape": [3]},
        {"dtype": "O", "shape": [3]},
        {"dtype": "<M8[s]", "shape": [3]},
        {"dtype": "<U9999", "shape": [3]},
        {"dtype": ["<i8"], "shape": [3]},
        {"dtype": [["a", "<i8"]], "shape": [3]},
        {"dtype": "<f8", "shape": [4]},
        "<i8",
        None,
    ],
    ids=str,
)
def test_an_absurd_declaration_is_refused(declared, path):
    manifest = sealed({"format_version": 1, "arrays": {"a": declared}})
    write_zip(path, [("manifest.json", manifest), ("a.npy", npy(np.arange(3)))])
    refuse(path)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (999999999,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (16,), }",
        "{'descr': '<f8', 'fortran_order': True, 'shape': (8,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (8,), }",
        "__import__('os').mkdir('/tmp/a-header-was-run')",
    ],
)
def test_an_array_whose_own_header_lies_is_refused(header, path):
    content = npy(np.zeros(8))
    padded = header.encode().ljust(117) + b"\n"
    content = content[:8] + struct.pack("<H", len(padded)) + padded + content[-64:]
    declared = {"dtype": "<f8", "shape": [8], "checksum": checksum(content)}
    manifest = sealed({"format_version": 1, "arrays": {"a": declared}})
    write_zip(path, [("manifest.json", manifest), ("a.npy", content)])
    refuse(path, readers=[read_model])
    assert not os.path.exists("/tmp/a-header-was-run")


def test_a_bomb_is_refused_before_it_is_inflated(path):
    sides = [3 << 30]
    declared = {"dtype": "|u1", "shape": sides, "checksum": checksum(bytes(1000))}
    manifest = sealed({"format_version": 1, "arrays": {"a": declared}})
    write_zip(path, [("manifest.json", manifest), ("a.npy", bytes(1000))])
    # Let the directory of the zip promise three gigabytes.
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", 3 << 30)
    path.write_bytes(data)
    refuse(path, "at most")


def test_a_member_larger_than_it_declares_is_refused(path):
    write_zip(
        path, [("manifest.json", manifest_of({"a": np.zeros(8)})), ("a.npy", bytes(100_000_000))]
    )
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", len(npy(np.zeros(8))))
    path.write_bytes(data)
    refuse(path, readers=[read_model])


def test_too_many_members_are_refused(path):
    write_zip(path, [("manifest.json", b"{}"), *((f"a{i}.npy", b"") for i in range(1000))])
    refuse(path, "1001 members")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(method, path):
    write_zip(path, [("manifest.json", manifest_of({}))], compression=method)
    refuse(path, "compressed")


def test_words_are_kept_as_text(tmp_path):
    write_model(tmp_path / "m.vw", {}, {"strategy": np.array("uniform"), "labels": np.array(["é"])})
    _, arrays = read_model(tmp_path / "m.vw")
    assert str(arrays["strategy"]) == "uniform"
    assert arrays["labels"].tolist() == ["é"]
