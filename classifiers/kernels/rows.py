"""Rows of a Gram matrix: checked, remapped, split by sign, scaled, compared on threads, stored."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from visualwords.codebook.feature_sets import FeatureSets
from visualwords.estimator import is_plain
from visualwords.model_file import State
from visualwords.parallel import in_threads, n_threads

Rows: TypeAlias = Any  # an array or a CSR array; scipy publishes no types
Matrix: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix

NARROW = ("uint8", "uint16", "float16", "int32", "float32")  # types by bytes
DAMAGED = "the arrays do not belong together; the file they came from is damaged"
_HEIGHT = 32  # rows of a stripe at least
_TILE = 256  # rows that are mirrored at a time


def check_rows(
    X: Matrix,
    Y: Matrix | None,
    kernel: str,
    dtype: str | tuple[DTypeLike, ...] = (np.float64, np.float32),
) -> tuple[Rows, Rows]:
    """Both sides of a Gram matrix: finite arrays in C order, or CSR without duplicates.

    Parameters
    ----------
    X, Y : array-like or sparse of shape (n, d) and (m, d)
        No row at all is allowed. A missing ``Y`` comes back as the very same ``X``.
    kernel : str
        Name for error messages.
    dtype : dtype or tuple of dtypes
        What may stay as it is, anything else is converted to the first; "numeric": any number.
    """

    def checked(rows: Matrix) -> Rows:
        if not is_plain(rows, dtype):
            from sklearn.utils.validation import check_array

            how = {"accept_sparse": "csr", "order": "C", "ensure_min_samples": 0}
            rows = check_array(rows, dtype=dtype, input_name="X", **how)
        if sparse.issparse(rows):
            rows = sparse.csr_array(rows)
            if not rows.has_canonical_format:
                rows = rows.copy()
                rows.sum_duplicates()
        return rows

    x = checked(X)
    y = x if Y is None else checked(Y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"{kernel}: X has {x.shape[1]} columns and Y has {y.shape[1]}; they must agree"
        )
    return x, y


def on_both(change: Callable[[Rows], Rows], x: Rows, y: Rows) -> tuple[Rows, Rows]:
    """Both sides changed; where both are the same object, they stay that."""
    a = change(x)
    return a, a if y is x else change(y)


def power_remap(X: Rows, a: float) -> Rows:
    """Raise magnitudes to the power ``a`` and keep signs: xᵃ of [Boughorbel06, Sec. 5].

    1 gives ``X`` itself; the paper's 0.25 lifts small histogram bins.
    """
    if not a > 0:
        raise ValueError(f"a is {a}, but a power remap needs a > 0 (0.25 in the GCS paper)")
    if a == 1:
        return X
    if sparse.issparse(X):
        return sparse.csr_array((power_remap(X.data, a), X.indices, X.indptr), shape=X.shape)
    return np.sign(X) * np.abs(X) ** a


def dense(X: Rows) -> np.ndarray:
    """The rows as an array."""
    return X.toarray() if sparse.issparse(X) else X


def has_negative(X: Rows) -> bool:
    """Whether a value is below 0."""
    values = X.data if sparse.issparse(X) else X
    return values.size > 0 and bool(values.min() < 0)


def split_signs(X: Rows) -> Rows:
    """Give every column two: one for positive values, one for the size of negative ones.

    [Li16], Eq. (1): ũ₂ᵢ₋₁ = uᵢ and ũ₂ᵢ = 0 if uᵢ > 0, else ũ₂ᵢ₋₁ = 0 and ũ₂ᵢ = −uᵢ. Signed
    integers must have room for −(−128).

    Examples
    --------
    >>> split_signs(np.array([[-5.0, 3.0]]))
    array([[0., 5., 3., 0.]])
    """
    if sparse.issparse(X):
        columns = 2 * X.indices.astype(np.int64) + (X.data < 0)
        shape = (X.shape[0], 2 * X.shape[1])
        return sparse.csr_array((np.abs(X.data), columns, X.indptr), shape=shape)
    split = np.zeros((X.shape[0], 2 * X.shape[1]), dtype=X.dtype)
    np.maximum(X, 0, out=split[:, 0::2])
    np.maximum(-X, 0, out=split[:, 1::2])
    return split


def row_sums(X: Rows) -> np.ndarray:
    """The sums of rows in float64."""
    return np.asarray(X.sum(axis=1, dtype=np.float64)).reshape(-1)


def unit_sum(X: Rows) -> Rows:
    """Divide non-negative rows by their sums ([Li16], Eq. (3)); rows of zeros stay.

    Examples
    --------
    >>> unit_sum(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    sums = row_sums(X)
    sums[sums == 0] = 1.0
    if sparse.issparse(X):
        data = (X.data / np.repeat(sums, np.diff(X.indptr))).astype(X.dtype)
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return (X / sums[:, None]).astype(X.dtype)


def in_stripes(
    fill: Callable[[int, int, np.ndarray], None],
    out: np.ndarray,
    symmetric: bool,
    n_jobs: int | None,
) -> np.ndarray:
    """Let ``fill(first, last, out)`` fill stripes of rows on threads.

    Of a symmetric matrix it need fill the lower triangle only; the rest is mirrored.
    """
    height = max(_HEIGHT, -(-len(out) // (8 * n_threads(n_jobs))) // 4 * 4)
    in_threads(lambda i, j: fill(i, j, out), len(out), height, n_jobs, last_first=symmetric)
    if symmetric:
        mirror(out)
    return out


def mirror(out: np.ndarray) -> None:
    """Copy the lower triangle of a square matrix to the upper one.

    Examples
    --------
    >>> out = np.array([[1, 9], [2, 3]])
    >>> mirror(out)
    >>> out.tolist()
    [[1, 2], [2, 3]]
    """
    for start in range(0, len(out), _TILE):
        end = start + _TILE
        out[start:end, end:] = out[end:, start:end].T
        tile = out[start:end, start:end]
        tile[...] = np.tril(tile) + np.tril(tile, -1).T


def pack_rows(rows: Any | None) -> State:
    """Arrays from which `unpack_rows` makes the same rows again.

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
        state = {"points": rows.points, "offsets": rows.offsets, "side": np.array(rows.side)}
        return {"kind": np.array("sets"), **state}
    if not sparse.issparse(rows) and not isinstance(rows, np.ndarray):
        raise ValueError(
            f"samples of type {type(rows).__name__} can't be stored; "
            "use rows of numbers, or kernel='pyramid_match' for sets"
        )
    state = {"kind": np.array("csr" if sparse.issparse(rows) else "dense")}
    state["dtype"] = np.array(rows.dtype.str)
    if isinstance(rows, np.ndarray):
        values = _narrowest(rows)
        index = 2 if rows.shape[1] <= 1 << 16 else 4
        nonzero = np.count_nonzero(rows)
        if nonzero * (values.itemsize + index) >= rows.size * values.itemsize:
            return {**state, "values": values}
    thin = sparse.csr_array(rows)
    return {
        **state,
        "values": _narrowest(thin.data),
        "columns": _narrowest(thin.indices),
        "starts": np.asarray(thin.indptr, np.int64),
        "shape": np.array(thin.shape),
    }


def unpack_rows(packed: State) -> Any:
    """The rows that `pack_rows` was given; its arrays come from files that may be forged."""
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
    starts, columns = packed["starts"], packed["columns"]
    n, d = (int(size) for size in packed["shape"])
    good = starts.shape == (n + 1,) and values.shape == columns.shape == (int(starts[-1]),)
    good = good and starts[0] == 0 and bool((np.diff(starts) >= 0).all())
    if not good or (columns.size and not 0 <= columns.min() <= columns.max() < d):
        raise ValueError(DAMAGED)
    short = np.int32 if max(values.size, d) <= np.iinfo(np.int32).max else np.int64
    thin = sparse.csr_array((values, columns.astype(short), starts.astype(short)), shape=(n, d))
    return thin if kind == "csr" else thin.toarray()


def _narrowest(values: np.ndarray) -> np.ndarray:
    """The same numbers in the type with the fewest bytes that has them all."""
    for kind in map(np.dtype, NARROW):
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = values.astype(kind)
            fits = np.array_equal(narrow.astype(values.dtype), values)
        if fits and kind.itemsize < values.itemsize:
            return narrow
    return values
