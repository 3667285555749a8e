"""Small tools that passes share to make new nodes from old ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fusepy.ir.graph import Graph, Node, Value


def substitute(node: Node, same: Mapping[Value, Value]) -> Node:
    """`node` reading other operands; itself if none of its operands is replaced. Results keep their identity."""
    if not any(v in same for v in node.operands):
        return node
    operands = [same.get(v, v) for v in node.operands]
    return Node(node.op, operands, node.maps, node.results, node.attrs, node.loc, node.bodies)


def with_bodies(node: Node, change: Callable[[Graph], Graph]) -> Node:
    """`node` with each of its bodies changed; itself if none is. Results keep their identity."""
    if not node.bodies:
        return node
    bodies = [change(body) for body in node.bodies]
    if all(new is old for new, old in zip(bodies, node.bodies)):
        return node
    return Node(node.op, node.operands, node.maps, node.results, node.attrs, node.loc, bodies)
