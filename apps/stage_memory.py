"""What a stage learned, kept in the cache as several named arrays under one key."""

import hashlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.apps.encoding import Rows
from visualwords.cache import FeatureCache

State = dict[str, np.ndarray]


def recall(cache: FeatureCache | None, key: str | None) -> State | None:
    """Return what was kept under a key; None if nothing is."""
    if cache is None or key is None:
        return None
    packed = cache.get(key)
    if packed is None:
        return None
    with np.load(io.BytesIO(packed.tobytes()), allow_pickle=False) as arrays:
        return dict(arrays)


def keep(cache: FeatureCache | None, key: str | None, state: State) -> None:
    """Keep named arrays under a key."""
    if cache is None or key is None:
        return
    buffer = io.BytesIO()
    np.savez(buffer, **state)
    cache.put(key, np.frombuffer(buffer.getvalue(), np.uint8))


def remembered(
    cache: FeatureCache | None, content: bytes, settings: dict[str, Any], make: Callable[[], State]
) -> State:
    """Return what ``make`` makes of a content by settings: from the cache, else made and kept."""
    key = None if cache is None else cache.key(content, settings)
    state = recall(cache, key)
    if state is None:
        state = make()
        keep(cache, key, state)
    return state


def content_of_rows(rows: Rows, labels: np.ndarray) -> bytes:
    """Return a fingerprint of labelled rows, dense or CSR."""
    digest = hashlib.blake2b(repr((rows.shape, rows.dtype.str)).encode())
    names = "\0".join(map(str, labels)).encode("utf-8", "surrogateescape")
    digest.update(hashlib.blake2b(names).digest())
    parts = [rows.indptr, rows.indices, rows.data] if sparse.issparse(rows) else [rows]
    for part in parts:
        digest.update(np.ascontiguousarray(part))
    return digest.digest()
