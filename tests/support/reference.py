"""What a traced graph means, worked out node by node: the reference that passes are held to. No pass takes part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value, grid_rank
from fusepy.ir.interpret import Functions, interpret
from fusepy.ir.ops.call import SlangCall
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind
from tests.support.fake_oracle import FakeOracle

ORACLE = FakeOracle()


def meaning(graph: Graph, args: Sequence[Any], functions: Functions, oracle: Oracle = ORACLE) -> list[Any]:
    """What a traced graph computes: as `interpret`, but settling each node's maps first, with no pass involved."""
    arrays = dict(zip(graph.inputs, args))
    for node in graph.nodes:
        arrays.update(zip(node.results, run_node(node, arrays, functions, oracle)))
    return [arrays[v] for v in graph.outputs]


def settle(graph: Graph, oracle: Oracle = ORACLE) -> Graph:
    """`graph` with every map resolved, node by node: the plainest thing that can follow a trace."""
    new: dict[Value, Value] = {v: v for v in graph.values()}
    for value in graph.inputs:
        dims = (None,) * value.rank
        new[value] = Value(value.type, dims, arrival=value.arrival, weak=value.weak, name=value.name)
    nodes: list[Node] = []
    for node in graph.nodes:
        maps = [ArgMap(m.dims, None if m.type is v.type else m.type) for v, m in zip(node.operands, _settled(node, oracle))]
        settled = _settled_node(node, oracle)
        operands = [new[v] for v in node.operands]
        nodes.append(Node(node.op, operands, maps, node.results, settled.attrs, node.loc, settled.bodies))
    return graph.replace(inputs=[new[v] for v in graph.inputs], nodes=nodes, outputs=[new[v] for v in graph.outputs])


def run_node(node: Node, arrays: Mapping[Value, Any], functions: Functions, oracle: Oracle) -> list[Any]:
    """The results of one traced node."""
    settled = _settled_node(node, oracle)
    inputs = tuple(dict.fromkeys(node.operands))
    return interpret(Graph("one", inputs, [settled], node.results), [arrays[v] for v in inputs], functions)


def _settled_node(node: Node, oracle: Oracle) -> Node:
    bodies = [body.replace(nodes=[_settled_node(n, oracle) for n in body.nodes]) for body in node.bodies]
    attrs = dict(node.attrs)
    if isinstance(node.op, SlangCall):
        answer = node.op.resolution(node, oracle)
        attrs["dirs"] = tuple(p.direction for p in answer.params)
        attrs["returns"] = any(name == "return" for name, _ in answer.results)
    return Node(node.op, node.operands, _settled(node, oracle), node.results, attrs, node.loc, bodies)


def _settled(node: Node, oracle: Oracle) -> Sequence[ArgMap]:
    answer = node.op.resolution(node, oracle)
    if answer is not None:
        return answer.maps
    if node.op.name == "cast":
        value, map, want = node.operands[0], node.maps[0], node.results[0].type
        consumed = len(want.shape) if not value.arrival.plain and value.type.kind is Kind.SCALAR else 0
        return [ArgMap(map.dims or tuple(range(value.rank - consumed)), want)]
    if node.op.nests:
        return node.op.settled(node, oracle)
    rank = grid_rank(node)
    return [m if m.is_resolved else ArgMap.aligned(v.rank, rank) for v, m in zip(node.operands, node.maps)]
