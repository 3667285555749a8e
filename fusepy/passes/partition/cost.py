"""Cost model of the partition: the price of moving one element of a grid, and of computing it again.

All prices are in bytes of memory traffic, which limits elementwise kernels. docs/fusion.md shows how the two constants were
measured.
"""

from __future__ import annotations

import math

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind, Type

OPERATION_BYTES = 0.25  # one operator or intrinsic of the IR, per scalar component
CALL_BYTES = 8.0  # one call of a user's Slang function whose text is not known
LOOP_STEPS = 32  # the assumed number of steps of a loop
BACKWARD = 3  # a derivative of a body computes the body, and each of its operations with both of its slopes
LOOPS = ("fori_loop", "while_loop", "loop_vjp")
DERIVATIVES = ("vjp", "jvp")
UNKNOWN_BYTES = 16  # an element of unknown layout
LAUNCH_BYTES = 100_000  # one more kernel, as it was measured on lavapipe: 10 to 20 µs


def element_bytes(type: Type, oracle: Oracle) -> int:
    """Returns the bytes of one stored element."""
    if type.is_numeric and type.scalar is not None and type.scalar.dtype is not None:
        return max(type.scalar.dtype.itemsize, 1) * math.prod(type.shape)
    if type.kind is Kind.ARRAY and type.element is not None:
        return type.shape[0] * element_bytes(type.element, oracle)
    layout = oracle.layout(type)
    return layout.stride if layout is not None else UNKNOWN_BYTES


def compute_bytes(node: Node, oracle: Oracle) -> float:
    """Returns the price of computing `node` once more for an element, without its operands."""
    if node.op.name == "slang.call":
        price = oracle.price(node.text("module"), node.text("function"))
        return CALL_BYTES if price is None else price
    if node.bodies:
        once = sum(compute_bytes(inner, oracle) for body in node.bodies for inner in body.nodes)
        return once * (LOOP_STEPS if node.op.name in LOOPS else BACKWARD if node.op.name in DERIVATIVES else 1)
    if node.op.name in ("const", "member", "expand", "struct"):
        return 0.0
    return OPERATION_BYTES * math.prod(node.results[0].type.shape)


def dear_arrays(graph: Graph, oracle: Oracle) -> frozenset[Value]:
    """Returns the computed arrays of fixed size that are stored: else a kernel over their elements would compute all for each.

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
