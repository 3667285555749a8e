"""`RayKernels`: the values that kernels of ray generations compute, and where a node may join such a kernel."""

from __future__ import annotations

from collections.abc import Mapping

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.pipelines.rays import generates_rays
from fusepy.passes.effects import is_pure


class RayKernels:
    """The ray generation, for each of its results, and for each value that its kernel computes from them.

    Args:
        level: the levels of all values that are placed so far.

    Attributes:
        any: false for a graph without rays, most of the time: then nothing needs to be asked.
    """

    def __init__(self, graph: Graph, level: Mapping[Value, int]):
        self._level = level
        self.any = bool([n for n in graph.nodes if "rays" in n.attrs or n.bodies])
        self.of: dict[Value, Node] = {}

    def place(self, node: Node, level: int) -> int:
        """Returns the level of a node whose operands are there at `level`: the next one if it cannot join the kernel of rays.

        It joins if it works element by element, without effects, on the results of one ray generation.
        """
        if not self.of:
            return level
        rays = self._feeding(node, level)
        joins = len(rays) < 2 and (not rays or (node.op.name not in ("reduce", "scan") and is_pure(node)))
        return level if joins else level + 1

    def add(self, node: Node, level: int) -> None:
        """Adds the results of a node that is placed at a level."""
        if not self.any:
            return
        if generates_rays(node):
            self.of.update(dict.fromkeys(node.results, node))
        else:
            for ray in self._feeding(node, level):
                self.of.update(dict.fromkeys(node.results, ray))

    def _feeding(self, node: Node, level: int) -> set[Node]:
        return {self.of[v] for v in node.operands if v in self.of and self._level[v] == level}
