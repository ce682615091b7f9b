"""What an ONNX file asks for, found without running it: external data, loops, a fingerprint.

A network comes from the user and is data here, but data that makes a runtime work: it can name
files anywhere on the disk and loop for ever. The file is walked as the protobuf message it is, and
what is refused here never reaches the runtime. Field numbers are those of onnx.proto (IR 10).
"""

import hashlib
import os
from collections.abc import Iterator

from visualwords.files import open_regular

LARGEST = 1 << 31  # bytes; protobuf allows no larger message
LOOPS = frozenset(["Loop", "Scan"])  # their number of steps is data: it may have no end
DEEPEST = 32  # graphs inside graphs

_GRAPH, _FUNCTIONS = 7, 25  # of ModelProto
_NODE, _INITIALIZER, _SPARSE = 1, 5, 15  # of GraphProto; a FunctionProto has its nodes in 7
_OP_TYPE, _ATTRIBUTE = 4, 5  # of NodeProto
_TENSOR, _SUBGRAPH, _SUBGRAPHS = 5, 6, 11  # of AttributeProto
_EXTERNAL_DATA = 13  # of TensorProto: pairs of key (1) and value (2)


class NetworkError(ValueError):
    """A network file that can't be used; the message names it."""


def read_network(path: str) -> tuple[bytes, list[str], str]:
    """Return the content of a network file, the data files beside it, and the SHA-256 of all.

    Raises
    ------
    NetworkError
        If it is no ONNX file, loops, or names data outside its own folder.
    """
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST + 1)
    except OSError as problem:
        raise NetworkError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None
    if len(content) > LARGEST:
        raise NetworkError(f"{path}: larger than 2 GB, which no ONNX file can be")
    try:
        names = sorted(set(_external_files(memoryview(content))))
    except (IndexError, ValueError, RecursionError) as problem:
        if isinstance(problem, NetworkError):
            raise NetworkError(f"{path}: {problem}") from None
        raise NetworkError(f"{path}: not an ONNX file") from None
    folder = os.path.dirname(os.path.abspath(path))
    digest = hashlib.sha256(content)
    data_files = []
    for name in names:
        data = os.path.join(folder, name)
        if os.path.basename(name) != name or name in ("", ".", "..") or os.path.islink(data):
            raise NetworkError(
                f"{path}: keeps data in {name!r}; only files in the network's own folder are read"
            )
        data_files.append(data)
        digest.update(_digest_of(data))
    return content, data_files, digest.hexdigest()


def _digest_of(path: str) -> bytes:
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as problem:
        raise NetworkError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None


def _external_files(model: memoryview) -> Iterator[str]:
    found = False
    for number, part in _fields(model):
        if number == _GRAPH:
            found = True
            yield from _files_of_graph(part, _NODE, 0)
        elif number == _FUNCTIONS:
            yield from _files_of_graph(part, 7, 0)
    if not found:
        raise NetworkError("has no graph; not an ONNX network")


def _files_of_graph(graph: memoryview, node_field: int, depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        raise NetworkError(f"has graphs inside graphs more than {DEEPEST} deep")
    for number, part in _fields(graph):
        if number == node_field:
            yield from _files_of_node(part, depth)
        elif number == _INITIALIZER and node_field == _NODE:
            yield from _files_of_tensor(part)
        elif number == _SPARSE and node_field == _NODE:
            for _, tensor in _fields(part):
                yield from _files_of_tensor(tensor)


def _files_of_node(node: memoryview, depth: int) -> Iterator[str]:
    for number, part in _fields(node):
        if number == _OP_TYPE and (name := bytes(part).decode("utf-8", "replace")) in LOOPS:
            raise NetworkError(
                f"has a {name} operator, whose number of steps is not known; "
                "export the network with its loops unrolled"
            )
        if number == _ATTRIBUTE:
            for inner, value in _fields(part):
                if inner == _TENSOR:
                    yield from _files_of_tensor(value)
                elif inner in (_SUBGRAPH, _SUBGRAPHS):
                    yield from _files_of_graph(value, _NODE, depth + 1)


def _files_of_tensor(tensor: memoryview) -> Iterator[str]:
    for number, entry in _fields(tensor):
        if number == _EXTERNAL_DATA:
            pair = {inner: bytes(value) for inner, value in _fields(entry)}
            if pair.get(1) == b"location":
                yield pair.get(2, b"").decode("utf-8", "replace")


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the number and the bytes of every length-delimited field of a protobuf message."""
    position, end = 0, len(message)
    while position < end:
        key, position = _varint(message, position)
        number, kind = key >> 3, key & 7
        if kind == 2:
            length, position = _varint(message, position)
            if position + length > end:
                raise ValueError("a field ends behind its message")
            yield number, message[position : position + length]
            position += length
        elif kind == 0:
            _, position = _varint(message, position)
        elif kind in (1, 5):
            position += 8 if kind == 1 else 4
        else:
            raise ValueError("an unknown kind of field")


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
