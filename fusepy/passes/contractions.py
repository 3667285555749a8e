"""Contractions as reductions: ``contract`` becomes the fold ``dot`` of a product over the whole grid, which kernels compute.

From here on, products of matrices are reductions like all others: later nodes are computed at their end.
"""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value, grid_rank
from fusepy.ir.ops import OPS
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import FLOAT, HALF, Type
from fusepy.passes.base import Pass


@dataclass(frozen=True)
class Contractions(Pass):
    """The pass that writes contractions as folds of products. Products of halfs are computed and added as floats."""

    name = "contractions"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        if not any(node.op.name == "contract" for node in graph.nodes):
            return graph
        nodes: list[Node] = []
        for node in graph.nodes:
            nodes += _folded(node) if node.op.name == "contract" else [node]
        return graph.replace(nodes=nodes)


def _folded(node: Node) -> list[Node]:
    """Returns the nodes that compute a ``contract``: a product, its fold, and conversions of halfs."""
    (result,), rank = node.results, grid_rank(node)
    type = FLOAT if result.type is HALF else result.type
    weak = result.weak
    factors = [_converted(v, m, type, weak) for v, m in zip(node.operands, node.maps)]
    maps = [ArgMap(m.dims) for m in node.maps]
    product = Value(type, (None,) * rank, weak=weak)
    nodes = [made for _, made in factors if made is not None]
    nodes.append(Node(OPS["mul"], [v for v, _ in factors], maps, [product], {}, node.loc))
    total = result if type is result.type else Value(type, result.dims, weak=weak)
    attrs = {"kind": "dot", "axes": node.attrs["axes"]}
    nodes.append(Node(OPS["reduce"], [product], [ArgMap.identity(rank)], [total], attrs, node.loc))
    if total is not result:
        nodes.append(Node(OPS["cast"], [total], [ArgMap.identity(total.rank)], [result], {"type": result.type.name}, node.loc))
    return nodes


def _converted(value: Value, map: ArgMap, type: Type, weak: bool) -> tuple[Value, Node | None]:
    """Returns a factor in the type of the product, and the node that converts it if that is needed; `weak` numbers stay weak."""
    if value.type is type and map.type is None and value.weak == weak:
        return value, None
    made = Value(type, (None,) * value.rank, weak=weak)
    if weak:
        return made, Node(OPS["construct"], [value], [ArgMap.identity(value.rank)], [made], {"type": type.name}, None)
    own = ArgMap(tuple(range(value.rank)), type if value.type is not type else None)
    return made, Node(OPS["cast"], [value], [own], [made], {"type": type.name}, None)
