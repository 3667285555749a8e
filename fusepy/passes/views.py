"""Order of views: ``expand`` nodes move behind elementwise nodes, which then run on the smaller grid, and reductions of them end.
The numbers of vectors that a program returns are views, too.

``sqrt(mean(x, keepdims=True))`` becomes a view of a square root, which the kernel of the mean can compute at its end. A sum along
the axis that `expand` adds is its operand: such sums are in gradients of what is broadcast along rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from operator import is_

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.folds import axes_of
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind
from fusepy.passes.base import Pass
from fusepy.passes.effects import is_pure
from fusepy.passes.partition.levels import reads_whole, spread_values
from fusepy.passes.rewrite import substitute

PLAIN = frozenset({"sum", "prod", "min", "max", "mean", "any", "all"})  # reductions of which one element is the result


@dataclass(frozen=True)
class SinkViews(Pass):
    """The pass that computes elementwise nodes before the ``expand`` of their operands, and merges views of views."""

    name = "views"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        shown: dict[Value, Node] = {}  # views, by result
        same: dict[Value, Value] = {}  # the operands of reductions along axes of extent 1, by result
        spread = spread_values(graph)
        nodes: list[Node] = []
        for old in graph.nodes:
            node = substitute(old, same) if same else old
            seen = shown or node.op.name == "expand"
            if not seen or (spread and any(v in spread for v in node.operands)):  # a generator counts all axes
                nodes.append(node)
                continue
            fresh = _reduced(node, shown, same) if node.op.name == "reduce" else _below(node, shown)
            nodes += fresh
            shown.update((view.results[0], view) for view in fresh if view.op.name == "expand")
        if len(nodes) == len(graph.nodes) and all(map(is_, nodes, graph.nodes)):
            return graph
        return graph.replace(nodes=nodes, outputs=[same.get(v, v) for v in graph.outputs])


@dataclass(frozen=True)
class ReturnedNumbers(Pass):
    """The pass that makes views of vectors as numbers, where a program returns all components as numbers and reads them nowhere.

    The gradient of an image of numbers that a function takes as ``float3`` is made of vectors. Their array is that of the
    numbers, so that no kernel has to take each component out of its vector.
    """

    name = "numbers"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        taken = [node for node in graph.nodes if "all" in node.attrs]
        if not taken:
            return graph
        made = {v: node for node in graph.nodes for v in node.results}
        read = Counter(v for node in graph.nodes for v in node.operands)
        shown = Counter(node.operands[0] for node in taken)
        views: dict[Node, Node] = {}
        for node in taken:
            if graph.outputs.count(node.results[0]) != 1 or read[node.results[0]]:
                continue
            value, (first, last) = node.operands[0], node.maps
            own = value in made and not made[value].op.views and value not in graph.outputs and shown[value] == 1
            plain = value.type.kind is Kind.VECTOR and node.results[0].type is value.type.scalar and value.type.is_float
            if own and plain and first == ArgMap.identity(value.rank) and last == ArgMap((value.rank,)):
                views[node] = Node(OPS["numbers"], [value], [first], node.results, {}, node.loc)
        return graph.replace(nodes=[views.get(n, n) for n in graph.nodes]) if views else graph


def _below(node: Node, shown: dict[Value, Node]) -> list[Node]:
    """Returns `node` on the operands of its views, and views of its results; or only `node`, if it must stay."""
    if node.op.name == "expand":
        return [_joined(node, shown)]
    if not node.op.spreads or not node.results or not is_pure(node) or not node.op.merges:
        return [node]
    if not any(v in shown for v in node.operands) or any(reads_whole(m, v) for v, m in zip(node.operands, node.maps)):
        return [node]
    maps = [m.dims or () if v.rank else () for v, m in zip(node.operands, node.maps)]
    if any(len(dims) != v.rank for v, dims in zip(node.operands, maps)):  # a vector takes axes
        return [node]
    own = [_axes(shown[v]) if v in shown else tuple(range(v.rank)) for v in node.operands]  # all but those that views add
    taken = sorted({dims[k] for dims, axes in zip(maps, own) for k in axes})
    units = {dims[k] for dims, axes in zip(maps, own) for k in range(len(dims)) if k not in axes}
    if not units.isdisjoint(taken) or not units:
        return [node]
    operands = [shown[v].operands[0] if v in shown else v for v in node.operands]
    small = [ArgMap(tuple(taken.index(dims[k]) for k in axes), m.type) for dims, axes, m in zip(maps, own, node.maps)]
    results = [Value(v.type, (None,) * len(taken), weak=v.weak) for v in node.results]
    inner = Node(node.op, operands, small, results, node.attrs, node.loc, node.bodies)
    attrs, map = {"axes": tuple(f"d{d}" for d in sorted(units))}, ArgMap(tuple(taken))
    return [inner, *(Node(OPS["expand"], [new], [map], [old], attrs, node.loc) for new, old in zip(results, node.results))]


def _axes(view: Node) -> tuple[int, ...]:
    """Returns for each axis of the operand of a view that of its result."""
    return view.maps[0].dims or ()


def _reduced(node: Node, shown: dict[Value, Node], same: dict[Value, Value]) -> list[Node]:
    """Returns a reduction without the axes that a view adds; nothing, if these are all, and adds its result to `same`."""
    (value,), (result,), (map,) = node.operands, node.results, node.maps
    view = shown.get(value)
    if view is None or node.attrs["kind"] not in PLAIN or map != ArgMap.identity(value.rank):
        return [node]
    kept = _axes(view)
    inner, axes = view.operands[0], axes_of(node, "axes")
    units = [d for d in axes if d not in kept]
    if len(units) + len(kept) != value.rank or list(kept) != sorted(kept) or inner.type is not result.type:
        return [node]
    if len(units) < len(axes):
        attrs = {**node.attrs, "axes": tuple(f"d{kept.index(d)}" for d in axes if d in kept)}
        return [Node(node.op, [inner], [ArgMap.identity(inner.rank)], [result], attrs, node.loc)]
    if inner.weak != result.weak or inner.name is not None:
        return [node]
    same[result] = inner
    return []


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
