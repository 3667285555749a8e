"""Values of structs and arrays, member by member: what an operation on numbers means for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.ops import OPS
from fusepy.ir.oracle import parts
from fusepy.ir.types import Kind
from fusepy.location import user_line
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

MEMBERS = 64  # each is an operation of its own
_PLAIN = (Kind.SCALAR, Kind.VECTOR, Kind.MATRIX, Kind.ARRAY, Kind.NAMED)


def by_member(trace: Trace, values: Sequence[Traced], record: Callable[[Sequence[Traced]], Traced]) -> Traced | None:
    """Records an operation for each member of structs or element of arrays of one type, and the value of all its results.

    Args:
        record: takes the members of one name, one of each of `values`.

    Returns:
        ``None`` if the members are not known, or too many.
    """
    type, array = values[0].type, values[0].type.kind is Kind.ARRAY
    found = parts(trace.oracle, type)
    if not found or len(found) > MEMBERS or any(p.type is None or p.type.kind not in _PLAIN for p in found):
        return None
    made: list[Value] = []
    for part in found:
        made.append(trace.lift(record([_member(trace, value, part.name, array) for value in values])))
    maps = [ArgMap(tuple(range(each.rank))) for each in made]
    loc = user_line()
    attrs = {"type": type.name, "fields": tuple(p.name for p in found), "path": "accumulate"}
    (whole,) = trace.builder.add(OPS["struct"], made, maps, attrs, loc)
    return Traced(trace, whole, loc)


def _member(trace: Trace, value: Traced, name: str, array: bool) -> Traced:
    return trace.record("index", [value, int(name)]) if array else trace.record("member", [value], {"name": name})
