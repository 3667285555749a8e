"""Order of views: ``expand`` nodes move behind elementwise nodes, which then run on the smaller grid.

``sqrt(mean(x, keepdims=True))`` becomes a view of a square root, which the kernel of the mean can compute at its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import is_

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.passes.base import Pass
from fusepy.passes.effects import is_pure
from fusepy.passes.partition.levels import reads_whole, spread_values


@dataclass(frozen=True)
class SinkViews(Pass):
    """The pass that computes elementwise nodes before the ``expand`` of their operands, and merges views of views."""

    name = "views"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        shown: dict[Value, Node] = {}  # views, by result
        spread = spread_values(graph)
        nodes: list[Node] = []
        for node in graph.nodes:
            fresh = [node] if any(v in spread for v in node.operands) else _below(node, shown)  # a generator counts all axes
            nodes += fresh
            shown.update((view.results[0], view) for view in fresh if view.op.name == "expand")
        return graph if len(nodes) == len(graph.nodes) and all(map(is_, nodes, graph.nodes)) else graph.replace(nodes=nodes)


def _below(node: Node, shown: dict[Value, Node]) -> list[Node]:
    """Returns `node` on the operands of its views, and views of its results; or only `node`, if it must stay."""
    if node.op.name == "expand":
        return [_joined(node, shown)]
    if not node.op.spreads or not node.results or not is_pure(node) or not node.op.merges:
        return [node]
    views = {v: shown[v] for v in node.operands if v in shown}
    ranked = [(v, m) for v, m in zip(node.operands, node.maps) if v.rank]
    if not views or any(v not in views or reads_whole(m, v) for v, m in ranked):
        return [node]
    axes = {view.attrs["axes"] for view in views.values()}
    rank = node.grid_rank
    if len(axes) != 1 or any(m.dims != ArgMap.identity(rank).dims for _, m in ranked):
        return [node]
    (view,) = list(views.values())[:1]
    small = ArgMap.identity(view.operands[0].rank).dims
    operands = [views[v].operands[0] if v in views else v for v in node.operands]
    maps = [ArgMap(small, m.type) if v in views else m for v, m in zip(node.operands, node.maps)]
    results = [Value(v.type, (None,) * view.operands[0].rank, weak=v.weak) for v in node.results]
    inner = Node(node.op, operands, maps, results, node.attrs, node.loc, node.bodies)
    return [inner, *(Node(view.op, [fresh], view.maps, [old], view.attrs, node.loc) for fresh, old in zip(results, node.results))]


def _joined(node: Node, shown: dict[Value, Node]) -> Node:
    """Returns a view of a view as one view."""
    below = shown.get(node.operands[0])
    if below is None:
        return node
    (dims,) = (m.dims or () for m in node.maps)
    (inner,) = (m.dims or () for m in below.maps)
    kept = tuple(dims[d] for d in inner)
    axes = tuple(f"d{d}" for d in range(node.results[0].rank) if d not in kept)
    return Node(node.op, below.operands, [ArgMap(kept)], node.results, {"axes": axes}, node.loc)
