"""Numbers of an axis as components of vectors, where a value cannot be computed on vectors: sums with one term that is not 0."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import shaped
from fusepy.ir.types import BOOL, Type
from fusepy.trace.moves.extents import TraceShapes
from fusepy.trace.open_trace import OpenTrace

Part = tuple[Value, ArgMap]
Attrs = Mapping[str, Attr]


def collected(trace: OpenTrace, value: Value, type: Type, loc: str | None) -> Value:
    """Records the vectors or matrices that the last axes of an array of numbers hold."""
    outer = value.rank - len(type.shape)
    counts = [TraceShapes(trace).numbers(n) for n in type.shape]
    zero = _zero(trace, value, loc)
    parts: list[Part] = []
    for place in itertools.product(*map(range, type.shape)):
        part = value
        for axis, k in enumerate(place):
            part = _at(trace, part, counts[axis], outer + axis, k, zero, loc)
        parts.append((part, own(value.rank)))
    whole = shaped(parts[0][0].type, type.shape)
    (each,) = add(trace, "construct", parts, {"type": whole.name}, loc)
    axes = tuple(f"d{d}" for d in range(outer, value.rank))
    (made,) = add(trace, "reduce", [(each, own(value.rank))], {"kind": "sum", "axes": axes}, loc)
    return as_type(trace, made, type, loc)


def elements_of(trace: OpenTrace, value: Value, count: int, loc: str | None) -> list[Value]:
    """Records the elements along the last axis of an array of numbers, each by itself."""
    rank, numbers = value.rank, TraceShapes(trace).numbers(count)
    zero = _zero(trace, value, loc)
    found: list[Value] = []
    for k in range(count):
        each = _at(trace, value, numbers, rank - 1, k, zero, loc)
        (made,) = add(trace, "reduce", [(each, own(rank))], {"kind": "sum", "axes": (f"d{rank - 1}",)}, loc)
        found.append(as_type(trace, made, value.type, loc))
    return found


def add(
    trace: OpenTrace, op: str, parts: Sequence[Part], attrs: Attrs | None = None, loc: str | None = None
) -> tuple[Value, ...]:
    """Records a node of operands with their maps."""
    return trace.builder.add(OPS[op], [v for v, _ in parts], [m for _, m in parts], attrs, loc)


def number(trace: OpenTrace, value: float, type: str, loc: str | None) -> Value:
    """Records a Python number."""
    return add(trace, "const", [], {"type": type, "value": value}, loc)[0]


def as_type(trace: OpenTrace, value: Value, type: Type, loc: str | None) -> Value:
    """Records a value converted to a type, if it has another one."""
    return value if value.type is type else add(trace, "cast", [(value, own(value.rank))], {"type": type.name}, loc)[0]


def own(rank: int) -> ArgMap:
    """Returns the map of a value over its own axes."""
    return ArgMap.identity(rank)


def _zero(trace: OpenTrace, value: Value, loc: str | None) -> Value:
    """Records -0.0, the neutral element of sums: with 0.0 a sum loses the sign of -0.0."""
    type = value.type if value.type is not BOOL else Type.parse("int")
    return number(trace, -0.0 if type.is_float else 0, type.name, loc)


def _at(trace: OpenTrace, value: Value, numbers: Value, axis: int, k: int, zero: Value, loc: str | None) -> Value:
    """Records the numbers at place `k` of an axis, and 0 at its other places."""
    (test,) = add(trace, "eq", [(numbers, ArgMap((0,))), (number(trace, k, "int", loc), ArgMap(()))], loc=loc)
    return add(trace, "select", [(test, ArgMap((axis,))), (value, own(value.rank)), (zero, ArgMap(()))], loc=loc)[0]
