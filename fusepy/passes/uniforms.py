"""Uniforms for small arrays that are one value for all threads: numbers in the parameter block, without upload or memory.

These are lists and NumPy arrays that a call takes as one vector, matrix or array of fixed size, and NumPy arrays without axes.
The numbers stay parameters. The length is part of the cache key for a vector or matrix, and is checked for an array.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import UNIFORM
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind, Type
from fusepy.passes.base import Pass

LARGEST, BYTES = 64, 256  # limits of one array: numbers, and their bytes


@dataclass(frozen=True)
class UniformArguments(Pass):
    """The pass that makes uniforms of the small arrays that every reader takes whole, as the same type."""

    name = "uniforms"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        uses: dict[Value, set[tuple[object, Type | None]]] = defaultdict(set)
        for node in graph.nodes:
            for value, map in zip(node.operands, node.maps):
                uses[value].add((map.dims, map.type))
        new: dict[Value, Value] = {}
        for value in graph.inputs:
            type = _whole(value, uses[value]) if value not in graph.outputs else None
            if type is not None:
                new[value] = Value(type, (), arrival=UNIFORM, weak=value.weak, name=value.name)
        if not new:
            return graph
        nodes = [_reading(node, new) for node in graph.nodes]
        return graph.replace(inputs=[new.get(v, v) for v in graph.inputs], nodes=nodes)


def _whole(value: Value, ways: set[tuple[object, Type | None]]) -> Type | None:
    """Returns the type of an array as a uniform; ``None`` if it stays in memory."""
    array = value.copied and value.arrival.tensor and value.type.kind is Kind.SCALAR
    if not (array or value.arrival.listed) or any(dims != () for dims, _ in ways):
        return None
    if array and not value.rank:
        return value.type if ways and all(type is None or type.kind is Kind.SCALAR for _, type in ways) else None
    if not value.rank or len(ways) != 1:
        return None
    ((_, type),) = ways
    dtype = None if type is None else type.dtype
    if type is None or dtype is None or type.kind is Kind.SCALAR or len(type.shape) != value.rank:
        return None
    count = math.prod(type.shape)
    if count > LARGEST or count * dtype.itemsize > BYTES:
        return None
    if not array or type.scalar is value.type:
        return type
    return None if type.kind is Kind.ARRAY else type.with_scalar(value.type)  # a vcast of the user's converts it


def _reading(node: Node, new: Mapping[Value, Value]) -> Node:
    if not any(v in new for v in node.operands):
        return node
    operands = [new.get(v, v) for v in node.operands]
    maps = [ArgMap((), None if m.type is new[v].type else m.type) if v in new else m for v, m in zip(node.operands, node.maps)]
    return Node(node.op, operands, maps, node.results, node.attrs, node.loc, node.bodies)
