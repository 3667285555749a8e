"""The chart of a graph that has not been called."""

from __future__ import annotations

from typing import Any

from fusepy.functions.nodes import GraphValue, Use, graph_values, name_of, origin_of
from fusepy.graphs.wiring import Wiring
from fusepy.inspect.chart import Box, Chart
from fusepy.pytree import flatten


def wiring_chart(wiring: Wiring) -> Chart:
    """Draws the inputs of a graph, its nodes, and its outputs."""
    chart = Chart(wiring.name)
    at: dict[GraphValue, int] = {}
    for value in wiring.inputs:
        at[value] = chart.add(Box("argument", (name_of(value),)))
    for use in wiring.order():
        given = [(at[v], "") for v in graph_values([use.args, use.kwargs])]
        box = chart.add(Box("node", (use.name, *_constants(use)), use.loc), given)
        at.update(dict.fromkeys(use.results, box))
    outputs = flatten(wiring.outputs)[0]
    for j, value in enumerate(outputs):
        name = "result" if len(outputs) == 1 else f"result {j}"
        if isinstance(value, GraphValue):
            chart.add(Box("result", (name,)), [(at[value], _which(value))])
        else:
            chart.add(Box("result", (name, _short(value))))
    return chart


def _constants(use: Use) -> tuple[str, ...]:
    """Returns the arguments of a call that are known."""
    given = {**{f"#{i}": v for i, v in enumerate(use.args)}, **use.kwargs}
    known = [f"{name} = {_short(v)}" for name, v in given.items() if not graph_values(v)]
    return (", ".join(known),) if known else ()


def _which(value: GraphValue) -> str:
    """Returns the index of a value among several results of its node, as text."""
    use = origin_of(value)
    return "" if use is None or len(use.results) < 2 else f"[{next(i for i, v in enumerate(use.results) if v is value)}]"


def _short(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__}{list(shape)}"  # pyright: ignore[reportUnknownArgumentType]
    text = repr(value)
    return text if len(text) <= 24 else f"{text[:23]}…"
