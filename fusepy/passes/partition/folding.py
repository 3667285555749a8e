"""`Folding`: reductions that share a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

from fusepy.ir.graph import Node, Value

Leaves = frozenset[tuple[Value, tuple[int, ...]]]


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
        return self.nodes[0].attrs.get("kind") == "dot"

    @property
    def small_rank(self) -> int:
        """The rank of the small grid, which is left after the reductions."""
        return self.rank - (0 if self.scans else len(self.over))
