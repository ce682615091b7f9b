"""Rows of training samples as plain arrays for model files."""

from typing import Any

import numpy as np
from scipy import sparse

from visualwords.codebook.feature_sets import FeatureSets

NARROW = ("uint8", "uint16", "float16", "int32", "float32")  # by bytes


def round_rows(X: Any, storage: str) -> Any:
    """Return rows whose values a narrower type holds: "float32", "float16" or "exact" as they are.

    Examples
    --------
    >>> round_rows(np.array([[0.1]]), "float16")
    array([[0.09997559]])
    """
    if storage == "exact":
        return X
    kept = X.copy() if sparse.issparse(X) else np.array(X)
    values: np.ndarray = kept.data if sparse.issparse(kept) else kept  # type: ignore[assignment]
    with np.errstate(over="ignore"):
        narrow = values.astype(storage)
    if not np.isfinite(narrow).all():
        raise ValueError(
            f"X has values beyond {np.finfo(storage).max:.0f}, the largest that "
            f"storage={storage!r} keeps; scale X, or use storage='exact'"
        )
    values[...] = narrow
    return kept


def pack_rows(rows: Any) -> dict[str, np.ndarray]:
    """Return arrays from which `unpack_rows` makes the same rows again.

    Parameters
    ----------
    rows : ndarray, CSR array, FeatureSets or None

    Examples
    --------
    >>> packed = pack_rows(np.array([[0.0, 2.0], [0.5, 0.0]]))
    >>> str(packed["kind"]), packed["values"].dtype
    ('dense', dtype('float16'))
    """
    if rows is None:
        return {"kind": np.array("none")}
    if isinstance(rows, FeatureSets):
        side = np.array(rows.side)
        return {
            "kind": np.array("sets"),
            "points": rows.points,
            "offsets": rows.offsets,
            "side": side,
        }
    if not sparse.issparse(rows) and not isinstance(rows, np.ndarray):
        raise ValueError(
            f"samples of type {type(rows).__name__} can't be stored; "
            "use rows of numbers, or kernel='pyramid_match' for sets"
        )
    dtype = np.array(rows.dtype.str)
    kind = "csr" if sparse.issparse(rows) else "dense"
    if kind == "dense":
        values = _narrowest(rows)
        index = 2 if rows.shape[1] <= 1 << 16 else 4
        nonzero = np.count_nonzero(rows)
        if nonzero * (values.itemsize + index) >= rows.size * values.itemsize:
            return {"kind": np.array(kind), "dtype": dtype, "values": values}
    thin = sparse.csr_array(rows)
    return {
        "kind": np.array(kind),
        "dtype": dtype,
        "values": _narrowest(thin.data),
        "columns": _narrowest(thin.indices),
        "starts": np.asarray(thin.indptr, np.int64),
        "shape": np.array(thin.shape),
    }


def unpack_rows(packed: dict[str, np.ndarray]) -> Any:
    """Return the rows that `pack_rows` was given."""
    kind = str(packed["kind"])
    if kind == "none":
        return None
    if kind == "sets":
        return FeatureSets(packed["points"], packed["offsets"], int(packed["side"]))
    dtype = np.dtype(str(packed["dtype"]))
    if dtype.kind not in "uifb":
        raise ValueError(f"rows of type {dtype} are no numbers; the file they came from is damaged")
    values = packed["values"].astype(dtype)
    if "starts" not in packed:
        return values
    n, d = (int(size) for size in packed["shape"])
    starts, columns = packed["starts"], packed["columns"]
    _check_entries(values, columns, starts, n, d)
    short = max(values.size, d) <= np.iinfo(np.int32).max
    places = [a.astype(np.int32 if short else np.int64) for a in (columns, starts)]
    thin = sparse.csr_array((values, *places), shape=(n, d))
    return thin if kind == "csr" else thin.toarray()


def _check_entries(
    values: np.ndarray, columns: np.ndarray, starts: np.ndarray, n: int, d: int
) -> None:
    """Refuse arrays that do not form a CSR matrix of this shape."""
    good = starts.shape == (n + 1,) and values.shape == columns.shape == (int(starts[-1]),)
    good = good and starts[0] == 0 and bool((np.diff(starts) >= 0).all())
    if not good or (columns.size and not 0 <= columns.min() <= columns.max() < d):
        raise ValueError("the rows do not belong together; the file they came from is damaged")


def _narrowest(values: np.ndarray) -> np.ndarray:
    """The same numbers in the type with the fewest bytes that has them all."""
    for name in NARROW:
        kind = np.dtype(name)
        if kind.itemsize >= values.dtype.itemsize:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = values.astype(kind)
            if np.array_equal(narrow.astype(values.dtype), values):
                return narrow
    return values
