"""Numbers that several threads read and write, and memory that is asked for ahead of its use."""

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def read(typing, numbers, place):
    """numbers[place] as all threads see it."""
    return types.int64(numbers, types.int64), _emit_read


def _emit_read(context, builder, signature, arguments):
    return builder.load_atomic(_place(context, builder, signature, arguments), "acquire", 8)


@intrinsic
def write(typing, numbers, place, value):
    """numbers[place] = value, after all that was written before."""
    return types.void(numbers, types.int64, types.int64), _emit_write


def _emit_write(context, builder, signature, arguments):
    where = _place(context, builder, signature, arguments)
    builder.store_atomic(arguments[2], where, "release", 8)
    return context.get_dummy_value()


@intrinsic
def increase(typing, numbers, place, old):
    """Add one to numbers[place] if it is ``old``; return whether it was, at one stroke."""
    return types.boolean(numbers, types.int64, types.int64), _emit_increase


def _emit_increase(context, builder, signature, arguments):
    where, old = _place(context, builder, signature, arguments), arguments[2]
    new = builder.add(old, ir.Constant(old.type, 1))
    return builder.extract_value(builder.cmpxchg(where, old, new, "acq_rel", "acquire"), 1)


@intrinsic
def fetch(typing, array, place):
    """Bring array[place] into the cache; it is not waited for."""
    return types.void(array, types.int64), _emit_fetch


def _emit_fetch(context, builder, signature, arguments):
    number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    where = builder.bitcast(_place(context, builder, signature, arguments), byte)
    builder.call(function, [where, number(0), number(3), number(1)])  # to read, to keep, data
    return context.get_dummy_value()


def _place(context, builder, signature, arguments):
    numbers = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(numbers.data, [arguments[1]])


def _plain_read(numbers, place):
    return numbers[place]


def _plain_write(numbers, place, value):
    numbers[place] = value


def _plain_fetch(array, place):
    pass


def _plain_increase(numbers, place, old):
    is_old = numbers[place] == old
    numbers[place] += is_old
    return is_old


if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics
    read, write, increase, fetch = _plain_read, _plain_write, _plain_increase, _plain_fetch
