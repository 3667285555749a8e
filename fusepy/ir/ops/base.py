"""Shared parts of operations: componentwise operations, and conversions between types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fusepy.errors import ShapeError, TraceError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import NAMED
from fusepy.ir.graph import Attr, Node, Op, grid_rank
from fusepy.ir.narrowing import is_default
from fusepy.ir.types import BOOL, DOUBLE, INT, UINT, Kind, Type, pair_of
from fusepy.ir.value import Array, Value, is_stored


class Componentwise(Op):
    """An operation on each component by itself. On a matrix it is emitted row by row."""

    def expression(self, node: Node, args: Sequence[str]) -> str:
        return by_rows(node, args, self.by_component)

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        """Returns the Slang expression for scalars and vectors."""
        raise NotImplementedError


def with_attrs(node: Node, **attrs: Attr) -> Node:
    """Returns a node with further attributes."""
    return Node(node.op, node.operands, node.maps, node.results, {**node.attrs, **attrs}, node.loc, node.bodies)


def filled_axes(value: Value, want: Type | None) -> int:
    """Returns the number of trailing axes of `value` that become components of a loaded `want`; ``None`` is an element."""
    if want is not None and want.kind is Kind.RESOURCE:
        return value.rank
    if want is not None and value.arrival.paired:
        want = pair_of(want) or want
    if want is not None and want.kind is Kind.WHOLE and is_stored(value):
        return value.rank
    if want is None or want is value.type or not value.arrival.memory or not value.rank:
        return 0
    if want.kind in (Kind.POINTER, Kind.WHOLE):
        return value.rank
    if want.kind is Kind.ARRAY:
        return want.fills(value.type) or (len(want.shape) if value.weak or is_default(value) else 0)
    return len(want.shape) if value.type.kind is Kind.SCALAR and want.is_numeric else 0


def computed(node: Node, type: Type, weak: bool = False, rank: int | None = None) -> Value:
    """Returns a result value spread over the node's grid, whose rank is `rank` if operands load more than their elements.

    Raises:
        ShapeError: if no operand runs along a grid dimension, which then has no extent.
    """
    rank = grid_rank(node) if rank is None else rank
    batch = [v.rank - filled_axes(v, m.type) for v, m in zip(node.operands, node.maps)]
    maps = [m if m.is_resolved else ArgMap.aligned(n, rank) for n, m in zip(batch, node.maps)]
    missing = [f"d{d}" for d in range(rank) if not any(d in (m.dims or ()) for m in maps)]
    if missing:
        raise ShapeError(
            f"{node.op.name}: no operand runs along grid dimension {', '.join(missing)}",
            place=node.loc,
            saw=", ".join(map(str, maps)),
            hint="count grid dimensions from 0 without gaps",
        )
    return Value(type, (None,) * rank, weak=weak)


def as_named(value: Value, named: bool) -> Value:
    """Returns a vector or matrix, as one that the program makes of numbers if it is `named`."""
    if named:
        value.arrival = NAMED
    return value


def of_vectors(node: Node, made: Value) -> Value:
    """Returns the result of an operator, which is one vector of numbers if its operands are numbers and such vectors."""
    named = bool(made.type.shape) and not (made.rank or made.weak)
    return as_named(made, named and all(v.weak or v.arrival.single for v in node.operands))


def common_shape(node: Node, what: str) -> tuple[int, ...]:
    """Returns the component shape of operands that combine componentwise: their shapes are equal, scalars broadcast.

    Raises:
        TraceError: if the shapes differ; names both types.
    """
    shape: tuple[int, ...] = ()
    chosen: Type | None = None
    for operand in node.operands:
        if not operand.type.is_numeric:
            raise TraceError(
                f"{what} does not apply to a value of type {operand.type}",
                place=node.loc,
                hint="operators take scalars, vectors and matrices; call a Slang function for anything else",
            )
        if operand.type.shape:
            if chosen is not None and operand.type.shape != shape:
                raise TraceError(
                    f"{what} of {chosen} and {operand.type}",
                    place=node.loc,
                    saw=operand.type,
                    expected=chosen.with_scalar(operand.type.scalar or chosen),
                    hint="both sides need the same number of components; take some with a swizzle such as .xyz",
                )
            shape, chosen = operand.type.shape, operand.type
    return shape


def shaped(scalar: Type, shape: tuple[int, ...]) -> Type:
    """Returns the scalar, vector or matrix of this component shape."""
    if len(shape) == 2:
        return Type.matrix(scalar, *shape)
    return Type.vector(scalar, shape[0]) if shape else scalar


def components(args: Sequence[Array], types: Sequence[Type]) -> list[Array]:
    """Adds trailing axes to scalars, so that NumPy broadcasts them against vectors and matrices."""
    depth = max(len(t.shape) for t in types)
    return [a.reshape(a.shape + (1,) * (depth - len(t.shape))) for a, t in zip(args, types)]


def convert(name: str, have: Type, want: Type) -> str:
    """Returns a Slang expression that converts componentwise, or `name` itself; `name` may be written more than once."""
    if have is want:
        return name
    if want.optional is not None:
        name = convert(name, have, want.optional)
    elif want.kind is Kind.MATRIX and have.kind is Kind.MATRIX:
        rows = (convert(f"{name}[{k}]", row_of(have), row_of(want)) for k in range(want.shape[0]))
        return f"{want}({', '.join(rows)})"
    elif want.kind is Kind.MATRIX and want.scalar is not None and have.kind is Kind.SCALAR:
        name = convert(name, have, want.scalar)
    elif want.scalar is BOOL and want.is_numeric and have.scalar is DOUBLE:
        name = f"({name} != 0.0lf)"  # for bool(double) Slang writes a constant of 32 bits, not 64
        if have.kind is want.kind:
            return name
    return f"{want}({name})"


INT8 = Type.parse("int8_t")


def working(scalar: Type) -> Type:
    """Returns the scalar that integers are computed in: `int` or `uint` for those of 8 and 16 bits, as in C.

    In the small types, CUDA's compiler keeps bits that overflow until a value is stored, and has no `min` and `max`.

    Example:
        >>> working(Type.parse("uint8_t")), working(Type.parse("int64_t")), working(Type.parse("half"))
        (uint, int64_t, half)
    """
    dtype = scalar.dtype
    if dtype is None or dtype.kind not in "iu" or dtype.itemsize >= 4:
        return scalar
    return UINT if dtype.kind == "u" else INT


def construct(type: Type, parts: Iterable[str]) -> str:
    """Returns a vector or matrix of components, or rows, of its own scalar.

    Vectors of ``int8_t`` are made of integers: Slang's calls fit neither of the two CUDA functions that make them of bytes.
    """
    joined = ", ".join(parts)
    if type.kind is Kind.VECTOR and type.scalar is INT8:
        return f"{type}({type.with_scalar(INT)}({joined}))"
    return f"{type}({joined})"


def row_of(type: Type) -> Type:
    """Returns the type of a row of a matrix; every other type itself."""
    return Type.vector(type.scalar, type.shape[1]) if type.kind is Kind.MATRIX and type.scalar is not None else type


def by_rows(node: Node, args: Sequence[str], expression: Callable[[Node, Sequence[str]], str]) -> str:
    """Returns the expression of a componentwise operation, row by row if its result is a matrix.

    Slang aborts the process where floats or 64-bit integers of a matrix are compared, and writes invalid SPIR-V for most
    operators and functions on matrices of integers. All of them work on vectors.
    """
    result = node.results[0]
    if result.type.kind is not Kind.MATRIX:
        return expression(node, args)

    of = {v: Value(row_of(v.type), v.dims, weak=v.weak) for v in (*node.operands, result)}
    row = Node(node.op, tuple(of[v] for v in node.operands), node.maps, (of[result],), node.attrs, node.loc)
    rows: list[str] = []
    for k in range(result.type.shape[0]):
        parts = [f"{a}[{k}]" if v.type.kind is Kind.MATRIX else a for a, v in zip(args, node.operands)]
        rows.append(expression(row, parts))
    return f"{result.type}({', '.join(rows)})"
