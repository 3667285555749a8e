"""Computed arrays of fixed size whose elements are spread over a larger grid: computing the array again for each may be dear."""

from __future__ import annotations

import math

from fusepy.ir.graph import Graph, Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind
from fusepy.passes.partition.cost import compute_bytes, element_bytes


def dear_arrays(graph: Graph, oracle: Oracle) -> frozenset[Value]:
    """Returns the arrays that are stored, since a kernel over their elements would compute the whole array for each of these.

    The gradient of a network's weights by one sample is such an array: its sum over the samples has a thread for each weight.
    """
    indices = [n for n in graph.nodes if n.op.name == "index" and n.operands[0].type.kind is Kind.ARRAY]
    if not indices:
        return frozenset()
    price: dict[Value, float] = {}
    for node in graph.nodes:
        cost = compute_bytes(node, oracle) + sum(price.get(v, 0.0) for v in dict.fromkeys(node.operands))
        price.update(dict.fromkeys(node.results, cost if node.op.name != "index" else 0.0))  # parts of dear arrays are loaded
    found: set[Value] = set()
    for node in indices:
        value = node.operands[0]
        again = price.get(value, 0.0) * (math.prod(value.type.shape) - 1)
        if node.grid_rank > value.rank and again > 2 * element_bytes(value.type, oracle):
            found.add(value)
    return frozenset(found)
