"""NumPy's default dtypes where Slang wants a smaller one: ``float64`` as ``float``, ``int64`` as ``int`` or ``float``.

NumPy makes arrays of these unless it is told otherwise, so they say little about what is meant. Where no parameter takes such an
array as it is, the call is resolved once more as if it held what its parameter holds, and is converted as it is uploaded: first
integers as integers and floats as floats, then integers as floats too. Other dtypes, and what lies on a device, are never
converted.
"""

from __future__ import annotations

from enum import IntEnum

from fusepy.ir.graph import Graph, Value
from fusepy.ir.oracle import INOUT, Oracle, Param
from fusepy.ir.types import Kind, Type
from fusepy.ir.whole import writes


class Narrowing(IntEnum):
    """What arrays of the default dtypes are taken as."""

    NONE = 0
    KIND = 1  # less of their own kind: integers as integers, floats as floats
    ANY = 2  # integers as floats too


DEFAULTS = (Type.parse("double"), Type.parse("int64_t"))


def is_default(value: Value) -> bool:
    """Whether `value` is an array that every call uploads, of a dtype that NumPy makes by default."""
    return value.copied and value.arrival.tensor and value.type in DEFAULTS


def is_narrower(type: Type, than: Type, how: Narrowing = Narrowing.ANY) -> bool:
    """Whether a scalar holds less, so that `than` is converted to it.

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
    """`value` as if it held the numbers that `param` wants, where it can be converted to them; else the same."""
    want = param.type
    if want is None or not is_default(value) or param.direction == INOUT or (want.kind is Kind.WHOLE and writes(want)):
        return value
    inner = want.optional or want
    scalar = inner.scalar
    if inner.kind in (Kind.POINTER, Kind.WHOLE) and inner.element is not None:
        scalar = inner.element.scalar
    if scalar is None or not is_narrower(scalar, value.type, how):
        return value
    return Value(scalar, value.dims, arrival=value.arrival, name=value.name, copied=True)


def narrowed_uses(graph: Graph, oracle: Oracle) -> dict[Value, list[Type]]:
    """The inputs that are converted as they are uploaded, each with the scalars that calls take it as."""
    found: dict[Value, list[Type]] = {}
    for node in graph.nodes:
        loops = (
            node.op.nests and node.op.name != "region"
        )  # their maps say what the calls in their bodies take; casts are in these
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
            if scalar is not None and is_narrower(scalar, value.type) and scalar not in found.setdefault(value, []):
                found[value].append(scalar)
    return {value: types for value, types in found.items() if types}
