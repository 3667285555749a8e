"""Dead code elimination: drops nodes without effects whose results are not used."""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.passes.base import Pass
from fusepy.passes.effects import is_pure
from fusepy.passes.rewrite import with_bodies


@dataclass(frozen=True)
class Dce(Pass):
    """The pass that drops dead nodes."""

    name = "dce"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        live: set[Value] = set(graph.outputs)
        kept: list[Node] = []
        for node in reversed(graph.nodes):
            if not is_pure(node) or any(v in live for v in node.results):
                kept.append(with_bodies(node, lambda body: self(body, oracle)))
                live.update(node.operands)
        return graph if kept == list(reversed(graph.nodes)) else graph.replace(nodes=reversed(kept))
