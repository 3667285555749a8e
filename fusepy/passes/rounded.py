"""Values that are compared with their own extreme are computed alike wherever they are computed.

``x == max(x)`` asks whether two computations of `x` agree to the last bit: one for the maximum, one for the comparison. A driver
may make one instruction of a product and a sum in one of them only, and then nothing is equal to the maximum. So the sums that
lead to such an `x` are rounded by themselves. The gradients of ``max`` and ``min`` ask that too.

Found are comparisons of `x` itself with what ``max`` or ``min`` leaves of it, kept axes included. Views in between, differences
from the maximum, and sums in bodies of loops or in Slang functions are not looked into.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.arithmetic import ROUNDED
from fusepy.ir.oracle import Oracle
from fusepy.passes.base import Pass

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
FOLDS = ("reduce", "scan")


@dataclass(frozen=True)
class RoundedSums(Pass):
    """The pass that marks sums of floats which lead to a value that is compared with its own extreme."""

    name = "rounded-sums"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        for node in graph.nodes:
            if node.op.name in FOLDS and _is_extreme(node):
                break
        else:
            return graph
        producer = {v: n for n in graph.nodes for v in n.results}
        left = [v for node in graph.nodes if node.op.name in COMPARISONS for v in _compared(node.operands, producer)]
        seen: set[Value] = set()
        while left:
            value = left.pop()
            node = producer.get(value)
            if value not in seen and node is not None and node.op.name not in FOLDS:
                left.extend(node.operands)
            seen.add(value)
        marked = {n: _marked(n) for n in graph.nodes if n.op.name in ("add", "sub") and n.results[0] in seen and _rounds(n)}
        return graph.replace(nodes=[marked.get(n, n) for n in graph.nodes]) if marked else graph


def _is_extreme(node: Node) -> bool:
    return node.op.name in FOLDS and node.attrs.get("kind") in ("max", "min")


def _compared(operands: tuple[Value, ...], producer: Mapping[Value, Node]) -> list[Value]:
    """Returns the operands of a comparison of which the other side is the extreme."""
    return [x for x, other in (operands, operands[::-1]) if x in _elements_of(other, producer)]


def _elements_of(value: Value, producer: Mapping[Value, Node]) -> list[Value]:
    """Returns the elements of which `value` is the maximum or minimum, also of several steps."""
    found, node = list[Value](), producer.get(value)
    while node is not None and (node.op.name == "expand" or _is_extreme(node)):
        if _is_extreme(node):
            found.append(node.operands[0])
        node = producer.get(node.operands[0])
    return found


def _rounds(node: Node) -> bool:
    scalar = node.results[0].type.scalar
    return scalar is not None and scalar.is_float and ROUNDED not in node.attrs


def _marked(node: Node) -> Node:
    return Node(node.op, node.operands, node.maps, node.results, {**node.attrs, ROUNDED: True}, node.loc)
