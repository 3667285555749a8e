"""Values from outside of a function that is differentiated, which are its arguments as well: constants, as call by call.

In ``fp.grad(lambda p: fp.sum(p * x))(x)`` both names are one value of the trace. What the function takes as its argument is made
when it begins, so ``x``, which was made before, is told from ``p``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.ir.graph import Value
from fusepy.location import user_line
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.structure import flatten_values
from fusepy.trace.traced import Traced


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
                recorded = trace.record("stop_gradient", [Traced(trace, last, None)], {"of": one.count})
                one.constants[last] = trace.lift(recorded)
            forms.append(one.constants[last])
    return forms[-1]


def arguments(trace: OpenTrace, trees: Sequence[Any], what: str) -> list[Any]:
    """Returns the arguments by which a function is differentiated that begins now, told from the same values outside of it."""
    found: list[Any] = []
    for tree in trees:
        leaves, structure = flatten_values(tree, what)
        found.append(structure.fill([_own(trace, leaf) for leaf in leaves]))
    inner = [unmapped(leaf) for tree in found for leaf in flatten_values(tree, what)[0]]
    values = [trace.lift(leaf) for leaf in inner if isinstance(leaf, Traced)]
    trace.moves.begun[-1].by.update(v for v in values if v.type.is_numeric)
    return found


def _own(trace: OpenTrace, leaf: Any) -> Any:
    if isinstance(leaf, Mapped):
        return Mapped(_own(trace, leaf.value), leaf.map)
    if isinstance(leaf, (bool, int, float)) or not (
        isinstance(leaf, Traced) or kind_of_value(leaf).describe(leaf).type.is_numeric
    ):
        return leaf
    return Traced(trace, trace.lift(leaf), user_line())
