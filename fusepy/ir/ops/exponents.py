"""Exponents of integer powers that a call passes as numbers: negative ones are refused, as in the program itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fusepy.ir.graph import Graph, Value
from fusepy.ir.ops.control import Control, Loop
from fusepy.ir.types import Type


def given_exponents(graph: Graph) -> Iterator[tuple[Value, Type]]:
    """Yields the inputs that are the exponent of an integer power, in loops and branches too, each with the power's type."""
    yield from _within(graph, {v: v for v in graph.inputs if v.arrival.plain and not v.rank})


def _within(graph: Graph, inputs: Mapping[Value, Value]) -> Iterator[tuple[Value, Type]]:
    given = dict(inputs)
    for node in graph.nodes:
        if node.op.name == "cast" and node.operands[0] in given:  # such as that of a vcast to the type that the number has
            given[node.results[0]] = given[node.operands[0]]
        if node.op.name == "pow" and node.operands[1] in given and not node.results[0].type.is_float:
            yield given[node.operands[1]], node.results[0].type
        if isinstance(node.op, Control):
            changing = set(node.op.carries(node)) if isinstance(node.op, Loop) else set[Value]()
            for body in node.bodies:
                passed = zip(body.inputs[node.op.own :], node.operands[node.op.ahead :])
                yield from _within(body, {v: given[o] for v, o in passed if o in given and v not in changing})
