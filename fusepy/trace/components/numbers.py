"""Integers that a fused function computes of Python's numbers, which do not wrap.

What is computed of numbers of the call, each call computes in Python: it has the value and the type that the same words have call
by call, is refused where it does not fit, and kernels take it as they take arguments. What is computed of results of kernels has
64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import WORD
from fusepy.ir.graph import Attr, Graph, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.arithmetic import COMPARISONS
from fusepy.ir.ops.promotion import of_numbers, type_of_number
from fusepy.ir.types import BOOL, INT, INT64, UINT, UINT64, Kind, Type
from fusepy.trace.components.checks import GROWS, check_growth, comparable, is_carried, root_of
from fusepy.trace.components.integers import MEANINGS, TESTS, NumberTest, NumberView, Operand, Place, places_of
from fusepy.trace.inputs import add_input
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.traced import Traced

LONGEST_NAME = 40
# integers of less than 64 bits, and the bits that their numbers take with a sign
SHORT = {Type.parse(f"{sign}int{bits}_t"): bits + (sign == "u") for sign in ("", "u") for bits in (8, 16, 32)}
ON_NUMBERS = frozenset((*MEANINGS, *COMPARISONS))
Known = tuple[OpenTrace | None, Operand]


def recorded(
    trace: OpenTrace,
    op: str,
    values: Sequence[Value],
    maps: Sequence[ArgMap],
    attrs: Mapping[str, Attr] | None,
    loc: str | None,
) -> tuple[Value, ...]:
    """Records an operation, perhaps on Python's numbers alone, and returns its result."""
    found = _computed_by_call(trace, op, values)
    if found is not None:
        return (found,)
    given = _wide(trace, op, values, maps, loc)
    if op in COMPARISONS:
        given = comparable(trace, given, maps, loc)
    elif trace.body or op == "select" or given[0].arrival.word or given[-1].arrival.word:
        given = _beside_flags(trace, op, given, loc)
    made = trace.builder.add(OPS[op], given, maps, attrs, loc)
    word(made[0], given)
    if op in GROWS and made[0].weak and made[0].type in (INT64, UINT64):
        check_growth(trace, op, given, made[0], loc)
    return made


def _beside_flags(trace: OpenTrace, op: str, values: Sequence[Value], loc: str | None) -> Sequence[Value]:
    """Returns the operands with numbers as the integers that they stand for where flags or a choice take their type."""
    first = int(op == "select")
    strong = {v.type.scalar for v in values[first:] if not v.weak}
    if strong - {BOOL} or all(v.weak for v in values):
        return values
    return [*values[:first], *(as_integer(trace, v, loc) for v in values[first:])]


def as_integer(trace: OpenTrace, value: Value, loc: str | None) -> Value:
    """Returns a number of 64 bits that stands for an integer of 32 bits with 32 bits; other values as they are."""
    _, root = root_of(trace, value)
    return trace.builder.add(OPS["construct"], [value], None, {"type": INT.name}, loc)[0] if root.arrival.word else value


def word(result: Value, values: Sequence[Value]) -> None:
    """Marks a result of 64 bits as computed from numbers of 32 bits."""
    if result.weak and result.type is INT64 and all(v.type is not INT64 or v.arrival.word for v in values):
        result.arrival = WORD


def wide(trace: OpenTrace, value: Value, said: ArgMap, loc: str | None) -> Value:
    """Returns a short integer that is a Python number, or a list of them, with 64 bits; every other value itself."""
    if said.dims is not None or value.type not in SHORT or not of_numbers([value]):
        return value
    (made,) = trace.builder.add(OPS["construct"], [value], None, {"type": INT64.name}, loc)
    made.arrival = WORD
    trace.moves.bits[made] = SHORT[value.type]
    return made


def wide_if_alone(trace: OpenTrace, values: Sequence[Value], maps: Sequence[ArgMap], loc: str | None) -> Sequence[Value]:
    """Returns operands as `wide` does if all are Python numbers: beside an array, numbers take its type."""
    return [wide(trace, v, m, loc) for v, m in zip(values, maps)] if of_numbers(values) else values


def _wide(trace: OpenTrace, op: str, values: Sequence[Value], maps: Sequence[ArgMap], loc: str | None) -> Sequence[Value]:
    """Returns the operands with 64 bits in the place of 32 where the result may need them."""
    numbers = values[1:] if op == "select" else values
    if not of_numbers(numbers) or any(v.type.kind is not Kind.SCALAR or v.type.is_float for v in numbers):
        return values
    types = {v.type for v in numbers}
    if UINT64 in types or not (types & SHORT.keys() if op in GROWS else UINT in types and len(types) > 1):
        return values
    if op == "pow":
        numbers = values[:1]  # an exponent stays one of the call, which is checked
    if any(is_carried(trace, v) for v in numbers):
        return [as_integer(trace, v, loc) for v in values]
    found = [wide(trace, v, m, loc) if v in numbers else v for v, m in zip(values, maps)]
    return values if all(a is b for a, b in zip(found, values)) else found


def _computed_by_call(trace: OpenTrace, op: str, values: Sequence[Value]) -> Value | None:
    """Returns the result of an operation on integers of the call and of the program: a constant, or an input that each call
    computes. ``None`` for other operands.
    """
    if op not in MEANINGS or not any(v.type.dtype is not None and v.type.dtype.kind in "iu" for v in values):
        return None
    return _of_call(trace, op, [_test(trace, v) if op == "select" and not i else _known(trace, v) for i, v in enumerate(values)])


def folded(trace: OpenTrace, op: str, values: Sequence[Value]) -> Value | None:
    """Returns what an operation makes of a list of integers of the call and of the program, as `_computed_by_call` does."""
    found: Value | None = values[0] if values else None
    for value in values[1:]:
        found = None if found is None else _computed_by_call(trace, op, [found, value])
    return found if len(values) > 1 else None


def chosen_number(trace: OpenTrace, test: Value, branches: Sequence[tuple[OpenTrace, Value]]) -> Value | None:
    """Returns the integer that a branch on numbers of the call gives, if each call can compute it as `_computed_by_call` does.

    Args:
        branches: the two results, each with the trace that has it.
    """
    if any(v.type.dtype is None or v.type.dtype.kind not in "iu" for _, v in branches):
        return None
    return _of_call(trace, "select", [_test(trace, test), *(_known(*branch) for branch in branches)])


def _of_call(trace: OpenTrace, op: str, known: Sequence[Known | None]) -> Value | None:
    """Returns the result of an operation on numbers as `_known` and `_test` give them; ``None`` if one is not known."""
    operands = [found[1] for found in known if found is not None]
    if len(operands) < len(known):
        return None
    owner = next((found[0] for found in known if found is not None and found[0] is not None), None)
    view = NumberView(next(places_of(operands), 0), op, tuple(operands))
    if owner is None:
        number = view.within(int)
        type = type_of_number(number)
        return trace.builder.add(OPS["const"], [], attrs={"type": type.name, "value": number})[0]
    made = _input(owner, view)
    return made if owner is trace else trace.lift(Traced(owner, made, None))


def _known(trace: OpenTrace, value: Value, floats: bool = False) -> Known | None:
    """Returns an integer or flag of the program, or its place among the inputs of a trace, and this trace; else ``None``.

    Args:
        floats: also a float.
    """
    if not value.weak or value.type.kind is not Kind.SCALAR or value.type.is_float > floats:
        return None
    if value.arrival.literal:
        maker = trace.grouping.extents.maker(value)
        number = None if maker is None else maker.attrs.get("value")
        if maker is None or not isinstance(number, (int, float)):
            return None
        if floats and "numpy" in maker.attrs:  # to be compared
            return None, np.dtype(maker.text("numpy")).type(number)
        return None, number if value.type.is_float else int(number)
    trace, value = root_of(trace, value)
    if value not in trace.given or not value.arrival.plain or value in trace.maps:
        return None
    return trace, Place(trace.given[value][0])


def _test(trace: OpenTrace, value: Value) -> Known | None:
    """Returns a condition as `_known` does: a flag of the call, or a comparison of its numbers; else ``None``."""
    trace, value = root_of(trace, value)
    maker = None if value.type is not BOOL or value.arrival.literal else trace.grouping.extents.maker(value)
    if maker is None:
        return _known(trace, value) if value.type is BOOL else None
    if maker.op.name not in TESTS:
        return None
    compares = maker.op.name in COMPARISONS
    found = [_known(trace, v, floats=True) if compares else _test(trace, v) for v in maker.operands]
    operands = [one[1] for one in found if one is not None]
    owner = next((one[0] for one in found if one is not None and one[0] is not None), None)
    return (
        (owner, NumberTest(maker.op.name, tuple(operands), tuple(map(type, operands)))) if len(operands) == len(found) else None
    )


def _input(trace: OpenTrace, view: NumberView) -> Value:
    """Returns the input for an integer that each call computes."""
    known = trace.moves.numbers
    if view not in known:
        given = dict(trace.given.values())
        number = view.within(given.__getitem__)
        made = known[view] = add_input(trace, _name(trace, view), number)
        trace.captures.append(view)
        trace.given[made] = len(trace.builder.inputs) - 1, number
    return known[view]


def _name(trace: OpenTrace, view: NumberView) -> str:
    """Returns the name that errors and kernels have for a computed integer: ``n_mul_n``."""
    inputs = trace.builder.inputs
    given = [o for o in view.operands if not isinstance(o, NumberTest)]
    names = [str(inputs[o.at].name).replace(".", "_") if isinstance(o, Place) else str(abs(o)) for o in given]
    found = "_".join([*names[:1], view.op, *names[1:]])
    return found if len(found) < LONGEST_NAME and found.isidentifier() else "number"


def types_of_numbers(trace: OpenTrace, graph: Graph) -> dict[int, Type]:
    """Returns the types of the computed integers that a graph uses: the program runs for calls whose integers have the same."""
    first = len(graph.inputs) - len(trace.captures)
    found = {i: graph.inputs[i] for i, known in enumerate(trace.captures, first) if isinstance(known, NumberView)}
    used = {v for node in graph.nodes for v in node.operands}.union(graph.outputs) if found else ()
    return {i: value.type for i, value in found.items() if value in used}
