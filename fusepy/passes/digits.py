"""Python's floats with all their digits: what operators compute of numbers, where doubles are wanted."""

from __future__ import annotations

from fusepy.ir.argmap import UNSAID
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.promotion import of_numbers
from fusepy.ir.oracle import Oracle
from fusepy.ir.resolve.settle import settle
from fusepy.ir.types import DOUBLE, FLOAT

_OPERATORS = frozenset(("add", "sub", "mul", "div", "floordiv", "mod", "pow", "neg", "abs"))  # which Python computes call by call


def with_digits(graph: Graph, oracle: Oracle) -> Graph:
    """Returns a traced graph in which operators of Python's floats compute doubles where these are wanted, as Python does.

    Other uses of such a result take it with 32 bits, as before.
    """
    made: dict[Value, Node] = {}
    for node in graph.nodes:
        if node.op.name in _OPERATORS and node.results[0].weak and _is_number(node.results[0]):
            made[node.results[0]] = node
    if not made:
        return graph
    takes = {node: _taken(node, made, oracle) for node in graph.nodes}
    wanted = {node.operands[i] for node, places in takes.items() for i in places}
    if not wanted:
        return graph
    for node in reversed(graph.nodes):
        if node.results and node.results[0] in wanted:
            wanted.update(v for v in node.operands if v in made)
    doubles: dict[Value, Value] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if takes[node]:
            given = [doubles[v] if i in takes[node] else v for i, v in enumerate(node.operands)]
            nodes.append(Node(node.op, given, node.maps, node.results, node.attrs, node.loc, node.bodies))
        else:
            nodes.append(node)
        if node.results and node.results[0] in wanted:
            operands = [doubles[v] if v in wanted else _widened(v, doubles, nodes) for v in node.operands]
            results = node.op.infer(Node(node.op, operands, node.maps, (), node.attrs, node.loc), oracle)
            nodes.append(Node(node.op, operands, node.maps, results, node.attrs, node.loc))
            doubles[node.results[0]] = results[0]
    return graph.replace(nodes=nodes)


def _is_number(value: Value) -> bool:
    return value.type is FLOAT and not value.rank and of_numbers([value])


def _taken(node: Node, made: dict[Value, Node], oracle: Oracle) -> set[int]:
    """Returns the places of operands that a node takes as doubles, of those that are computed numbers."""
    if made.keys().isdisjoint(node.operands):
        return set()
    maps = settle(node, oracle)[0]
    scalars = [node.op.wanted(node, i) if m.type is None else m.type.scalar for i, m in enumerate(maps)]
    return {i for i, (v, scalar) in enumerate(zip(node.operands, scalars)) if v in made and scalar is DOUBLE}


def _widened(value: Value, doubles: dict[Value, Value], nodes: list[Node]) -> Value:
    """Returns another number as a double; the resolution gives all digits of one of the program or the call."""
    if value not in doubles:
        doubles[value] = Value(DOUBLE, weak=True)
        nodes.append(Node(OPS["construct"], [value], [UNSAID], [doubles[value]], {"type": DOUBLE.name}))
    return doubles[value]
