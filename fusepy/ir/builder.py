"""`Builder`: a recorder of nodes, which makes a graph of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.arrivals import PLAIN, Arrival
from fusepy.ir.graph import Graph, Node, Op
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type
from fusepy.ir.value import Attr, Dims, Value


class Builder:
    """A recorder of nodes. The results of each node are inferred at once, so errors have the user's line.

    Example:
        >>> from fusepy.ir.arrivals import TENSOR
        >>> from fusepy.ir.ops import OPS
        >>> b = Builder("double_it")
        >>> x = b.input("x", Type.parse("float"), (None,), arrival=TENSOR)
        >>> (y,) = b.add(OPS["add"], [x, x])
        >>> print(b.finish([y]))
        graph @double_it(%x: Tensor<float>[?]) -> (Tensor<float>[?]) {
          %0 = add(%x, %x) : Tensor<float>[?]
          return %0
        }
    """

    def __init__(self, name: str, oracle: Oracle | None = None):
        self.name = name
        self.oracle = oracle
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.modules: list[tuple[str, str]] = []

    def input(
        self, name: str, type: Type, dims: Dims = (), *, arrival: Arrival = PLAIN, weak: bool = False, copied: bool = False
    ) -> Value:
        value = Value(type, dims, arrival=arrival, weak=weak or arrival.listed, name=name, copied=copied)
        self.inputs.append(value)
        return value

    def module(self, name: str, key: str) -> str:
        """Returns the alias that names callees of the module with this content key."""
        for alias, known in self.modules:
            if known == key:
                return alias
        aliases = {alias for alias, _ in self.modules}
        alias, count = name, 1
        while alias in aliases:
            count += 1
            alias = f"{name}_{count}"
        self.modules.append((alias, key))
        return alias

    def add(
        self,
        op: Op,
        operands: Sequence[Value],
        maps: Sequence[ArgMap] | None = None,
        attrs: Mapping[str, Attr] | None = None,
        loc: str | None = None,
        bodies: Sequence[Graph] = (),
    ) -> tuple[Value, ...]:
        """Records one node and returns its results.

        Raises:
            FusepyError: if the operands do not fit the operation.
        """
        node = Node(op, operands, maps or (UNSAID,) * len(operands), (), attrs, loc, bodies)
        node.results = tuple(op.infer(node, self.oracle))
        self.nodes.append(node)
        return node.results

    def finish(self, outputs: Sequence[Value]) -> Graph:
        return Graph(self.name, self.inputs, self.nodes, outputs, self.modules)
