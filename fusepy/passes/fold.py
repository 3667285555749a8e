"""Constant folding: operations on constants alone, and identities that hold bit for bit.

Only operations that a device computes exactly as NumPy does are folded (``+ - * /``, comparisons, conversions); `sin` of a
constant stays, since drivers differ in the last bits. ``x + 0`` stays as well: it turns -0 into 0. A power by a constant
becomes a ``power`` node, whose code depends on the exponent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.power import fixed
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind
from fusepy.passes.base import Pass
from fusepy.passes.rewrite import can_replace_result, substitute, with_bodies

_ARITHMETIC = {"add", "sub", "mul", "div", "neg", "lt", "le", "gt", "ge", "eq", "ne", "bitand", "bitor", "bitxor"}
EXACT = _ARITHMETIC | {"cast", "select", "stop_gradient"}
NEUTRAL = {"mul": 1, "div": 1, "sub": 0}  # the right operand with which the result is the left one


@dataclass(frozen=True)
class FoldConstants(Pass):
    """The pass that computes constant expressions and removes neutral operations.

    Attributes:
        derived: the graph may be differentiated afterwards: ``stop_gradient`` stays.
    """

    derived: bool = False
    name = "fold"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        known: dict[Value, Node] = {}
        same: dict[Value, Value] = {}
        nodes: list[Node] = []
        for original in graph.nodes:
            node = with_bodies(substitute(original, same), lambda body: self(body, oracle))
            if node.op.name == "const":
                known[node.results[0]] = node
            elif node.op.name == "pow" and node.operands[1] in known and node.operands[0] not in known:
                exponent = known[node.operands[1]].attrs["value"]
                assert isinstance(exponent, (int, float))
                node = fixed(node, exponent)
            elif node.op.name in EXACT:
                if all(v in known for v in node.operands) and node.results[0].type.kind is Kind.SCALAR:
                    node = _evaluate(node, known)
                    known[node.results[0]] = node
                else:
                    kept = None if self.derived and node.op.name == "stop_gradient" else _neutral(node, known)
                    if kept is not None:
                        same[original.results[0]] = kept
                        continue
            nodes.append(node)
        if len(nodes) == len(graph.nodes) and all(a is b for a, b in zip(nodes, graph.nodes)):
            return graph
        return graph.replace(nodes=nodes, outputs=[same.get(v, v) for v in graph.outputs])


def _evaluate(node: Node, known: dict[Value, Node]) -> Node:
    args = [np.asarray(known[v].attrs["value"], v.type.dtype) for v in node.operands]
    value = node.op.evaluate(node, args)[0].item()
    attrs = {"type": node.results[0].type.name, "value": value}
    return Node(OPS["const"], (), (), node.results, attrs, node.loc)


def _neutral(node: Node, known: dict[Value, Node]) -> Value | None:
    """Returns the operand that equals the result of `node`, if it has the same type and grid; else ``None``."""
    if node.op.name == "select" and node.operands[0] in known:
        kept = node.operands[1 if known[node.operands[0]].attrs["value"] else 2]
        dropped = node.operands[2 if kept is node.operands[1] else 1]
        if dropped.rank:  # it may be longer along an axis where `kept` has extent 1
            return None
    elif node.op.name == "stop_gradient":
        kept = node.operands[0]
    elif node.op.name in NEUTRAL and node.operands[1] in known:
        if known[node.operands[1]].attrs["value"] != NEUTRAL[node.op.name]:
            return None
        kept = node.operands[0]
    else:
        return None
    return kept if can_replace_result(node, node.operands.index(kept)) else None
