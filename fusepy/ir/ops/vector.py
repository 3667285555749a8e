"""Geometry on vectors and matrices: products, lengths and normalisation; ``numbers``, vectors seen as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fusepy.errors import TraceError, VerifyError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.base import computed, construct, convert, row_of, working
from fusepy.ir.ops.promotion import of_numbers, promote
from fusepy.ir.oracle import Oracle
from fusepy.ir.resolve.hints import components_hint, is_scalar_array
from fusepy.ir.resolve.offers import describe
from fusepy.ir.types import BOOL, FLOAT, INT, Kind, Type
from fusepy.ir.value import Array


class VectorFunction(Op):
    """A function of float vectors of one length that is not componentwise.

    Args:
        arity: the number of vectors.
        keeps: True if the result is a vector like the operands, not a scalar.
    """

    def __init__(self, name: str, arity: int, numpy: Callable[..., Array], *, keeps: bool):
        self.name = name
        self.arity = arity
        self.numpy = numpy
        self.keeps = keeps

    def operand_type(self, node: Node) -> Type:
        shapes = {v.type.shape for v in node.operands}
        scalar = promote([(v.type, v.weak) for v in node.operands], node.operands)
        if scalar is None or len(shapes) != 1 or any(v.type.kind is not Kind.VECTOR for v in node.operands):
            raise TraceError(
                f"{self.name}() needs vectors of one length",
                place=node.loc,
                saw=", ".join(str(v.type) for v in node.operands),
                hint=next(
                    (components_hint(v) for v in node.operands if is_scalar_array(v)),
                    "build vectors with float3(x, y, z) or cut them with a swizzle such as .xyz",
                ),
            )
        if self.name == "cross" and shapes != {(3,)}:
            raise TraceError("cross() needs vectors of three", place=node.loc, saw=node.operands[0].type, hint="use .xyz")
        return Type.vector(scalar if scalar.is_float else FLOAT, next(iter(shapes))[0])

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        type = self.operand_type(node)
        return [computed(node, type if self.keeps else type.scalar or FLOAT, of_numbers(node.operands))]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        type = self.operand_type(node)
        with np.errstate(all="ignore"):
            return [np.asarray(self.numpy(*(a.astype(type.dtype) for a in args))).astype(type.dtype)]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        type = self.operand_type(node)
        return f"{self.name}({', '.join(convert(a, v.type, type) for a, v in zip(args, node.operands))})"


def _dot(a: Array, b: Array) -> Array:
    return np.sum(a * b, axis=-1)


def _length(x: Array) -> Array:
    return np.sqrt(np.sum(x * x, axis=-1))


def _normalize(a: Array) -> Array:
    return a / _length(a)[..., None]


def _reflect(i: Array, n: Array) -> Array:
    return i - 2 * _dot(n, i)[..., None] * n


def _say_product(a: Type, b: Type) -> str:
    """Returns the hint for a product of two types that has no meaning."""
    if not a.shape or not b.shape:
        return "write * for numbers; an array of matrices is read as such by a vcast, e.g. fp.vcast(x, 'float3x3')"
    if len(a.shape) == len(b.shape) == 1:
        return "write fp.dot(a, b) for two vectors"
    return f"the second one needs {a.shape[-1]} {'components' if len(b.shape) == 1 else 'rows'}"


class MatMul(Op):
    """``a @ b``: matrix with matrix, matrix with vector, vector with matrix."""

    name = "matmul"
    arity = 2

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        a, b = (v.type for v in node.operands)
        scalar = promote([(v.type, v.weak) for v in node.operands], node.operands)
        if scalar is None or not a.shape or not b.shape or len(a.shape) + len(b.shape) < 3 or a.shape[-1] != b.shape[0]:
            raise TraceError(
                f"operator @ of {a} and {b}",
                place=node.loc,
                expected="a matrix and a matrix or vector whose inner extents agree",
                hint=_say_product(a, b),
            )
        scalar = INT if scalar is BOOL else scalar  # as for + and *
        shape = a.shape[:-1] + b.shape[1:]
        type = Type.matrix(scalar, *shape) if len(shape) == 2 else Type.vector(scalar, shape[0])
        return [computed(node, type, of_numbers(node.operands))]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        a, b = (v.type for v in node.operands)
        left = args[0] if len(a.shape) == 2 else args[0][..., None, :]
        right = args[1] if len(b.shape) == 2 else args[1][..., :, None]
        product = np.matmul(left, right)
        if len(a.shape) == 1:
            product = product[..., 0, :]
        if len(b.shape) == 1:
            product = product[..., 0]
        return [product.astype(node.results[0].type.dtype)]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        type = node.results[0].type
        scalar = working(type.scalar or FLOAT)
        left, right = (convert(a, v.type, v.type.with_scalar(scalar)) for a, v in zip(args, node.operands))
        if scalar.dtype is not None and scalar.dtype.kind in "iu" and scalar.dtype.itemsize != 4:
            return self._by_rows(node, left, right)
        if scalar is type.scalar or type.kind is not Kind.MATRIX:
            return convert(f"mul({left}, {right})", type.with_scalar(scalar), type)
        row = row_of(type)
        return construct(
            type, (convert(f"mul({left}[{k}], {right})", row.with_scalar(scalar), row) for k in range(type.shape[0]))
        )

    def _by_rows(self, node: Node, left: str, right: str) -> str:
        """Returns the product without `mul`: for 64-bit integers Slang makes SPIR-V of it that drivers refuse."""
        a, b = (v.type for v in node.operands)

        def row(of: str) -> str:
            """Returns the product of a vector with the right operand."""
            return " + ".join(f"{of}[{k}] * {right}[{k}]" for k in range(b.shape[0]))

        if len(a.shape) == 1:
            return row(left)
        return f"{node.results[0].type}({', '.join(row(f'{left}[{i}]') for i in range(a.shape[0]))})"


class Numbers(Op):
    """A view of vectors as numbers, with the components along a last axis; nothing is computed."""

    name = "numbers"
    arity = 1
    views = True

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        value = node.operands[0]
        if value.type.kind is not Kind.VECTOR or value.type.scalar is None:
            raise VerifyError("numbers takes vectors", place=node.loc, saw=describe(value))
        return [Value(value.type.scalar, (None,) * (value.rank + 1))]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        return [args[0][..., 0, :]]  # in NumPy components are axes; the grid has one more, along which a vector does not run

    def verify(self, node: Node) -> str | None:
        return super().verify(node) or (
            None if node.maps == (ArgMap.identity(node.operands[0].rank),) else "the operand has a map"
        )


VECTOR_OPS: list[Op] = [
    Numbers(),
    VectorFunction("dot", 2, _dot, keeps=False),
    VectorFunction("cross", 2, np.cross, keeps=True),
    VectorFunction("length", 1, _length, keeps=False),
    VectorFunction("normalize", 1, _normalize, keeps=True),
    VectorFunction("reflect", 2, _reflect, keeps=True),
    MatMul(),
]
