"""Small tools that passes share to make new nodes from old ones."""

from __future__ import annotations

from collections.abc import Mapping

from fusepy.ir.graph import Node, Value


def substitute(node: Node, same: Mapping[Value, Value]) -> Node:
    """`node` reading other operands; itself if none of its operands is replaced. Results keep their identity."""
    if not any(v in same for v in node.operands):
        return node
    operands = [same.get(v, v) for v in node.operands]
    return Node(node.op, operands, node.maps, node.results, node.attrs, node.loc, node.bodies)
