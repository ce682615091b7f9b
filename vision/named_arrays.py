"""Several states in one dictionary of arrays, separated by prefixes; and states as bytes."""

import hashlib
import io
from typing import Any

import numpy as np

State = dict[str, np.ndarray]


def prefixed(prefix: str, state: State) -> State:
    """Return a state whose names begin with a prefix."""
    return {prefix + name: value for name, value in state.items()}


def part_of(prefix: str, state: State) -> State:
    """Return what `prefixed` was given."""
    return {
        name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)
    }


def add_to(digest: "hashlib.blake2b", state: State) -> None:
    """Add named arrays to a fingerprint, independent of their order."""
    for name, value in sorted(state.items()):
        digest.update(f"{name} {value.dtype} {value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())


def packed(state: State) -> np.ndarray:
    """Return named arrays as the bytes of one.

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
    """Return the named arrays that `packed` was given."""
    with np.load(io.BytesIO(data.tobytes()), allow_pickle=False) as arrays:
        return dict(arrays)
