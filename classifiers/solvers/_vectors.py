"""What the solvers' intrinsics in LLVM's language share."""

from llvmlite import ir


def everywhere(builder, value, vector):
    """A vector of one value."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, nothing, zeros)
