"""Dead code elimination: drops nodes whose results nobody reads and that write nothing."""

from __future__ import annotations

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.passes.effects import is_pure
from fusepy.passes.rewrite import with_bodies


def dce(graph: Graph, oracle: Oracle) -> Graph:
    """`graph` without its dead nodes; inputs stay, since they are the function's signature."""
    live: set[Value] = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if not is_pure(node) or any(v in live for v in node.results):
            kept.append(with_bodies(node, lambda body: dce(body, oracle)))
            live.update(node.operands)
    return graph if kept == list(reversed(graph.nodes)) else graph.replace(nodes=reversed(kept))
