"""Cost model of the partition: the price of moving one element of a grid, and of computing it again.

All prices are in bytes of memory traffic, which limits elementwise kernels. docs/fusion.md shows how the two constants were
measured.
"""

from __future__ import annotations

import math

from fusepy.ir.graph import Node
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
    if node.op.views or node.op.name in ("const", "member", "struct"):
        return 0.0
    return OPERATION_BYTES * math.prod(node.results[0].type.shape)
