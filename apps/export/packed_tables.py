"""Tables of small whole numbers in fewer bits than bytes, and the graphs that read them.

An ONNX file is not compressed as a model's own file is. Several numbers, as digits of one base,
share a code of 16 bits. What a digit can't hold is stored beside the codes: tables are exact.
"""

from collections.abc import Callable

import numpy as np

from visualwords.apps.export.graph import BOOL, INT8, INT32, INT64, UINT8, Graph, Value

LARGEST = {10: 1, 6: 2, 5: 4, 4: 7, 3: 19, 2: 127}  # of so many digits of a code, with either sign
FARTHEST = 65535  # from one number that is stored beside codes to the next


def unpacked(g: Graph, numbers: np.ndarray) -> Value:
    """An array (r, c) of −127 … 127, int8, which runtimes unpack once, when they load a model."""
    flat = numbers.astype(np.int8).ravel()
    size_of = np.abs(flat)
    bytes_of = {n: 2 * flat.size // n + 3 * (size_of > top).sum() for n, top in LARGEST.items()}
    n = min(bytes_of, key=lambda n: bytes_of[n])
    if n == 2:
        return g.constant(flat.reshape(numbers.shape))
    top = LARGEST[n]
    digits = np.zeros(-(-flat.size // n) * n, np.int8)
    digits[: flat.size] = flat.clip(-top, top)
    codes = _codes(digits.reshape(-1, n), top)
    found = _digits(g, n).cast(INT8).gather(g.constant(codes).cast(INT32)).reshape(-1)
    is_beside = size_of > top
    is_beside[::FARTHEST] = True
    gaps = np.diff(np.flatnonzero(is_beside), prepend=0).astype(np.uint16)
    places = g.op("CumSum", g.constant(gaps).cast(INT64), np.array(0))
    found = g.op("ScatterElements", found.slice(0, 0, flat.size), places, flat[is_beside])
    return found.reshape(*numbers.shape)


def reader(g: Graph, values: np.ndarray, offsets: np.ndarray) -> Callable[[Value], Value]:
    """How the tables of features are read: (d,) numbers of cells → their rows, (d, c) int32.

    Codes hold the steps from cell to cell, from 0 in a feature's first. Runtimes add them up once,
    when they load a model; of the sums a byte is kept, because values are bytes.

    Parameters
    ----------
    values : (n_cells, c) int8
    offsets : (d + 1,) int64
        First cell of every feature.
    """
    sizes, n_columns = np.diff(offsets), values.shape[1]
    size_of = np.abs(np.diff(values.astype(np.int16), axis=0))
    bytes_of = {
        n: 2 * n_columns * (sizes // n).sum() + 6 * (size_of > top).sum()
        for n, top in LARGEST.items()
    }
    n = min(bytes_of, key=lambda n: bytes_of[n])
    digits, (feature, number_of, column, lack) = _steps(values, offsets, n)
    codes = g.constant(_codes(digits, LARGEST[n]))
    last = g.constant((sizes - 1).astype(np.min_scalar_type(sizes.max()))).cast(INT32)
    first = g.op("CumSum", (last - 1) / n + 1, np.array(0), exclusive=1)
    sums = g.op("CumSum", _digits(g, n), np.array(1)).cast(INT8)
    totals = sums.slice(1, -1).reshape(-1).gather(codes.cast(INT32)).cast(INT32)
    before = g.op("Mod", g.op("CumSum", totals, np.array(0), exclusive=1), 256).cast(UINT8)
    sums = g.op("Pad", sums, [0, 1, 0, 0]).reshape(-1)

    def read(number: Value) -> Value:
        number = number.at_most(last)
        block = (number - 1) / n
        within = (number - block * n).reshape(-1, 1)
        block = first + block
        steps = sums.gather(codes.gather(block).cast(INT32) * (n + 1) + within).cast(INT32)
        steps = steps + before.gather(block).cast(INT32) - before.gather(first).cast(INT32)
        rows = g.op("Mod", steps + 128, 256) - 128
        if not len(feature):
            return rows
        entry = g.constant((feature * n_columns + column).astype(np.int32))
        cells = g.constant(number_of.astype(np.min_scalar_type(sizes.max()))).cast(INT32)
        is_there = g.op("Equal", number.gather(entry / n_columns), cells, kind=BOOL)
        added = g.where(is_there, g.constant(lack.astype(np.int8)).cast(INT32), 0)
        flat = g.op("ScatterElements", rows.reshape(-1), entry, added, reduction="add")
        return flat.reshape(-1, n_columns)

    return read


def _steps(
    values: np.ndarray, offsets: np.ndarray, n: int
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Steps from cell to cell, n to a code; a long one is made up for by those behind it.

    Returns
    -------
    steps : (n_codes, c, n) int8
    lacks : arrays (m,)
        What steps do not add up to: features, numbers of cells, columns, and how much.
    """
    sizes, top = np.diff(offsets), LARGEST[n]
    n_codes = np.maximum(-(-(sizes - 1) // n), 1)
    first = np.cumsum(n_codes) - n_codes
    steps = np.zeros((n_codes.sum(), values.shape[1], n), np.int8)
    told = np.zeros((len(sizes), values.shape[1]), np.int16)
    lacks = []
    for number in range(sizes.max()):
        has = np.flatnonzero(sizes > number)
        wanted = values[offsets[has] + number]
        if number:
            code, digit = divmod(number - 1, n)
            step = np.clip(wanted - told[has], -top, top)
            steps[first[has] + code, :, digit] = step
            told[has] += step
        lack = wanted - told[has]
        which, column = np.nonzero(lack)
        lacks.append((has[which], np.full(len(which), number), column, lack[which, column]))
    return steps, tuple(map(np.concatenate, zip(*lacks)))


def _codes(digits: np.ndarray, top: int) -> np.ndarray:
    """Digits −top … top, (…, n), as codes (…,), the first digit the highest."""
    codes = np.zeros(digits.shape[:-1], np.uint16)
    for k in range(digits.shape[-1]):
        codes = codes * np.uint16(2 * top + 1) + (digits[..., k] + top).astype(np.uint16)
    return codes


def _digits(g: Graph, n: int) -> Value:
    """The n digits of every code, (n_codes, n) int32."""
    top = LARGEST[n]
    base = 2 * top + 1
    every = g.op("Range", *(np.array(k, np.int32) for k in (0, base**n, 1)), kind=INT32)
    powers = base ** np.arange(n, dtype=np.int32)[::-1]
    return g.op("Mod", every.reshape(-1, 1) / powers, base) - top
