"""Computed vectors and arrays whose elements are spread over a larger grid: computing all again for each of them may be dear."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.passes.partition.cost import compute_bytes, element_bytes


def dear_values(graph: Graph, oracle: Oracle) -> frozenset[Value]:
    """Returns the values that are stored, since a kernel over their elements would compute the whole value for each of these.

    The gradient of a network's weights by one sample is such an array: its sum over the samples has a thread for each weight. The
    gradient of an image of `float3` that is passed as numbers is such a vector.
    """
    spread = [n for n in graph.nodes if n.op.name == "index" and n.grid_rank > n.operands[0].rank]
    if not spread:
        return frozenset()
    producer = {v: n for n in graph.nodes for v in n.results}
    found: set[Value] = set()
    for node in spread:
        value = node.operands[0]
        again = math.prod(value.type.shape) - 1
        enough = 2 * element_bytes(value.type, oracle) / again if again else math.inf
        if value in producer and _is_dear(value, producer, found, enough, oracle):
            found.add(value)
    return frozenset(found)


def _is_dear(value: Value, producer: Mapping[Value, Node], stored: Collection[Value], enough: float, oracle: Oracle) -> bool:
    """True if computing a value costs more than `enough`; parts of `stored` values are loaded."""
    price, seen, left = 0.0, {value}, [value]
    while left and price <= enough:
        node = producer[left.pop()]
        if node.op.name == "index" and node.operands[0] in stored:
            continue
        price += compute_bytes(node, oracle)
        before = [v for v in node.operands if v in producer and v not in seen]
        seen.update(before)
        left += before
    return price > enough
