"""Variances in one pass: a mean of squared distances from a mean becomes one fold, which needs no mean before it.

So a mean and a standard deviation of the same elements are one kernel, which reads them once. Rows keep their two steps:
`join_rows` holds a row in registers between them.
"""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.folds import axes_of
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import DOUBLE, FLOAT, Kind
from fusepy.passes.base import Pass

FOLDS = {"mean": "var", "sum": "spread"}


@dataclass(frozen=True)
class Variances(Pass):
    """The pass that folds squared distances from the mean of floats or doubles at once."""

    name = "variances"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        producer = {v: n for n in graph.nodes for v in n.results}
        found = {node: fold for node in graph.nodes if (fold := _at_once(node, producer)) is not None}
        return graph.replace(nodes=[found.get(n, n) for n in graph.nodes]) if found else graph


def _at_once(node: Node, producer: dict[Value, Node]) -> Node | None:
    """Returns the fold that takes the place of `node`, if that reduces squared distances from a mean over the same axes."""
    if node.op.name != "reduce" or node.text("kind") not in FOLDS:
        return None
    axes, rank = axes_of(node, "axes"), node.grid_rank
    square = producer.get(node.operands[0])
    if square is None or square.op.name != "mul" or square.operands[0] is not square.operands[1]:
        return None
    difference = producer.get(square.operands[0])
    if difference is None or difference.op.name != "sub":
        return None
    x, mean = difference.operands
    plain = all(m == ArgMap.identity(rank) for m in (node.maps[0], *square.maps, difference.maps[0]))
    along_rows = rank - 1 in axes and len(axes) < rank
    if not plain or along_rows or x.type.kind not in (Kind.SCALAR, Kind.VECTOR) or x.type.scalar not in (FLOAT, DOUBLE):
        return None
    if not _is_mean(producer.get(mean), difference.maps[1], x, axes, rank, producer):
        return None
    attrs = {**node.attrs, "kind": FOLDS[node.text("kind")]}
    return Node(node.op, [x], [ArgMap.identity(rank)], node.results, attrs, node.loc)


def _is_mean(node: Node | None, map: ArgMap, x: Value, axes: tuple[int, ...], rank: int, producer: dict[Value, Node]) -> bool:
    """True if `node` is the mean of `x` along `axes`, which `map` spreads over the grid."""
    kept = tuple(d for d in range(rank) if d not in axes)
    if node is not None and node.op.name == "expand":
        if map != ArgMap.identity(rank) or axes_of(node, "axes") != axes:
            return False
        (map,), node = node.maps, producer.get(node.operands[0])
    if node is None or node.op.name != "reduce" or node.text("kind") != "mean" or axes_of(node, "axes") != axes:
        return False
    return map == ArgMap(kept) and node.operands[0] is x and node.maps[0] == ArgMap.identity(rank)
