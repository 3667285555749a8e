"""Comparisons of Python's floats, which are doubles, and of NumPy's, which have their own bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.arithmetic import COMPARISONS
from fusepy.ir.ops.base import with_attrs
from fusepy.ir.ops.control import Cond, Control
from fusepy.ir.ops.promotion import of_numbers
from fusepy.ir.types import DOUBLE, FLOAT, Kind
from fusepy.passes.digits.wide import OF_PYTHON
from fusepy.passes.rewrite import with_bodies

_SHORT = (np.dtype(np.float16), np.dtype(np.float32))


def compared(graph: Graph, given: Mapping[Value, tuple[int, Any]]) -> Graph:
    """Returns a traced graph that compares Python's floats as doubles, as Python does.

    Args:
        given: the arguments, with their places. NumPy compares its floats with fewer bits as such, and what it computes of them.
    """
    for node in graph.nodes:  # most programs compare no numbers
        if node.bodies or node.op.name in COMPARISONS:
            return _compared(graph, {v: x.dtype for v, (_, x) in given.items() if isinstance(x, np.generic)})
    return graph


def _compared(graph: Graph, numpys: dict[Value, np.dtype[Any]]) -> Graph:
    """Does the same, also in bodies.

    Args:
        numpys: the dtypes of the numbers that are NumPy's; those of results are added.
    """
    nodes: list[Node] = []
    for node in graph.nodes:
        if "numpy" in node.attrs:  # of a literal
            numpys[node.results[0]] = np.dtype(node.text("numpy"))
        nodes.append(_with_bodies_compared(node, numpys) if node.bodies else _with_doubles(node, numpys))
        if node.op.name in OF_PYTHON and node.results[0].weak and not numpys.keys().isdisjoint(node.operands):
            numpys[node.results[0]] = _dtype(node, numpys)
    return graph.replace(nodes=nodes)


def _with_bodies_compared(node: Node, numpys: dict[Value, np.dtype[Any]]) -> Node:
    if isinstance(node.op, Control):
        for body in node.bodies:
            pairs = zip(node.operands[node.op.ahead :], body.inputs[node.op.own :])
            numpys.update((inner, numpys[value]) for value, inner in pairs if value in numpys)
    made = with_bodies(node, lambda body: _compared(body, numpys))
    if isinstance(node.op, Cond):  # gives what its branch gives; loops give Python's numbers
        for value, *outputs in zip(node.results, *(body.outputs for body in node.bodies)):
            if found := [numpys[v] for v in outputs if v in numpys]:
                numpys[value] = np.result_type(*found)
    return made


def _with_doubles(node: Node, numpys: Mapping[Value, np.dtype[Any]]) -> Node:
    operands = node.operands
    if node.op.name not in COMPARISONS or not of_numbers(operands) or all(v.type is not FLOAT for v in operands):
        return node
    if any(v.rank or v.type.kind is not Kind.SCALAR for v in operands):
        return node
    short = not numpys.keys().isdisjoint(operands) and _dtype(node, numpys) in _SHORT
    return node if short else with_attrs(node, type=DOUBLE.name)


def _dtype(node: Node, numpys: Mapping[Value, np.dtype[Any]]) -> np.dtype[Any]:
    """Returns the dtype in which NumPy computes an operator: Python's numbers take that of NumPy's."""
    numbers = [numpys.get(v, 0.0 if v.type.is_float else 0) for v in node.operands]
    return np.result_type(*numbers, 0.0 if node.op.name == "div" else 0)
