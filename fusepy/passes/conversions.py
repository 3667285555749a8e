"""Conversions inside regions: ``cast`` nodes in place of the types of maps."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.types import Type


def without_maps(body: Graph) -> Graph:
    """Returns the body of a loop or branch for use inside a region, where conversions are ``cast`` nodes."""
    nodes: list[Node] = []
    same: dict[Value, Value] = {}
    for node in body.nodes:
        operands = [same.get(v, v) for v in node.operands]
        args = [v if m.type is None or m.type is v.type else converted(v, m.type, nodes) for v, m in zip(operands, node.maps)]
        if is_converted(node, args):
            same[node.results[0]] = args[0]
            continue
        maps, bodies = [ArgMap(())] * len(args), [without_maps(inner) for inner in node.bodies]
        nodes.append(Node(node.op, args, maps, node.results, node.attrs, node.loc, bodies))
    return body.replace(nodes=nodes, outputs=[same.get(v, v) for v in body.outputs])


def is_converted(node: Node, args: Sequence[Value]) -> bool:
    """True for a cast to the type that the value has; a cast of a weak number stays, since its result is not weak."""
    return node.op.name == "cast" and args[0].type is node.results[0].type and not args[0].weak


def converted(value: Value, type: Type, nodes: list[Node]) -> Value:
    """Adds a node that converts `value` to `type`."""
    result = Value(type)
    nodes.append(Node(OPS["cast"], [value], [ArgMap(())], [result], {"type": type.name}))
    return result
