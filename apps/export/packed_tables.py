"""Tables of small whole numbers in fewer bits than bytes, and the graphs that read them.

An ONNX file is not compressed as a model's own file is. Several numbers, as digits of one base,
share a code of 16 bits. What a digit can't hold is stored beside the codes: tables are exact.
"""

from collections.abc import Callable

import numpy as np

from visualwords.apps.export.graph import BOOL, INT8, INT32, INT64, Graph, Value

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

    The cells of a feature are cut into blocks: the first one's value, and a code of the steps from
    there to the others.

    Parameters
    ----------
    values : (n_cells, c) int8
    offsets : (d + 1,) int64
        First cell of every feature.
    """
    sizes, n_columns = np.diff(offsets), values.shape[1]
    steps = np.abs(np.diff(values.astype(np.int16), axis=0))
    bytes_of = {
        n: 3 * n_columns * (-(-sizes // (n + 1))).sum() + 9 * (steps > top).sum()
        for n, top in LARGEST.items()
    }
    n = min(bytes_of, key=lambda n: bytes_of[n])
    width, top = n + 1, LARGEST[n]
    n_blocks = -(-sizes // width)
    number_of = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    place = np.repeat(np.cumsum(n_blocks) - n_blocks, sizes) + number_of // width, number_of % width
    cells = np.zeros((n_blocks.sum(), width, n_columns), np.int8)
    cells[place] = values
    digits = np.zeros((len(cells), n_columns, n), np.int8)
    told = cells.astype(np.int16)  # by the codes
    for k in range(1, width):  # a step that is too long is made up for by the next ones
        digits[:, :, k - 1] = np.clip(cells[:, k] - told[:, k - 1], -top, top)
        told[:, k] = told[:, k - 1] + digits[:, :, k - 1]
    codes, starts = g.constant(_codes(digits, top)), g.constant(cells[:, 0])
    lacks = values - told[place]
    cell, column = np.nonzero(lacks)
    feature = np.searchsorted(offsets, cell, side="right") - 1

    last = g.constant((sizes - 1).astype(np.min_scalar_type(sizes.max()))).cast(INT32)
    first_block = g.op("CumSum", last / width + 1, np.array(0), exclusive=1)
    sums = g.op("CumSum", _digits(g, n), np.array(1)).cast(INT8)
    sums = g.op("Pad", sums, [0, 1, 0, 0]).reshape(-1)

    def read(number: Value) -> Value:
        number = number.at_most(last)
        block, within = first_block + number / width, g.op("Mod", number, width)
        places = codes.gather(block).cast(INT32) * width + within.reshape(-1, 1)
        rows = starts.gather(block).cast(INT32) + sums.gather(places).cast(INT32)
        if not len(feature):
            return rows
        reached = number.gather(feature.astype(np.int32))
        is_there = g.op("Equal", reached, number_of[cell].astype(np.int32), kind=BOOL)
        lacking = g.constant(lacks[cell, column].astype(np.int8)).cast(INT32)
        added = g.where(is_there, lacking, 0)
        entry = (feature * n_columns + column).astype(np.int32)
        flat = g.op("ScatterElements", rows.reshape(-1), entry, added, reduction="add")
        return flat.reshape(-1, n_columns)

    return read


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
