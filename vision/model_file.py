"""The model file: a zip of one JSON manifest and plain arrays; reading it can't run code.

Everything is checked before memory is taken: the names of the members, their declared sizes
against the shapes and types in the manifest, the sum of all. The manifest carries a checksum of
itself and of every array, so that what is read is what was written. Equal content gives equal
bytes.

The arrays are states: of a model, or of several parts of one, whose names then begin with prefixes.
"""

import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Callable
from importlib.resources import files
from typing import Any, BinaryIO, TypeVar

import numpy as np

from visualwords.errors import ModelFileError
from visualwords.files import StrPath, open_regular, write_atomically

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 1 << 24
MAX_MODEL_BYTES = 1 << 31
MAX_MEMBERS = 1000
CHECKSUM_BYTES = 16
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date a zip can hold: no clock in the bytes
NPY_VERSION = (1, 0)
NPY_HEADER_SIZES = range(64, 1025, 64)  # whole lines of 64 bytes, by the definition of .npy
NAME = re.compile(r"[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)*")
NUMBERS = "? u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8"
DTYPES = frozenset(np.dtype(kind).str for kind in NUMBERS.split())
TEXT = re.compile(r"<U[1-9][0-9]{0,3}")  # words of a fixed width

State = dict[str, np.ndarray]  # what a part of a model has learned, by name
IMAGE_CLASSIFIER = "image-classifier"
OBJECT_DETECTOR = "object-detector"
SHIPPED = "pedestrian"

Model = TypeVar("Model")


def write_model(path: StrPath, manifest: dict[str, Any], arrays: State) -> None:
    """Write a model file in one step.

    Parameters
    ----------
    path : path-like
    manifest : dict
        What JSON can hold; ``format_version``, ``arrays`` and ``checksum`` are added.
    arrays : dict of name → array of numbers or words
        Names are words of ``a-z0-9_`` joined by slashes.
    """
    for name, array in arrays.items():
        if not NAME.fullmatch(name) or not _storable(array.dtype.str):
            raise ValueError(f"array {name!r} of type {array.dtype} can't be kept in a model file")
    described = {
        name: {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "checksum": _checksum(_npy_bytes(array)),
        }
        for name, array in arrays.items()
    }
    manifest = manifest | {"format_version": FORMAT_VERSION, "arrays": described}
    manifest["checksum"] = manifest_checksum(manifest)

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            _add(archive, MANIFEST, _json(manifest, indent=1))
            for name, array in sorted(arrays.items()):
                _add(archive, f"{name}.npy", _npy_bytes(array))

    write_atomically(path, write)


def read_model(path: StrPath) -> tuple[dict[str, Any], State]:
    """Read a model file; whatever is wrong with it raises `ModelFileError` naming the file."""
    return _read(path, with_arrays=True)


def read_manifest(path: StrPath) -> dict[str, Any]:
    """Read the manifest of a model file only."""
    return _read(path, with_arrays=False)[0]


def manifest_checksum(manifest: dict[str, Any]) -> str:
    """The checksum of all that a manifest says, beside the checksum itself."""
    return _checksum(_json({k: v for k, v in manifest.items() if k != "checksum"}))


def _read(path: StrPath, with_arrays: bool) -> tuple[dict[str, Any], State]:
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            members = _checked_members(archive)
            manifest = _checked_manifest(archive, members)
            names = manifest["arrays"] if with_arrays else ()
            return manifest, {name: _load(archive, manifest, name) for name in names}
    except ModelFileError as problem:
        raise ModelFileError(f"{os.fspath(path)}: {problem}") from None
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise ModelFileError(f"{os.fspath(path)}: {reason}") from None
    except Exception as problem:  # a damaged zip can make its reader raise almost anything
        raise ModelFileError(
            f"{os.fspath(path)}: not a usable model file ({type(problem).__name__}: {problem}); "
            "train it again or get a fresh copy"
        ) from None


def _checked_members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The members by name, after checks that need no decompression."""
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise ModelFileError(f"{len(infos)} members; a model has at most {MAX_MEMBERS}")
    members = {info.filename: info for info in infos}
    if MANIFEST not in members or len(members) != len(infos):
        raise ModelFileError("no model: the manifest is missing or a member is there twice")
    for name in members.keys() - {MANIFEST}:
        if not (name.endswith(".npy") and NAME.fullmatch(name[:-4])):
            raise ModelFileError(f"member {name!r} is not part of a model file")
    if not {info.compress_type for info in infos} <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise ModelFileError("compressed by a method that models don't use")
    total = sum(info.file_size for info in infos)
    if total > MAX_MODEL_BYTES:
        raise ModelFileError(f"declares {total:,} bytes; at most {MAX_MODEL_BYTES:,} are read")
    return members


def _checked_manifest(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]
) -> dict[str, Any]:
    """The manifest, after comparing what it declares with the members that are there."""
    if members[MANIFEST].file_size > MAX_MANIFEST_BYTES:
        raise ModelFileError("the manifest is too large")
    manifest = json.loads(_content(archive, MANIFEST))
    version = manifest.get("format_version") if isinstance(manifest, dict) else None
    if not isinstance(version, int) or version < 1:
        raise ModelFileError("no model: the manifest has no format version")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"written in format {version}, but this program reads up to {FORMAT_VERSION}; "
            "install a newer version of visualwords"
        )
    if manifest.get("checksum") != manifest_checksum(manifest):
        raise ModelFileError(
            "the manifest is not as it was written (wrong checksum); "
            "train the model again or get a fresh copy"
        )
    arrays = manifest.get("arrays")
    names = members.keys() - {MANIFEST}
    if not isinstance(arrays, dict) or {f"{name}.npy" for name in arrays} != names:
        raise ModelFileError("the manifest does not match the members")
    for name, declared in arrays.items():
        header_size = members[f"{name}.npy"].file_size - _declared_bytes(declared)
        if header_size not in NPY_HEADER_SIZES:
            raise ModelFileError(f"array {name!r} is not what the manifest declares")
    return manifest


def _load(archive: zipfile.ZipFile, manifest: dict[str, Any], name: str) -> np.ndarray:
    """One array; its header is compared with the manifest before memory is taken."""
    content = _content(archive, f"{name}.npy")
    declared = manifest["arrays"][name]
    if declared.get("checksum") != _checksum(content):
        raise ModelFileError(f"array {name!r} is not as it was written (wrong checksum)")
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != NPY_VERSION:
        raise ModelFileError(f"array {name!r} is not in the form that models use")
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
    if fortran_order or dtype.str != declared["dtype"] or list(shape) != declared["shape"]:
        raise ModelFileError(f"array {name!r} is not what the manifest declares")
    return np.frombuffer(file.read(), dtype).reshape(shape).copy()


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member's bytes; never more than it declared, and its CRC has been checked."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as member:
        content = member.read(size)
        if len(content) != size or member.read(1):
            raise ModelFileError(f"member {name!r} is not of its declared size")
    return content


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, content, compresslevel=6)


def _json(value: Any, indent: int | None = None) -> bytes:
    """The one JSON text of a value; infinity and NaN are not JSON."""
    text = json.dumps(value, sort_keys=True, indent=indent, ensure_ascii=True, allow_nan=False)
    return text.encode()


def _checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=CHECKSUM_BYTES).hexdigest()


def _npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(
        buffer, np.asarray(array, order="C"), version=NPY_VERSION, allow_pickle=False
    )
    return buffer.getvalue()


def _declared_bytes(declared: dict[str, Any]) -> int:
    """The bytes that the items of a declared array take, without making it."""
    if not _storable(declared["dtype"]):
        raise ModelFileError(f"an array of type {declared['dtype']!r} is not allowed")
    shape = declared["shape"]
    if not all(isinstance(side, int) and 0 <= side <= MAX_MODEL_BYTES for side in shape):
        raise ModelFileError("an array's shape is not a list of sizes")
    return math.prod(shape) * np.dtype(declared["dtype"]).itemsize


def _storable(dtype: object) -> bool:
    return isinstance(dtype, str) and (dtype in DTYPES or TEXT.fullmatch(dtype) is not None)


def prefixed(prefix: str, state: State) -> State:
    """A state whose names begin with a prefix."""
    return {prefix + name: value for name, value in state.items()}


def part_of(prefix: str, state: State) -> State:
    """The state that `prefixed` was given."""
    return {
        name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)
    }


def add_to(digest: "hashlib.blake2b", state: State) -> None:
    """Add named arrays to a fingerprint, independent of their order."""
    for name, value in sorted(state.items()):
        digest.update(f"{name} {value.dtype} {value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())


def packed(state: State) -> np.ndarray:
    """Named arrays as the bytes of one.

    Examples
    --------
    >>> unpacked(packed({"a": np.arange(3)}))
    {'a': array([0, 1, 2])}
    """
    buffer = io.BytesIO()
    arrays: dict[str, Any] = state
    np.savez(buffer, **arrays)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def unpacked(data: np.ndarray) -> State:
    """The named arrays that `packed` was given."""
    with np.load(io.BytesIO(data.tobytes()), allow_pickle=False) as arrays:
        return dict(arrays)


def model_path(path: StrPath) -> StrPath:
    """The path of a model file; "pedestrian" is that of the bundled detector."""
    if path == SHIPPED:
        return str(files("visualwords.apps.detection").joinpath("pedestrian.vw"))
    return path


def restored(path: StrPath, restore: Callable[[], Model]) -> Model:
    """What ``restore()`` makes of a model file; whatever goes wrong is told in a sentence."""
    try:
        return restore()
    except ModelFileError as problem:
        raise ModelFileError(f"{os.fspath(path)}: {problem}") from None
    except Exception as problem:  # a manifest by another hand can be wrong in any way
        reason = " ".join(str(problem).split())
        raise ModelFileError(
            f"{os.fspath(path)}: the manifest does not describe a model "
            f"({type(problem).__name__}: {reason})"
        ) from None
