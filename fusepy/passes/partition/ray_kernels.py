"""`RayKernels`: the values that kernels of ray generations compute, and where a node may join such a kernel."""

from __future__ import annotations

from collections.abc import Mapping

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.pipelines.queries import differentiates_rays
from fusepy.ir.pipelines.rays import generates_rays
from fusepy.passes.effects import is_pure


class RayKernels:
    """The ray generation, for each of its results, and for each value that its kernel computes from them.

    Args:
        level: the levels of all values that are placed so far.

    Attributes:
        any: False for a graph without rays, so that nothing else is asked.
    """

    def __init__(self, graph: Graph, level: Mapping[Value, int]):
        self._level = level
        self.any = False
        for node in graph.nodes:
            if "rays" in node.attrs or node.bodies:
                self.any = True
        self.of: dict[Value, Node] = {}

    def place(self, node: Node, level: int) -> int:
        """Returns the level of a node whose operands are there at `level`: the next one if it cannot join the kernel of rays.

        It joins if it works element by element, without effects, on the results of one ray generation, and differentiates none.
        """
        rays = {self.of[v] for v in node.operands if v in self.of and self._level[v] == level}
        if len(rays) > 1 or (
            rays and (node.op.name in ("reduce", "scan") or node.op.standalone or not is_pure(node) or differentiates_rays(node))
        ):
            level, rays = level + 1, set[Node]()
        for ray in [node] if generates_rays(node) else rays:
            self.of.update(dict.fromkeys(node.results, ray))
        return level
