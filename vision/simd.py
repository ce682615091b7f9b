"""Pieces of LLVM code that the hand-written vector loops share, and memory that suits them.

The functions that take a ``builder`` run while an intrinsic is compiled and emit its instructions.
A loop whose intrinsics use them is compiled by ``njit(inlined=(simd,))``: then its cached machine
code is rebuilt when this file changes.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils

INDEX = ir.IntType(64)
_LANE = ir.IntType(32)


def arrays(context, builder, signature, arguments, which):
    """The array structures (``data``, ``shape``, …) of the arguments with these numbers."""
    return [context.make_array(signature.args[k])(context, builder, arguments[k]) for k in which]


def broadcast(builder, value, lanes):
    """A vector whose lanes all hold one value."""
    vector = ir.VectorType(value.type, lanes)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _LANE(0))
    zeros = ir.Constant(ir.VectorType(_LANE, lanes), [0] * lanes)
    return builder.shuffle_vector(first, first, zeros)


def constant(vector, value):
    """A vector whose lanes all hold one number that is known when compiling."""
    return ir.Constant(vector, [value] * vector.count)


def vector_at(builder, data, position, vector):
    """The address of ``data[position]`` as that of a vector."""
    return builder.bitcast(builder.gep(data, [position]), vector.as_pointer())


def load(builder, data, position, vector):
    """``data[position], data[position + 1], …`` as a vector."""
    return builder.load(vector_at(builder, data, position, vector), align=_alignment(vector))


def store(builder, value, data, position):
    """Write a vector to ``data[position], data[position + 1], …``."""
    where = vector_at(builder, data, position, value.type)
    builder.store(value, where, align=_alignment(value.type))


def _alignment(vector):
    """Bytes of one lane: arrays are aligned to their elements, not to vectors."""
    widths = {ir.FloatType(): 4, ir.DoubleType(): 8}
    return widths.get(vector.element) or vector.element.width // 8


def row_length(builder, array):
    """The number of columns of a two-dimensional array."""
    return cgutils.unpack_tuple(builder, array.shape)[1]


def rows(builder, array, first, count):
    """The addresses of ``count`` rows, from ``first`` on, of a C-ordered array."""
    length = row_length(builder, array)
    offset = builder.mul(first, length)
    addresses = []
    for _ in range(count):
        addresses.append(builder.gep(array.data, [offset]))
        offset = builder.add(offset, length)
    return addresses


def multiply_add(builder, a, b, c):
    """A b + c of vectors of floating-point numbers, rounded once."""
    name = f"llvm.fma.v{c.type.count}f{8 * _alignment(c.type)}"
    return call(builder, name, c.type, [a, b, c])


def call(builder, name, result, arguments):
    """Call an LLVM intrinsic by its name."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def lanes(builder, vector):
    """The elements of a vector."""
    return [builder.extract_element(vector, _LANE(k)) for k in range(vector.type.count)]


def aligned_zeros(shape: tuple[int, ...], dtype: type = np.float32) -> np.ndarray:
    """Zeros that begin where a cache line does.

    Examples
    --------
    >>> aligned_zeros((2, 3)).ctypes.data % 64
    0
    """
    size = np.dtype(dtype).itemsize
    n = int(np.prod(shape))
    raw: np.ndarray = np.zeros(n + 64 // size, dtype)
    start = -raw.ctypes.data % 64 // size
    return raw[start : start + n].reshape(shape)
