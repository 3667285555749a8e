"""Programs after hints about render graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import (
    Program,
    X,
    graph,
    over,
)
from tests.support.slang_functions import ramp


def two_graphs(m: Any, join: Any) -> Any:
    a, b = fp.Graph(inputs=["x"]), fp.Graph(inputs=["y"])
    join(a, b, *a.get_inputs(), *b.get_inputs())
    return a(X)


def unpacked(g: Any, results: Any) -> None:
    a, b, c = results
    g.set_outputs(a, b, c)


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # graphs
    "a graph's value in a call": (
        lambda m: graph(lambda g, x: g.set_outputs(m.add(x, 1.0)), X),
        "call the node of the function: f.node()(value)",
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x, 1.0)), X),
        X + 1,
    ),
    "a graph without outputs": (
        lambda m: graph(lambda g, x: None, X),
        "say what it returns with set_outputs(…)",
        lambda m: graph(lambda g, x: g.set_outputs(x + 1), X),
        X + 1,
    ),
    "a graph whose outputs are set twice": (
        lambda m: graph(lambda g, x: [g.set_outputs(x + 1), g.set_outputs(x)], X),
        "return several as set_outputs(a, b)",
        lambda m: graph(lambda g, x: g.set_outputs(x + 1, x), X)[0],
        X + 1,
    ),
    "a graph of one name": (
        lambda m: fp.Graph(inputs="x"),
        'write Graph(inputs=["x", "k"])',
        lambda m: graph(lambda g, x: g.set_outputs(x + 1), X),
        X + 1,
    ),
    "the truth of a graph's value": (
        lambda m: graph(lambda g, x: g.set_outputs(x if x > 0 else -x), X),
        "in a fused function with fusepy.where",
        lambda m: graph(lambda g, x: g.set_outputs(fp.fuse(lambda v: fp.where(v > 0.25, v, -v)).node()(x)), X),
        np.where(ramp(3) > 0.25, X, -X),
    ),
    # graphs
    "values of two graphs": (
        lambda m: two_graphs(m, lambda a, b, x, y: m.add.node()(x, y)),
        "take one graph as a node of the other: g.node()",
        lambda m: two_graphs(m, lambda a, b, x, y: (b.set_outputs(y + 1), a.set_outputs(b.node()(x)))),
        X + 1,
    ),
    "an output of another graph": (
        lambda m: two_graphs(m, lambda a, b, x, y: a.set_outputs(y + 1)),
        "call nodes with what get_inputs() returns",
        lambda m: two_graphs(m, lambda a, b, x, y: a.set_outputs(x + 1)),
        X + 1,
    ),
    "a node after the outputs": (
        lambda m: graph(lambda g, x: (g.set_outputs(x + 1), m.add.node()(x, 1.0)), X),
        "call all nodes before set_outputs()",
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x, 1.0)), X),
        X + 1,
    ),
    "a graph in itself": (
        lambda m: graph(lambda g, x: g.set_outputs(g.node(outputs=1)(x)), X),
        "a loop on the device is fusepy.fori_loop or while_loop in a fused function, which is a node",
        lambda m: graph(
            lambda g, x: g.set_outputs(fp.fuse(lambda v: fp.fori_loop(0, 3, lambda i, c: c + 1, v)).node(outputs=1)(x)), X
        ),
        X + 3,
    ),
    "a graph without outputs as a node": (
        lambda m: two_graphs(m, lambda a, b, x, y: a.set_outputs(b.node()(x))),
        "call set_outputs(…) first, or say how many there will be: graph.node(outputs=1)",
        lambda m: two_graphs(m, lambda a, b, x, y: (a.set_outputs(b.node(outputs=1)(x)), b.set_outputs(y + 1))),
        X + 1,
    ),
    "overloads with two counts of results": (
        lambda m: graph(lambda g, x: g.set_outputs(over(m).split.node()(x)), X),
        "split.node(outputs=1)",
        lambda m: graph(lambda g, x: g.set_outputs(over(m).split.node(outputs=1)(x)), X),
        X,
    ),
    "more results than were said": (
        lambda m: graph(lambda g, x: g.set_outputs(*fp.fuse(lambda v: (v, v, -v)).node(outputs=2)(x)), X),
        ".node(outputs=3)",
        lambda m: graph(lambda g, x: g.set_outputs(*fp.fuse(lambda v: (v, v, -v)).node(outputs=3)(x)), X)[2],
        -X,
    ),
    "a count of results with a point": (
        lambda m: m.add.node(outputs=1.5),
        "leave it out for a Slang function or a graph: they know the number of their results",
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x, 1.0)), X),
        X + 1,
    ),
    "another count of results": (
        lambda m: graph(lambda g, x: g.set_outputs(*m.add.node(outputs=2)(x, 1.0)), X),
        "leave outputs out for a Slang function or a graph: they know the number of their results",
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x, 1.0)), X),
        X + 1,
    ),
    "three names for two results": (
        lambda m: graph(lambda g, x: unpacked(g, over(m).halves.node()(x)), X),
        "take as many as there are",
        lambda m: graph(lambda g, x: g.set_outputs(*over(m).halves.node()(x)), X)[1],
        1.5 * X,
    ),
    "the rows of a graph's value in a list": (
        lambda m: graph(lambda g, x: g.set_outputs(sum(list(x))), X),
        "its parts are taken by index, or by a, b = value",
        lambda m: graph(lambda g, x: unpacked(g, x), X)[1],
        X[1],
    ),
    "too few arguments of a node": (
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x)), X),
        "pass a value for each parameter that is not an out parameter",
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x, 1.0)), X),
        X + 1,
    ),
    "a node of nothing": (
        lambda m: over(m).nothing.node()(2.0),
        "pass a value of the graph: it tells which graph the node is in",
        lambda m: graph(lambda g, x: (over(m).nothing.node()(x), g.set_outputs(x + 1)), X),
        X + 1,
    ),
}
