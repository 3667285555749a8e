"""Arrays of NumPy's default dtypes that user code reads whole in a smaller type: uploaded apart if other uses need all digits."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.argmap import UNSAID
from fusepy.ir.graph import Node, Value
from fusepy.ir.narrowing import is_default
from fusepy.ir.resolve.settle import settle
from fusepy.ir.types import AS_ONE, Type
from fusepy.trace.moves.inputs import view_of
from fusepy.trace.open_trace import OpenTrace

Place = tuple[int, int]  # of a node, and of its operand


def upload_apart(trace: OpenTrace, outputs: Sequence[Value]) -> None:
    """Gives each read of such a whole array an input of its own, if the array is used in another type as well."""
    whole: dict[Value, dict[Type, list[Place]]] = {}
    used: dict[Value, set[Type]] = {v: {v.type} for v in outputs}
    for k, node in enumerate(trace.builder.nodes):
        if not any(map(is_default, node.operands)):
            continue
        for i, (value, map_) in enumerate(zip(node.operands, settle(node, trace.oracle)[0])):
            want = map_.type or value.type
            scalar = (want.element if want.kind in AS_ONE and want.element is not None else want).scalar or value.type
            used.setdefault(value, set()).add(scalar)
            if want.kind in AS_ONE and is_default(value) and value in trace.builder.inputs:
                whole.setdefault(value, {}).setdefault(scalar, []).append((k, i))
    for value, types in whole.items():
        if len(used[value]) > 1 and trace.maps.get(value, UNSAID).dims is None:
            for type, places in types.items():
                if type is not value.type:
                    _replace(trace, places, view_of(trace, value, ()))


def _replace(trace: OpenTrace, places: Sequence[Place], made: Value) -> None:
    nodes, moves = trace.builder.nodes, trace.moves
    moves.views = {k: v for k, v in moves.views.items() if v is not made}  # each type has an upload of its own
    for k, i in places:
        node = nodes[k]
        operands = [*node.operands[:i], made, *node.operands[i + 1 :]]
        nodes[k] = Node(node.op, operands, node.maps, node.results, node.attrs, node.loc, node.bodies)
