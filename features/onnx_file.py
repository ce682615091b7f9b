"""What an ONNX file asks for, known without running it: external data, loops, a fingerprint.

A network comes from the user and is data here, but data that makes a runtime work: it can name
files anywhere on the disk and loop for ever. What is refused here never reaches the runtime.
"""

import hashlib
import importlib
import os
from collections.abc import Iterator
from typing import Any

from visualwords.files import open_regular

INSTALL = "a network file needs onnx and onnxruntime: pip install onnx onnxruntime"
LARGEST = 1 << 31  # bytes; protobuf allows no larger message
LOOPS = frozenset(["Loop", "Scan"])  # their number of steps is data: it may have no end


class NetworkError(ValueError):
    """A network file that can't be used; the message names it."""


def read_network(path: str) -> tuple[bytes, list[str], str]:
    """Return the content of a network file, the data files beside it, and the SHA-256 of all.

    Raises
    ------
    NetworkError
        If it is no ONNX file, loops, or names data outside its own folder.
    """
    content = _read(path)
    if len(content) > LARGEST:
        raise NetworkError(f"{path}: larger than 2 GB, which no ONNX file can be")
    folder = os.path.dirname(os.path.abspath(path))
    digest = hashlib.sha256(content)
    data_files = []
    for name in sorted(set(_names_of_data(path, content))):
        data = os.path.join(folder, name)
        if os.path.basename(name) != name or name in ("", ".", "..") or os.path.islink(data):
            raise NetworkError(
                f"{path}: keeps data in {name!r}; only files in the network's own folder are read"
            )
        data_files.append(data)
        digest.update(hashlib.sha256(_read(data)).digest())
    return content, data_files, digest.hexdigest()


def _read(path: str) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(LARGEST + 1)
    except OSError as problem:
        raise NetworkError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None


def _names_of_data(path: str, content: bytes) -> list[str]:
    """Return the files that tensors of a network are in."""
    try:
        model = importlib.import_module("onnx").ModelProto()
    except ImportError:
        raise NetworkError(f"{path}: {INSTALL}") from None
    try:
        model.ParseFromString(content)
        parts = [model.graph, *model.functions]
        names = [name for part in parts for name in _locations(part)]
    except NetworkError as problem:
        raise NetworkError(f"{path}: {problem}") from None
    except Exception:  # protobuf's errors depend on how it was built
        raise NetworkError(f"{path}: not an ONNX file") from None
    if not model.HasField("graph"):
        raise NetworkError(f"{path}: has no graph; not an ONNX network")
    return names


def _locations(graph: Any) -> Iterator[str]:
    """Yield where the tensors of a graph, or function, and of all graphs inside are kept."""
    tensors = list(getattr(graph, "initializer", ()))  # functions have none
    sparse = list(getattr(graph, "sparse_initializer", ()))
    for node in graph.node:
        if node.op_type in LOOPS:
            raise NetworkError(
                f"has a {node.op_type} operator, whose number of steps is not known; "
                "export the network with its loops unrolled"
            )
        for attribute in node.attribute:
            tensors += [attribute.t, *attribute.tensors]
            sparse += [attribute.sparse_tensor, *attribute.sparse_tensors]
            for inner in (attribute.g, *attribute.graphs):
                yield from _locations(inner)
    for one in sparse:
        tensors += [one.values, one.indices]
    for tensor in tensors:
        yield from (entry.value for entry in tensor.external_data if entry.key == "location")
