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
    producer = {v: n for n in graph.nodes for v in n.results}
    price: dict[Value, float] = {}
    for node in graph.nodes:
        cost = compute_bytes(node, oracle) + sum(price.get(v, 0.0) for v in dict.fromkeys(node.operands))
        price.update(dict.fromkeys(node.results, cost))
    found: set[Value] = set()
    for node in graph.nodes:
        value = node.operands[0] if node.op.name == "index" else None
        if value not in producer or value.type.kind is not Kind.ARRAY or node.grid_rank <= value.rank:
            continue
        if producer[value].op.name == "index":  # of a dear array, or of a cheap one
            continue
        again = math.prod(value.type.shape) - 1
        if again * price[value] > 2 * element_bytes(value.type, oracle):
            found.add(value)
    return frozenset(found)
