"""Tables of small whole numbers in fewer bits than bytes, and the graphs that read them.

An ONNX file is not compressed as a model's own file is. Several numbers, as digits of one base,
share a code. What a digit can't hold is stored beside the codes: tables are exact.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from visualwords.apps.export.graph import BOOL, FLOAT, INT8, INT32, INT64, Graph, Value


class Coding(NamedTuple):
    """How numbers are coded: bytes of a code, its digits, and the largest that one holds."""

    n_bytes: int
    n: int
    top: int

    @property
    def n_codes(self) -> int:
        return (2 * self.top + 1) ** self.n

    def codes(self, digits: np.ndarray) -> np.ndarray:
        """Digits −top … top, (…, n), as codes (…,), the first digit the highest."""
        kind = np.dtype(f"u{self.n_bytes}")
        codes = np.zeros(digits.shape[:-1], kind)
        for k in range(self.n):
            digit = (digits[..., k] + np.int16(self.top)).astype(kind)
            codes = codes * kind.type(2 * self.top + 1) + digit
        return codes

    def digits(self, g: Graph) -> Value:
        """The digits of every code, (n, n_codes) int32, which runtimes compute once."""
        base = 2 * self.top + 1
        every = g.op("Range", *(np.array(k, np.int32) for k in (0, self.n_codes, 1)), kind=INT32)
        powers = base ** np.arange(self.n, dtype=np.int32)[::-1, None]
        return g.op("Mod", every / powers, base) - self.top


CODINGS = [Coding(2, 10, 1), Coding(2, 6, 2), Coding(2, 5, 4), Coding(2, 4, 7), Coding(2, 3, 19)]
CODINGS += [Coding(1, 3, 2), Coding(1, 2, 7), Coding(1, 1, 127)]
FARTHEST = 255  # from one number that is stored beside codes to the next


def unpacked(g: Graph, numbers: np.ndarray) -> Value:
    """An array (r, c) of −127 … 127, int8, which runtimes unpack once, when they load a model."""
    flat = numbers.astype(np.int8).ravel()
    size_of = np.abs(flat)
    coding = min(
        CODINGS, key=lambda c: c.n_bytes * flat.size / c.n + 2 * np.count_nonzero(size_of > c.top)
    )
    _, n, top = coding
    if n == 1:
        return g.constant(flat.reshape(numbers.shape))
    digits = np.zeros(-(-flat.size // n) * n, np.int8)
    digits[: flat.size] = flat.clip(-top, top)
    codes = g.constant(coding.codes(digits.reshape(-1, n))).cast(INT32)
    found = coding.digits(g).cast(INT8).transpose(1, 0).gather(codes).reshape(-1)
    found = _with_others(found.slice(0, 0, flat.size), flat, size_of > top)
    return found.reshape(*numbers.shape)


def _frequent(g: Graph, codes: np.ndarray) -> Value:
    """Codes of two bytes, of which few occur often: those are told by a byte."""
    values, of_value, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.empty(len(values), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(values))
    known, flat = np.zeros(256, codes.dtype), codes.ravel()
    known[rank[rank < 256]] = values[rank < 256]
    place = rank[of_value.ravel()]
    is_rare = place > 255
    if 5 * np.count_nonzero(is_rare) > flat.size:
        return g.constant(codes)
    places = g.constant(np.where(is_rare, 0, place).astype(np.uint8)).cast(INT32)
    return _with_others(g.constant(known).gather(places), flat, is_rare).reshape(*codes.shape)


def _with_others(found: Value, numbers: np.ndarray, which: np.ndarray) -> Value:
    """An array (m,) after those of some places are replaced; gaps between them are bytes."""
    which[::FARTHEST] = True
    gaps = np.diff(np.flatnonzero(which), prepend=0).astype(np.uint8)
    places = found.graph.op("CumSum", found.graph.constant(gaps).cast(INT64), np.array(0))
    return found.graph.op("ScatterElements", found, places, numbers[which])


def sum_of_tables(
    g: Graph, values: np.ndarray, offsets: np.ndarray
) -> Callable[[Value, Value], Value]:
    """How the tables of features are added up.

    Codes hold the steps from cell to cell. Runtimes add them up once, when they load a model.

    Parameters
    ----------
    values : (n_cells, c) int8
        0 in every feature's first cell.
    offsets : (d + 1,) int64
        First cell of every feature.

    Returns
    -------
    function
        (d,) numbers of cells and (d,) weights → Σ_j weight_j · values of j's cell, (c,) float32;
        weights are 0 where numbers are.
    """
    sizes, n_columns = np.diff(offsets), values.shape[1]
    size_of = np.abs(np.diff(values, axis=0, prepend=np.int8(0)).astype(np.int16))
    size_of[offsets[:-1]] = 0
    coding = min(
        CODINGS,
        key=lambda c: (
            c.n_bytes * n_columns * (-(-(sizes - 1) // c.n)).sum()
            + 8 * np.count_nonzero(size_of > c.top)
        ),
    )
    steps, lacks = _steps(values, offsets, coding)
    codes = _frequent(g, coding.codes(steps))
    feature, cell, column, lack = (_whole(g, array) for array in lacks)
    last, n = _whole(g, sizes - 1), coding.n
    first = g.op("CumSum", (last + (n - 1)) / n, np.array(0), exclusive=1)
    sums = g.op("CumSum", coding.digits(g), np.array(0))
    totals = sums.slice(0, -1).reshape(-1).gather(codes.cast(INT32))
    before = g.op("CumSum", totals, np.array(0), exclusive=1)  # through all features
    sums = g.op("Pad", sums.cast(INT8), [1, 0, 0, 0]).reshape(-1)

    def add_up(number: Value, weight: Value) -> Value:
        number = number.at_most(last)
        weight = weight * (last > 0).cast(FLOAT)  # features of one cell have no code
        some = g.op("NonZero", weight, kind=INT64).reshape(-1)
        start, reached = first.gather(some), number.gather(some)
        code = (reached - 1) / n
        within = ((reached - code * n) * coding.n_codes).reshape(-1, 1)
        code = start + code
        rows = sums.gather(codes.gather(code).cast(INT32) + within).cast(INT32)
        rows = (rows + before.gather(code) - before.gather(start)).cast(FLOAT)
        total = (rows * weight.gather(some).reshape(-1, 1)).sum(0)
        is_there = g.op("Equal", number.gather(feature), cell, kind=BOOL)
        lacking = g.where(is_there, lack.cast(FLOAT) * weight.gather(feature), 0.0)
        return g.op("ScatterElements", total, column, lacking, reduction="add")

    return add_up


def _whole(g: Graph, numbers: np.ndarray) -> Value:
    """Whole numbers as int32, stored in as few bytes as they need."""
    largest = np.abs(numbers).max(initial=0)
    least = np.min_scalar_type(-largest if (numbers < 0).any() else largest)
    return g.constant(numbers.astype(least)).cast(INT32)


def _steps(
    values: np.ndarray, offsets: np.ndarray, coding: Coding
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Steps from cell to cell; a long one is made up for by those behind it.

    Returns
    -------
    steps : (n_codes, c, n) int8
    lacks : arrays (m,)
        What steps do not add up to: features, numbers of cells, columns, and how much.
    """
    sizes, (_, n, top) = np.diff(offsets), coding
    n_codes = -(-(sizes - 1) // n)
    first = np.cumsum(n_codes) - n_codes
    steps = np.zeros((n_codes.sum(), values.shape[1], n), np.int8)
    told = np.zeros((len(sizes), values.shape[1]), np.int16)
    lacks = [np.zeros((4, 0), np.int64)]
    for number in range(1, sizes.max(initial=1)):
        has = np.flatnonzero(sizes > number)
        wanted = values[offsets[has] + number]
        code, digit = divmod(number - 1, n)
        step = np.clip(wanted - told[has], -top, top)
        steps[first[has] + code, :, digit] = step
        told[has] += step
        lack = wanted - told[has]
        which, column = np.nonzero(lack)
        lacks.append(np.stack([has[which], 0 * which + number, column, lack[which, column]]))
    return steps, tuple(np.concatenate(lacks, axis=1))
