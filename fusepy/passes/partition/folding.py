"""`Folding`: reductions that share a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.folds import SORTS

Leaves = frozenset[tuple[Value, tuple[int, ...]]]


def covered(leaves: Leaves) -> set[int]:
    """Returns the dimensions of the grid along which leaves run."""
    return {d for _, along in leaves for d in along}


@dataclass(eq=False)
class Folding:
    """Reductions over the same axes of one grid, in one kernel; `leaves` are the values that give the grid its extents."""

    level: int
    over: tuple[int, ...]
    rank: int
    leaves: Leaves
    nodes: list[Node] = field(default_factory=list[Node])

    @property
    def scans(self) -> bool:
        return self.nodes[0].op.name == "scan"

    @property
    def product(self) -> bool:
        """True for a product of matrices, whose kernel reads each element many times and computes nothing else over its grid."""
        return is_product(self.nodes[0])

    @property
    def alone(self) -> bool:
        """True if no other reduction joins the kernel."""
        return stands_alone(self.nodes[0])

    @property
    def small_rank(self) -> int:
        """The rank of the small grid, which is left after the reductions."""
        return self.rank - (0 if self.scans else len(self.over))


def stands_alone(node: Node) -> bool:
    """True for a product of matrices and for a sort: their kernels are about nothing else."""
    return is_product(node) or node.attrs.get("kind") in SORTS


def is_product(node: Node) -> bool:
    """True for the reduction of a product of matrices."""
    return node.op.name == "reduce" and node.attrs.get("kind") == "dot"


def factors_of(graph: Graph, producer: Mapping[Value, Node]) -> set[Value]:
    """Returns the computed values that are multiplied as matrices. What is only converted is converted as it is loaded."""
    products = [producer[n.operands[0]] for n in graph.nodes if is_product(n)]
    made = {v: producer[v] for node in products for v in node.operands if v in producer}
    return {v for v, node in made.items() if node.op.name != "cast" or node.operands[0] in producer}
