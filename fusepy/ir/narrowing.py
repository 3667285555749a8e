"""NumPy's default dtypes where Slang wants a smaller one: ``float64`` as ``float``, ``int64`` as ``int`` or ``float``.

NumPy makes arrays of these by default, so users seldom mean them. If no parameter takes such an array as it is, the call is
resolved again as if the array had the parameter's type, and the array is converted on upload: first integers to integers and
floats to floats, then integers to floats too. Other dtypes, and arrays on a device, are never converted.
"""

from __future__ import annotations

from enum import IntEnum

from fusepy.ir.graph import Graph, Value
from fusepy.ir.oracle import INOUT, Oracle, Param
from fusepy.ir.types import Kind, Type
from fusepy.ir.whole import writes


class Narrowing(IntEnum):
    """The types that arrays of the default dtypes are narrowed to."""

    NONE = 0
    KIND = 1  # integers to integers, floats to floats
    ANY = 2  # integers to floats too


DEFAULTS = (Type.parse("double"), Type.parse("int64_t"))


def is_default(value: Value) -> bool:
    """True if `value` is an array that every call uploads, of a dtype that NumPy makes by default."""
    return value.copied and value.arrival.tensor and value.type in DEFAULTS


def is_narrower(type: Type, than: Type, how: Narrowing = Narrowing.ANY) -> bool:
    """True if a scalar type is smaller than another, so that arrays of the other are converted to it.

    Example:
        >>> double, integer = DEFAULTS
        >>> is_narrower(Type.parse("float"), double), is_narrower(Type.parse("int"), double)
        (True, False)
        >>> is_narrower(Type.parse("float"), integer), is_narrower(Type.parse("float"), integer, Narrowing.KIND)
        (True, False)
    """
    have, want = than.dtype, type.dtype
    if type is than or have is None or want is None:
        return False
    if have.kind == "f" or want.kind == "f":
        return want.kind == "f" and (have.kind == "f" or how is Narrowing.ANY)
    return want.kind in "iu"


def narrowed(value: Value, param: Param, how: Narrowing = Narrowing.ANY) -> Value:
    """Returns `value` with the scalar type that `param` wants, if it can be narrowed to it; else `value` itself."""
    want = param.type
    if want is None or not is_default(value) or param.direction == INOUT or (want.kind is Kind.WHOLE and writes(want)):
        return value
    inner = want.optional or want
    scalar = inner.scalar
    if inner.kind in (Kind.POINTER, Kind.WHOLE) and inner.element is not None:
        scalar = inner.element.scalar
    if scalar is None or not is_narrower(scalar, value.type, how):
        return value
    return Value(scalar, value.dims, arrival=value.arrival, name=value.name, copied=True, viewed=value.viewed)


def narrowed_uses(graph: Graph, oracle: Oracle) -> dict[Value, list[Type]]:
    """Returns the inputs that are narrowed on upload, each with the scalars that calls take it as."""
    uses: dict[Value, list[Type]] = {}
    for node in graph.nodes:
        # the maps of a loop or branch have the types that calls in its bodies take
        loops = node.op.nests and node.op.name != "region"
        defaults = [(i, v) for i, v in enumerate(node.operands) if is_default(v) and (node.maps[i].type is None) is not loops]
        answer = node.op.resolution(node, oracle) if defaults else None
        if answer is None and not loops:
            continue
        for i, value in defaults:
            want = (node if answer is None else answer).maps[i].type
            if want is None:
                continue
            element = want.element if want.kind in (Kind.POINTER, Kind.WHOLE) else want.optional or want
            scalar = None if element is None else element.scalar
            if scalar is not None and is_narrower(scalar, value.type) and scalar not in uses.setdefault(value, []):
                uses[value].append(scalar)
    return {value: types for value, types in uses.items() if types}
