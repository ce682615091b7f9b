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
from visualwords.model_file import manifest_checksum, read_manifest, read_model, write_model

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


def checksum(content):
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def sealed(**manifest):
    """A manifest as bytes, its checksum right: what is wrong with it is something else."""
    manifest = {"format_version": 1, "arrays": {}} | manifest
    return json.dumps(manifest | {"checksum": manifest_checksum(manifest)}).encode()


def declared(content, dtype="<i8", shape=(3,)):
    return {"dtype": dtype, "shape": list(shape), "checksum": checksum(content)}


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


def test_what_was_written_is_read_back_and_equal_content_gives_equal_bytes(model, tmp_path):
    manifest, arrays = read_model(model)
    assert manifest == read_manifest(model)
    assert {name: manifest[name] for name in MANIFEST} == MANIFEST
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
        assert arrays[name].flags.writeable
    again = tmp_path / "again.vw"
    write_model(again, dict(reversed(MANIFEST.items())), dict(reversed(ARRAYS.items())))
    assert again.read_bytes() == model.read_bytes()


KEPT = {
    "scalar": np.float64(2.5),
    "no_rows": np.zeros((0, 7), np.uint8),
    "no_columns": np.zeros((3, 0)),
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "strided": np.arange(20)[::3],
    "bools": np.array([True, False]),
    "many_axes": np.zeros((1,) * 20, np.float16),
    "words": np.array(["é", "uniform"]),
}


def test_any_array_of_numbers_or_words_survives(path):
    write_model(path, {}, {name: np.asarray(array) for name, array in KEPT.items()})
    for name, got in read_model(path)[1].items():
        np.testing.assert_array_equal(got, KEPT[name])
        assert (got.shape, got.dtype) == (KEPT[name].shape, KEPT[name].dtype)


def test_what_could_not_be_read_is_not_written(path):
    wrong = [np.array([b"bytes"]), np.array([None]), np.zeros(2, complex), np.zeros(2, ">f4")]
    pairs = [("a", array) for array in wrong]
    pairs += [(name, np.arange(3)) for name in ("../a", "/a", "A", "")]
    for name, array in pairs:
        with pytest.raises(ValueError, match="can't be kept"):
            write_model(path, {}, {name: array})
    for value, error in (float("nan"), ValueError), (object(), TypeError):
        with pytest.raises(error, match="JSON"):
            write_model(path, {"score": value}, {})
    assert not path.exists()


def test_a_file_cut_at_any_byte_or_with_any_bit_flipped_is_refused_or_reads_the_same(path):
    write_model(path, {}, {"a": np.arange(3, dtype=np.uint8)})
    expected_manifest, expected = read_model(path)
    whole = path.read_bytes()
    n_refused = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place])
        with pytest.raises(ModelFileError):
            read_model(path)
        flipped = bytes([whole[place] ^ 1 << place % 8])
        path.write_bytes(whole[:place] + flipped + whole[place + 1 :])
        try:
            manifest, arrays = read_model(path)
        except ModelFileError:
            n_refused += 1
            continue
        assert manifest == expected_manifest
        np.testing.assert_equal(arrays, expected)
    assert n_refused > len(whole) / 2


@pytest.mark.posix
def test_what_is_no_zip_is_refused(path, tmp_path):
    for content in b"", b"PK", b"text\n" * 99, bytes(1000), pickle.dumps(print):
        path.write_bytes(content)
        refuse(path, "not a usable model file")
    os.mkfifo(tmp_path / "pipe.vw")
    for name, reason in [
        ("none.vw", "no such file"),
        ("pipe.vw", "not a regular"),
        (".", "a fold"),
    ]:
        with pytest.raises(ModelFileError, match=reason):
            read_model(tmp_path / name)


class Exploding:
    def __reduce__(self):
        return os.mkdir, (os.environ["EXPLODED"],)


def test_pickles_and_headers_inside_are_refused_and_not_run(path, tmp_path, monkeypatch):
    exploded = tmp_path / "exploded"
    monkeypatch.setenv("EXPLODED", str(exploded))
    objects = npy(np.array([Exploding()], dtype=object), allow_pickle=True)
    for content in objects, pickle.dumps(Exploding()) + bytes(200):
        for one in declared(content, "|O", [1]), declared(content, "|u1", [len(content) - 128]):
            manifest = sealed(arrays={"a": one})
            write_zip(path, [("manifest.json", manifest), ("a.npy", content)])
            refuse(path, readers=[read_model])
    good = npy(np.zeros(8))
    for header in (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (999999999,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (16,), }",
        "{'descr': '<f8', 'fortran_order': True, 'shape': (8,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (8,), }",
        "__import__('os').mkdir(__import__('os').environ['EXPLODED'])",
    ):
        padded = header.encode().ljust(117) + b"\n"
        content = good[:8] + struct.pack("<H", len(padded)) + padded + good[-64:]
        manifest = sealed(arrays={"a": declared(content, "<f8", [8])})
        write_zip(path, [("manifest.json", manifest), ("a.npy", content)])
        refuse(path, readers=[read_model])
    assert not exploded.exists()


THREE = npy(np.arange(3))
NAMES = ["../a", "/etc/a", "a/../b", "C:\\a", "a b", "a/"]
FORGED = [  # a manifest, other members, and why they are refused
    *[(sealed(arrays={name: declared(THREE)}), [f"{name}.npy"], "not part") for name in NAMES],
    (sealed(), ["a.npy.exe"], "is not part of a model file"),
    (sealed(format_version=2), [], "install a newer version of visualwords"),
    (sealed(arrays={"a": declared(THREE)}), [], "does not match"),
    (sealed(), ["a.npy"], "does not match"),
    (b"{}", [f"a{i}.npy" for i in range(1000)], "1001 members"),
    *[(text, [], ".") for text in (b"", b"[]", b"null", b"{}", b"{", b"\xff\xfe", b"[" * 100_000)],
    (b'{"format_version": 1, "arrays": {}}', [], "."),
    *[(sealed(format_version=version), [], ".") for version in ("1", 0)],
    *[(sealed(arrays=arrays), [], ".") for arrays in ([], None)],
]
ABSURD = [  # declarations of an array
    *[{"dtype": "<i8", "shape": shape} for shape in ([10**15], [2**40, 2**40], [-3], [3.0])],
    *[{"dtype": "<i8", "shape": shape} for shape in (["3"], 3, None, [4])],
    *[{"dtype": dtype, "shape": [3]} for dtype in ("|O", "O", "<M8[s]", "<U9999", ["<i8"])],
    *[{"dtype": [["a", "<i8"]], "shape": [3]}, {"dtype": "<i8"}, "<i8", None],
]


def test_a_zip_of_other_members_or_manifests_is_refused(path):
    absurd = [(sealed(arrays={"a": one}), ["a.npy"], ".") for one in ABSURD]
    for manifest, others, reason in FORGED + absurd:
        write_zip(path, [("manifest.json", manifest), *[(name, THREE) for name in others]])
        refuse(path, reason)


def test_a_manifest_changed_by_hand_or_an_array_of_another_file_is_refused(model, tmp_path):
    """Zip's own checksum belongs to the member and travels with it; ours is in the manifest."""
    other = tmp_path / "other.vw"
    write_model(other, MANIFEST, ARRAYS | {"weights": ARRAYS["weights"] + 1})
    with zipfile.ZipFile(model) as archive, zipfile.ZipFile(other) as another:
        members = {name: archive.read(name) for name in archive.namelist()}
        weights = another.read("weights.npy")
    write_zip(other, (members | {"weights.npy": weights}).items())
    refuse(other, "'weights' is not as it was written", readers=[read_model])
    changed = members["manifest.json"].replace(b'"scene"', b'"words"')
    write_zip(other, (members | {"manifest.json": changed}).items())
    refuse(other, "not as it was written")


def test_a_file_without_a_manifest_with_two_or_of_another_compression_is_refused(path):
    write_zip(path, [("a.npy", THREE)])
    refuse(path, "manifest is missing")
    with pytest.warns(UserWarning, match="Duplicate name"):
        write_zip(path, [("manifest.json", sealed())] * 2)
    refuse(path, "there twice")
    for method in zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA:
        write_zip(path, [("manifest.json", sealed())], compression=method)
        refuse(path, "compressed")


@pytest.mark.parametrize(
    ("content", "promised", "reason"),
    [(bytes(1000), 3 << 30, "at most"), (bytes(100_000_000), len(npy(np.zeros(8))), ".")],
    ids=["a bomb", "more than it declares"],
)
def test_a_member_of_another_size_than_it_declares_is_refused(content, promised, reason, path):
    n = promised - 128
    manifest = sealed(arrays={"a": declared(content, "|u1", [n])})
    write_zip(path, [("manifest.json", manifest), ("a.npy", content)])
    data = bytearray(path.read_bytes())  # let the directory of the zip promise another size
    place = data.rindex(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", promised)
    path.write_bytes(data)
    refuse(path, reason, readers=[read_model])
