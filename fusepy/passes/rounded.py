"""Values that are compared with their own extreme are computed alike wherever they are computed.

``x == max(x)`` asks whether two computations of `x` agree to the last bit: one for the maximum, one for the comparison. A driver
may make one instruction of a product and a sum in one of them only, and then nothing is equal to the maximum. So the sums that
lead to such an `x` are rounded by themselves. The gradients of ``max`` and ``min`` ask that too.

Found are comparisons of `x` with what ``max`` or ``min`` leaves of it, and of their difference with anything. Either may come
through views. A view of `x` is computed by nodes of its own, of a view of the inputs, so it is known by the same operations. Sums
in bodies of loops or in Slang functions are not looked into.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.arithmetic import ROUNDED
from fusepy.ir.ops.base import with_attrs
from fusepy.ir.oracle import Oracle
from fusepy.ir.whole import is_taken
from fusepy.passes.base import Pass

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
FOLDS = ("reduce", "scan")
VIEWS = ("expand", "along", "stop_gradient")


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
        alike = _Alike(graph)
        left = [v for node in graph.nodes if node.op.name in COMPARISONS for v in alike.compared(node)]
        seen: set[Value] = set()
        while left:
            value = left.pop()
            node = alike.producer.get(value)
            if value not in seen and node is not None and node.op.name not in FOLDS:
                left.extend(node.operands)
            seen.add(value)
        marked = {
            n: with_attrs(n, **{ROUNDED: True})
            for n in graph.nodes
            if n.op.name in ("add", "sub") and n.results[0] in seen and _rounds(n)
        }
        return graph.replace(nodes=[marked.get(n, n) for n in graph.nodes]) if marked else graph


class _Alike:
    """The values of a graph, by numbers that are equal if the same operations compute them, of whatever inputs."""

    def __init__(self, graph: Graph):
        self.producer: Mapping[Value, Node] = {v: n for n in graph.nodes for v in n.results}
        self.number: dict[Value, int] = {}
        known: dict[Hashable, int] = {}
        for value in graph.inputs:
            self.number[value] = known.setdefault(value.type, len(known))
        for node in graph.nodes:
            of = tuple([self.number[v] for v in node.operands])
            for i, value in enumerate(node.results):
                way: Hashable = value if node.bodies or node.op.name in FOLDS else (node.op.name, repr(node.attrs), i, of)
                self.number[value] = of[0] if _is_view(node) else known.setdefault(way, len(known))

    def compared(self, node: Node) -> Iterator[Value]:
        """Yields the values that must be computed alike for a comparison."""
        yield from self.pairs(node)
        for value in node.operands:
            difference = self.producer.get(value)
            while difference is not None and (_is_view(difference) or difference.op.name in ("abs", "neg")):
                difference = self.producer.get(difference.operands[0])
            if difference is not None and difference.op.name == "sub" and (found := [*self.pairs(difference)]):
                yield from (difference.results[0], *found)  # of a product, it could be one instruction with it

    def pairs(self, node: Node) -> Iterator[Value]:
        """Yields the operands of which the other one is the extreme, with the elements of that."""
        a, b = node.operands
        for value, other in ((a, b), (b, a)):
            for elements in self.elements_of(other):
                if self.number[value] == self.number[elements]:
                    yield from (value, elements)

    def elements_of(self, value: Value) -> Iterator[Value]:
        """Yields the elements of which `value` is the maximum or minimum, also of several steps."""
        node = self.producer.get(value)
        while node is not None and (_is_view(node) or _is_extreme(node)):
            if _is_extreme(node):
                yield node.operands[0]
            node = self.producer.get(node.operands[0])


def _is_view(node: Node) -> bool:
    """True if the result has elements of the first operand."""
    return node.op.name in VIEWS or is_taken(node)


def _is_extreme(node: Node) -> bool:
    return node.op.name in FOLDS and node.attrs.get("kind") in ("max", "min")


def _rounds(node: Node) -> bool:
    scalar = node.results[0].type.scalar
    return scalar is not None and scalar.is_float and ROUNDED not in node.attrs
