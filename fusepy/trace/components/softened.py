"""Computed values of NumPy's default dtypes where a Slang function wants smaller types: converted, as arrays are on upload.

A call by itself takes the NumPy array that an earlier call or operator has made, and converts it on upload. Inside a trace such a
value is computed from arrays of the host alone, and converted in the kernel. There nobody can check the range of an integer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fusepy.errors import AmbiguousCallError, NoMatchError, PrecisionWarning, ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.arrivals import TENSOR
from fusepy.ir.graph import Value
from fusepy.ir.narrowing import DEFAULTS
from fusepy.ir.types import AS_ONE, BOOL, DOUBLE, FLOAT, HALF, INT, Type
from fusepy.location import warn_once
from fusepy.trace.open_trace import OpenTrace

_TEXT = (
    "values of float64 or int64 that are computed from NumPy arrays are converted to {}, since Slang takes nothing else here;"
    " make the arrays so with {}, or refuse such values with .strict()"
)
_UNCHECKED = "; integers that do not fit lose their high bits, since a kernel cannot check them"
_OF_INTEGERS = ("add", "sub", "mul", "floordiv", "mod", "pow", "neg", "abs")
_LONG = Type.parse("int64_t")
Maps = Callable[[Sequence[Value], Sequence[ArgMap]], Sequence[ArgMap]]


def softened(
    trace: OpenTrace,
    inputs: Sequence[Sequence[Type | None]],
    operands: Sequence[Value],
    said: Sequence[ArgMap],
    resolve: Maps,
    loc: str | None,
) -> list[Value] | None:
    """Returns the operands of a call with such values in smaller types, and warns; ``None`` if there are none.

    Args:
        inputs: for each overload the types of its parameters.
        said: the parts of the maps that the user has written at this call: a type there stays as it is.
        resolve: returns the maps of the call with such operands.
    """
    if trace.strict:
        return None
    soft = [i for i, (v, m) in enumerate(zip(operands, said)) if m.type is None and may_soften(trace, v) and is_of_host(trace, v)]
    wanted = {i: {type and type.scalar for types in inputs for type in types[i : i + 1]} for i in soft}
    to: dict[int, Type] = {i: HALF if wanted[i] == {HALF} else FLOAT for i in soft if operands[i].type.scalar is DOUBLE}
    found = list(operands)

    def convert(types: dict[int, Type]) -> None:
        for i, type in types.items():
            found[i] = trace.cast(operands[i], operands[i].type.with_scalar(type), UNSAID, loc)

    convert(to)
    left = [i for i in soft if i not in to]
    integers = _integers(trace, found, left, [trace.maps.get(v, UNSAID).under(m) for v, m in zip(found, said)], resolve)
    if integers is None:  # as floats, where each overload takes these
        floats = [i for i in left if all(type is not None and type.is_float for type in wanted[i])]
        integers = {i: HALF if wanted[i] == {HALF} else FLOAT for i in floats}
    convert(integers)
    types = sorted({*to.values(), *integers.values()}, key=str)
    if not types:
        return None
    text = _TEXT.format(" and ".join(map(str, types)), " or ".join(f".astype(np.{type.dtype})" for type in types))
    warn_once(text + (_UNCHECKED if not all(type.is_float for type in types) else ""), PrecisionWarning)
    return found


def _integers(
    trace: OpenTrace, operands: Sequence[Value], places: Sequence[int], maps: Sequence[ArgMap], resolve: Maps
) -> dict[int, Type] | None:
    """Returns the scalars as which a call would take arrays of NumPy in place of some operands; ``None`` if it would not."""
    offered = list(operands)
    for i in places:
        value = operands[i]
        scalar = value.type.scalar
        assert scalar is not None
        scalar = _LONG if scalar is INT else scalar
        dims = value.dims if trace.body else trace.grouping.tail(value)
        offered[i] = Value(scalar, (*dims, *value.type.shape), arrival=TENSOR, name="x", copied=True)
    try:
        answers = resolve(offered, maps) if places else ()
    except (NoMatchError, ShapeError, AmbiguousCallError):
        return None
    found: dict[int, Type] = {}
    for i in places:
        want = answers[i].type
        held = want.element if want is not None and want.kind in AS_ONE else want
        if held is not None and held.scalar is not None:
            found[i] = held.scalar
    return found


def may_soften(trace: OpenTrace, value: Value) -> bool:
    """True for a value of one of NumPy's default dtypes that is computed, in this trace or by `lazy` before, without a vcast."""
    known = value.type.scalar in DEFAULTS or counts_bools(trace, value)
    return known and not is_told(trace, value) and (value.name is None or is_hosted(trace, value))


def counts_bools(trace: OpenTrace, value: Value) -> bool:
    """True for results of operators on bools and Python integers: an ``int``, and NumPy's default integer call by call."""
    node = next((n for around in trace.chain for n in around.builder.nodes if value in n.results), None)
    if value.type is not INT or value.weak or node is None or node.op.name not in _OF_INTEGERS:
        return False
    kinds = ["weak" if v.weak else "bool" if v.type is BOOL else "" if counts_bools(trace, v) else "other" for v in node.operands]
    return "other" not in kinds and kinds != ["bool"] * len(kinds)  # operators of two bools give NumPy's bools


def is_hosted(trace: OpenTrace, value: Value) -> bool:
    """True for a result of `lazy` that stands for an array of the host."""
    hosted = trace.chain[-1].hosted
    outside = behind(trace, value) if hosted else None
    return value in hosted or (outside is not None and is_hosted(trace, outside))


def is_told(trace: OpenTrace, value: Value) -> bool:
    """True for the result of a vcast, which has its type for good."""
    outside = behind(trace, value)
    return any(value in around.told for around in trace.chain) or (outside is not None and is_told(trace, outside))


def is_of_host(trace: OpenTrace, value: Value) -> bool:
    """True if a value is computed from arrays of the host, numbers and generators alone: an eager call has an array there."""
    hosted = trace.chain[-1].hosted
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
        elif not (one.copied or one.weak or one.arrival.plain or one.arrival.generated or one in hosted):
            return False
    return any(one.copied or one in hosted for one in seen)


def behind(trace: OpenTrace, value: Value) -> Value | None:
    """Returns the value of a surrounding trace of which a body has this one."""
    for around in trace.chain:
        found = around.behind(value)
        if found is not None:
            return found[1]
    return None
