"""An ONNX graph under construction, written like arithmetic on arrays.

Operators are those of ai.onnx, opset 18. Numbers beside a value take its type; lists of whole
numbers are int64. Sizes that depend on the image are int64 values of shape (1,), so that they can
be joined to shapes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, Union

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 18, 9
BOOL, UINT8, INT8, INT32, INT64 = map(
    TensorProto.DataType.Value, ("BOOL", "UINT8", "INT8", "INT32", "INT64")
)
FLOAT16, FLOAT, DOUBLE, TEXT = map(
    TensorProto.DataType.Value, ("FLOAT16", "FLOAT", "DOUBLE", "STRING")
)
TO_THE_END = np.iinfo(np.int64).max

Operand: TypeAlias = Union["Value", np.ndarray, float, Sequence[int]]
Attribute: TypeAlias = int | float | str | Sequence[int] | onnx.TensorProto | onnx.GraphProto


class Value:
    """An array that the graph computes: its name, and its type as ONNX numbers types."""

    def __init__(self, graph: "Graph", name: str, kind: int):
        self.graph, self.name, self.kind = graph, name, kind

    def __add__(self, other: Operand) -> "Value":
        return self.graph.op("Add", self, other)

    def __sub__(self, other: Operand) -> "Value":
        return self.graph.op("Sub", self, other)

    def __rsub__(self, other: Operand) -> "Value":
        return self.graph.op("Add", self.graph.op("Neg", self), other)

    def __mul__(self, other: Operand) -> "Value":
        return self.graph.op("Mul", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Operand) -> "Value":
        """The quotient; of whole numbers it is cut towards zero."""
        return self.graph.op("Div", self, other)

    def __rtruediv__(self, other: Operand) -> "Value":
        return self.graph.op("Reciprocal", self) * other

    def __matmul__(self, other: Operand) -> "Value":
        return self.graph.op("MatMul", self, other)

    def __ge__(self, other: Operand) -> "Value":
        return self.graph.op("GreaterOrEqual", self, other, kind=BOOL)

    def __gt__(self, other: Operand) -> "Value":
        return self.graph.op("Greater", self, other, kind=BOOL)

    def __and__(self, other: "Value") -> "Value":
        return self.graph.op("And", self, other)

    def floor(self) -> "Value":
        return self.graph.op("Floor", self)

    def round(self) -> "Value":
        """The nearest whole number, of two the even one."""
        return self.graph.op("Round", self)

    def sqrt(self) -> "Value":
        return self.graph.op("Sqrt", self)

    def at_least(self, other: Operand) -> "Value":
        return self.graph.op("Max", self, other)

    def at_most(self, other: Operand) -> "Value":
        return self.graph.op("Min", self, other)

    def cast(self, kind: int) -> "Value":
        return self if kind == self.kind else self.graph.op("Cast", self, kind=kind, to=kind)

    def reshape(self, *shape: "int | Value") -> "Value":
        """The same numbers in another shape; −1 is what remains."""
        zeros = int(-1 not in [size for size in shape if isinstance(size, int)])  # lengths of 0
        return self.graph.op("Reshape", self, self.graph.shape(*shape), allowzero=zeros)

    def transpose(self, *order: int) -> "Value":
        return self.graph.op("Transpose", self, perm=list(order))

    def gather(self, places: Operand, axis: int = 0) -> "Value":
        return self.graph.op("Gather", self, places, axis=axis)

    def sum(self, *axes: int, keep: bool = False) -> "Value":
        return self.graph.op("ReduceSum", self, list(axes), keepdims=int(keep))

    def slice(
        self, axis: int, start: Operand = 0, end: Operand = TO_THE_END, step: int = 1
    ) -> "Value":
        """Every ``step``-th from ``start`` to before ``end`` along an axis."""
        bounds = [[b] if isinstance(b, int) else b for b in (start, end)]
        return self.graph.op("Slice", self, *bounds, [axis], [step])

    def size(self, axis: int) -> "Value":
        """The length of an axis, of shape (1,)."""
        return self.graph.op("Shape", self, kind=INT64, start=axis, end=axis + 1)


class Graph:
    """Nodes, constants, inputs and outputs of a graph that is being written."""

    def __init__(self) -> None:
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], onnx.TensorProto] = {}
        self._values: dict[tuple[str, ...], Value] = {}
        self._n_names = 0

    def input(self, name: str, kind: int, shape: Sequence[int | str]) -> Value:
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return Value(self, name, kind)

    def output(self, name: str, value: Value, shape: Sequence[int | None]) -> None:
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, value.kind, list(shape)))

    def op(
        self, operator: str, *inputs: "Operand | None", kind: int | None = None, **how: Attribute
    ) -> Value:
        """An operator with one output, of the type of its first value unless given.

        The same one is computed once.
        """
        like = next((one.kind for one in inputs if isinstance(one, Value)), FLOAT)
        names = ["" if one is None else self._operand(one, like).name for one in inputs]
        key = operator, *names, str(how)
        if key not in self._values:
            self._values[key] = Value(self, self._new_name(), like if kind is None else kind)
            self._add(operator, names, [self._values[key].name], how)
        return self._values[key]

    def sorted(self, values: Value) -> tuple[Value, Value]:
        """The numbers of an array (n,), ascending, and their places."""
        operands = [values, values.size(0)]
        names = [self._new_name(), self._new_name()]
        self._add("TopK", [v.name for v in operands], names, {"largest": 0, "axis": 0})
        return Value(self, names[0], values.kind), Value(self, names[1], INT64)

    def count(self, codes: Value, n: "int | Value") -> Value:
        """How often each number below n occurs in codes (m,) int64, (n,) float32."""
        ones = self.op("Expand", np.ones(1, np.float32), codes.size(0))
        return self.op("ScatterElements", self.zeros(n), codes, ones, reduction="add", kind=FLOAT)

    def constant(self, array: np.ndarray) -> Value:
        """An array that is known; the same one is stored once."""
        array = np.array(array, order="C")
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._constants:
            array = array.astype(object) if array.dtype.kind == "U" else array
            self._constants[key] = numpy_helper.from_array(array, self._new_name())
        return Value(self, self._constants[key].name, self._constants[key].data_type)

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        if len(values) == 1:
            return values[0]
        return self.op("Concat", *values, axis=axis)

    def shape(self, *sizes: "int | Value") -> Value:
        """A shape, of whole numbers and of values of shape (1,)."""
        if all(isinstance(size, int) for size in sizes):
            return self.constant(np.array(sizes, np.int64))
        parts = [s if isinstance(s, Value) else self.constant(np.array([s])) for s in sizes]
        return self.concat(parts, 0)

    def zeros(self, *sizes: "int | Value") -> Value:
        zero = helper.make_tensor("zero", FLOAT, [1], [0.0])
        return self.op("ConstantOfShape", self.shape(*sizes), kind=FLOAT, value=zero)

    def range(self, n: Value) -> Value:
        """0, 1, … n − 1 for n of shape (1,), int64."""
        last = self.op("Squeeze", n)
        return self.op("Range", np.array(0), last, np.array(1), kind=INT64)

    def where(self, condition: Value, then: Operand, otherwise: Operand) -> Value:
        kind = next((v.kind for v in (then, otherwise) if isinstance(v, Value)), FLOAT)
        branches = [self._operand(branch, kind) for branch in (then, otherwise)]
        return self.op("Where", condition, *branches, kind=kind)

    def conv(
        self,
        image: Value,
        kernel: np.ndarray,
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
    ) -> Value:
        """Correlate images (n, channels, h, w) with kernels (outputs, channels, y, x)."""
        return self.op("Conv", image, kernel.astype(np.float32), strides=strides, pads=pads)

    def either(
        self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]
    ) -> Value:
        """What one of two functions computes, as a condition of shape (1,) decides at run time."""
        condition = self.op("Squeeze", condition)
        branch, kinds = self._inner([], lambda: [then()])
        other, _ = self._inner([], lambda: [otherwise()])
        return self.op("If", condition, kind=kinds[0], then_branch=branch, else_branch=other)

    def scan(
        self, states: Sequence[Value], rows: Sequence[Value], step: Callable[..., list[Value]]
    ) -> list[Value]:
        """The last states, and stacks of what every step makes beside them.

        ``step`` is given the states and the next row of every array, and gives the next states,
        then what is stacked.
        """
        given = [Value(self, self._new_name(), value.kind) for value in (*states, *rows)]
        body, kinds = self._inner(given, lambda: step(*given))
        found = [Value(self, self._new_name(), kind) for kind in kinds]
        inputs, outputs = ([v.name for v in values] for values in ((*states, *rows), found))
        self._add("Scan", inputs, outputs, {"body": body, "num_scan_inputs": len(rows)})
        return found

    def model(self, name: str, metadata: dict[str, str]) -> onnx.ModelProto:
        """The finished model, checked."""
        graph = helper.make_graph(
            self._nodes, name, self.inputs, self.outputs, list(self._constants.values())
        )
        found = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="visualwords",
        )
        helper.set_model_props(found, metadata)
        onnx.checker.check_model(found)
        return found

    def _inner(
        self, inputs: Sequence[Value], compute: Callable[[], list[Value]]
    ) -> tuple[onnx.GraphProto, list[int]]:
        """A graph inside of this one, and the types of its outputs."""
        outside, known, self._nodes = self._nodes, self._values.copy(), []
        found = [self.op("Identity", value) for value in compute()]
        taken, given = (
            [helper.make_tensor_value_info(v.name, v.kind, None) for v in values]
            for values in (inputs, found)
        )
        graph = helper.make_graph(self._nodes, self._new_name(), taken, given)
        self._nodes, self._values = outside, known
        return graph, [value.kind for value in found]

    def _add(
        self, operator: str, inputs: list[str], outputs: list[str], how: Mapping[str, Attribute]
    ) -> None:
        node = helper.make_node(operator, inputs, outputs)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in how.items())
        self._nodes.append(node)

    def _operand(self, given: Operand, kind: int) -> Value:
        if isinstance(given, Value):
            return given
        if isinstance(given, np.ndarray):
            return self.constant(given)
        if isinstance(given, list | tuple):
            return self.constant(np.array(given, np.int64))
        return self.constant(np.array(given, helper.tensor_dtype_to_np_dtype(kind)))

    def _new_name(self) -> str:
        self._n_names += 1
        return f"v{self._n_names}"  # files of many nodes are mostly names
