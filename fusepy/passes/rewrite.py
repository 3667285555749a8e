"""Helpers of passes that make new nodes from old ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fusepy.ir.argmap import UNSAID
from fusepy.ir.graph import Graph, Node, Value


def substitute(node: Node, same: Mapping[Value, Value]) -> Node:
    """Returns `node` with other operands, or itself if none is replaced. Results keep their identity."""
    if not any(v in same for v in node.operands):
        return node
    operands = [same.get(v, v) for v in node.operands]
    return Node(node.op, operands, node.maps, node.results, node.attrs, node.loc, node.bodies)


def can_replace_result(node: Node, i: int) -> bool:
    """Returns whether operand `i` can replace the result of `node`, whose numbers it has: type and axes are the same.

    An input array cannot replace a computed value: a ``vcast`` would take its axes as components.
    """
    (result,), operand, map = node.results, node.operands[i], node.maps[i]
    aligned = operand.rank == result.rank and (map == UNSAID or map.is_identity(result.rank))
    return aligned and operand.type is result.type and operand.arrival.plain and not operand.weak


def with_bodies(node: Node, change: Callable[[Graph], Graph]) -> Node:
    """Returns `node` with changed bodies, or itself if none changes. Results keep their identity."""
    if not node.bodies:
        return node
    bodies = [change(body) for body in node.bodies]
    if all(new is old for new, old in zip(bodies, node.bodies)):
        return node
    return Node(node.op, node.operands, node.maps, node.results, node.attrs, node.loc, bodies)
