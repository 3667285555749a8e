"""Computed values of NumPy's default dtypes where a Slang function wants floats: converted, as arrays are on upload.

A call by itself takes the NumPy array that an earlier call or operator has made, and converts it on upload. Inside a trace such a
value is computed from arrays of the host alone. Integers become floats; they do not become smaller integers, since nobody could
check their range.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import PrecisionWarning
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.narrowing import DEFAULTS
from fusepy.ir.oracle import OUT
from fusepy.ir.types import DOUBLE, FLOAT, HALF
from fusepy.location import warn_once
from fusepy.trace.open_trace import OpenTrace

_TEXT = (
    "values of float64 or int64 that are computed from NumPy arrays are converted to float or half, since Slang takes nothing"
    " else here; make the arrays so with .astype(np.float32), or refuse such values with .strict()"
)


def softened(
    trace: OpenTrace, alias: str, function: str, operands: Sequence[Value], said: Sequence[ArgMap], loc: str | None
) -> list[Value] | None:
    """Returns the operands of a call with such values as floats, and warns; ``None`` if there are none.

    Args:
        said: the parts of the maps that the user has written at this call: a type there stays as it is.
    """
    if trace.strict:
        return None
    inputs = [[p.type for p in s.params if p.direction != OUT] for s in trace.oracle.declared(alias, function)]
    found = list(operands)
    for i, (value, map) in enumerate(zip(operands, said)):
        scalar = value.type.scalar
        if not may_soften(value) or map.type is not None or not is_of_host(trace, value):
            continue
        wanted = {type and type.scalar for types in inputs if i < len(types) for type in types[i : i + 1]}
        if scalar is DOUBLE or all(type is not None and type.is_float for type in wanted):
            found[i] = trace.cast(value, value.type.with_scalar(HALF if wanted == {HALF} else FLOAT), UNSAID, loc)
    if found == list(operands):
        return None
    warn_once(_TEXT, PrecisionWarning)
    return found


def may_soften(value: Value) -> bool:
    """True for a computed value of one of NumPy's default dtypes."""
    return value.name is None and value.type.scalar in DEFAULTS


def is_of_host(trace: OpenTrace, value: Value) -> bool:
    """True if a value is computed from arrays of the host, numbers and generators alone: an eager call has an array there."""
    producer = {result: node for around in trace.chain for node in around.builder.nodes for result in node.results}
    seen, stack = set[Value](), [value]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        node, outside = producer.get(one), behind(trace, one)
        if node is not None:
            stack += node.operands
        elif outside is not None:
            stack.append(outside)
        elif not (one.copied or one.weak or one.arrival.plain or one.arrival.generated):
            return False
    return any(one.copied for one in seen)


def behind(trace: OpenTrace, value: Value) -> Value | None:
    """Returns the value of a surrounding trace of which a body has this one."""
    for around in trace.chain:
        found = around.behind(value)
        if found is not None:
            return found[1]
    return None
