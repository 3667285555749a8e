"""Common subexpression elimination: equal pure nodes on equal operands become one."""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.passes.base import Pass
from fusepy.passes.effects import is_pure
from fusepy.passes.rewrite import substitute, with_bodies


@dataclass(frozen=True)
class Cse(Pass):
    """The pass that merges equal pure nodes."""

    name = "cse"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        seen: dict[tuple[object, ...], Node] = {}
        same: dict[Value, Value] = {}
        kept: list[Node] = []
        written = 0  # the number of nodes with effects so far: each may change what is read from memory
        for node in graph.nodes:
            current = with_bodies(substitute(node, same), lambda body: self(body, oracle))
            if is_pure(current) and current.op.merges:
                # the type of an attribute is part of the key, since 1 == 1.0 == True
                attrs = tuple((k, type(v), repr(v)) for k, v in current.attrs.items())
                bodies = tuple(body.canonical(places=False) for body in current.bodies)
                reads = any(v.name is not None for v in current.operands)
                weak = tuple(v.weak for v in current.results)  # a folded cast makes a constant that is not
                key = (current.op, current.operands, current.maps, attrs, weak, bodies, written if reads else 0)
                first = seen.setdefault(key, current)
                if first is not current:
                    same.update(zip(node.results, first.results))
                    continue
            elif current.op.merges:
                written += 1
            kept.append(current)
        if all(a is b for a, b in zip(kept, graph.nodes)) and not same:
            return graph
        return graph.replace(nodes=kept, outputs=[same.get(v, v) for v in graph.outputs])
