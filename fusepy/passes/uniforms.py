"""Lists that are one vector or matrix for all threads become uniforms: numbers in the parameter block, no upload, no memory.

What is in the list stays a parameter; how long it is was part of the call's key already, since a vector takes it in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind, Type


def uniforms(graph: Graph, oracle: Oracle) -> Graph:
    """`graph` with the lists that every reader takes whole, as one and the same vector or matrix, as uniforms."""
    taken: dict[Value, set[tuple[object, Type | None]]] = defaultdict(set)
    for node in graph.nodes:
        for value, map in zip(node.operands, node.maps):
            taken[value].add((map.dims, map.type))
    new: dict[Value, Value] = {}
    for value in graph.inputs:
        type = _whole(value, taken[value]) if value not in graph.outputs else None
        if type is not None:
            new[value] = Value(type, (), container="Uniform", weak=True, name=value.name)
    if not new:
        return graph
    nodes = [_reading(node, new) for node in graph.nodes]
    return graph.replace(inputs=[new.get(v, v) for v in graph.inputs], nodes=nodes)


def _whole(value: Value, ways: set[tuple[object, Type | None]]) -> Type | None:
    """The vector or matrix as which a list is read, if that is one."""
    if value.container != "List" or not value.rank or len(ways) != 1:
        return None
    ((dims, type),) = ways
    fits = dims == () and type is not None and type.kind in (Kind.VECTOR, Kind.MATRIX) and len(type.shape) == value.rank
    return type if fits else None


def _reading(node: Node, new: Mapping[Value, Value]) -> Node:
    if not any(v in new for v in node.operands):
        return node
    operands = [new.get(v, v) for v in node.operands]
    maps = [ArgMap(()) if v in new else m for v, m in zip(node.operands, node.maps)]
    return Node(node.op, operands, maps, node.results, node.attrs, node.loc, node.bodies)
