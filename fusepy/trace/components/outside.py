"""Values from outside of a function that is differentiated, which are its arguments as well: constants, as call by call.

In ``fp.grad(lambda p: fp.sum(p * x))(x)`` both names are one value of the trace. What the function takes as its argument is made
when it begins, so ``x``, which was made before, is told from ``p``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fusepy.arguments.mapped import Mapped
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.ir.graph import Value
from fusepy.ir.types import Kind
from fusepy.location import user_line
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.structure import flatten_values
from fusepy.trace.traced import Traced

_ELEMENTS = (Kind.SCALAR, Kind.VECTOR, Kind.MATRIX, Kind.ARRAY, Kind.NAMED)


def outside(trace: OpenTrace, value: Value, begun: int) -> Value:
    """Returns a value as the functions see it that are being differentiated: a constant if it is from outside.

    Args:
        begun: how many functions had begun when the user got the value.
    """
    forms = [value]
    for one in trace.moves.begun:
        if one.count > begun and not one.by.isdisjoint(forms):
            last = forms[-1]
            if last not in one.constants:
                one.constants[last] = trace.lift(_constant(trace, last, one.count))
            forms.append(one.constants[last])
    return forms[-1]


def _constant(trace: OpenTrace, value: Value, of: int) -> Traced:
    return trace.record("stop_gradient", [Traced(trace, value, user_line())], {"of": of})


def arguments(trace: OpenTrace, trees: Sequence[Any], what: str) -> list[Any]:
    """Returns the arguments by which a function is differentiated that begins now, told from the same values outside of it.

    A value that is several of them is a value of its own for each.
    """
    found: list[Any] = []
    by: set[Value] = set()
    for tree in trees:
        leaves, structure = flatten_values(tree, what)
        found.append(structure.fill([_own(trace, leaf, by) for leaf in leaves]))
    trace.moves.begun[-1].by = by
    return found


def _own(trace: OpenTrace, leaf: Any, by: set[Value]) -> Any:
    if isinstance(leaf, Mapped):
        return Mapped(_own(trace, leaf.value, by), leaf.map)
    if not isinstance(leaf, Traced) and not (hasattr(leaf, "shape") and kind_of_value(leaf).describe(leaf).type.is_numeric):
        return leaf
    value = trace.lift(leaf)
    if value in by:
        value = trace.lift(_constant(trace, value, trace.moves.innermost))
    if value.type.kind in _ELEMENTS:
        by.add(value)
    return Traced(trace, value, user_line())
