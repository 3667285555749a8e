"""Derivatives of loops and branches: their bodies are differentiated like programs, for single elements."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.differential import differential
from fusepy.derivatives.refused import levels_in_body
from fusepy.derivatives.terms import Term, Terms
from fusepy.derivatives.visit import Visit
from fusepy.errors import GradientError
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.resources import reads_graded
from fusepy.ir.types import FLOAT, INT, Type
from fusepy.ir.whole import gathers


def branch(v: Visit) -> list[Term | None]:
    """Records the gradient of a ``cond``: another one, whose branches are the gradients of its branches."""
    t, x = v.terms, v.operands
    wrt = [i for i in v.wanted if i and differential(x[i].type, v.oracle) is not None]
    seeds = [j for j, g in enumerate(v.gradients) if g is not None]
    whole = [i for i in v.wanted if gathers(x[i].type) or reads_graded(x[i].type)]
    if not (wrt or whole):
        return [None] * len(x)
    arrays = [_array(v, i) for i in whole]
    types = [a.type for a in arrays]
    made = [v.adjoint(b, b.name, [b.inputs[i - 1] for i in (*wrt, *whole)], seeds, types) for b in v.node.bodies]
    places = sorted({place for _, found in made for place in found})
    bodies = [_with_settings(body, found, places) for body, found in made]
    gradients = [t.exact(g, result.type) for g, result in zip(v.gradients, v.node.results) if g is not None]
    operands = [*x, *gradients, *arrays, *(v.setting(place + 1) for place in places)]
    found = dict(zip(wrt, t.node("cond", operands, {}, bodies)))
    return [found.get(i) for i in range(len(x))]


def _array(v: Visit, i: int) -> Term:
    """Returns the array to which the node adds the gradients of an operand that it reads whole.

    Raises:
        GradientError: for a texture with several mip levels.
    """
    first, *levels = v.arrays(i)
    if levels:
        raise levels_in_body(v.node, v.operands[i].type, 1 + len(levels))
    return first


def _with_settings(body: Graph, have: Sequence[int], want: Sequence[int]) -> Graph:
    """Returns the gradient of a branch, which has the settings of the inputs `have`, with those of `want` as its last inputs."""
    count = len(body.inputs) - len(have)
    known = dict(zip(have, body.inputs[count:]))
    last = [known.get(place) or Value(FLOAT, (), name=f"setting_{place}") for place in want]
    return body.replace(inputs=[*body.inputs[:count], *last])


def loop(v: Visit) -> list[Term | None]:
    """Records the gradient of a loop: a ``loop_vjp``.

    Raises:
        GradientError: if the number of steps has no limit.
    """
    t, x, node = v.terms, v.operands, v.node
    counted = node.op.name == "fori_loop"
    bounds, carries = (2 if counted else 0), len(node.results)
    body, test = _indexed(node.bodies[-1], counted), None if counted else _indexed(node.bodies[0], False)
    types = [differential(output.type, v.oracle) for output in body.outputs]
    through = [j for j in range(carries) if types[j] is not None]
    outside = [i for i in v.wanted if i >= bounds + carries and differential(x[i].type, v.oracle) is not None]
    if not through:
        return [None] * len(x)
    wrt = [body.inputs[1 + j] for j in through] + [body.inputs[1 + i - bounds] for i in outside]
    whole = [i for i in v.wanted if gathers(x[i].type) or reads_graded(x[i].type)]
    arrays = [_array(v, i) for i in whole]
    inputs = [*wrt, *(body.inputs[1 + i - bounds] for i in whole)]
    back, places = v.adjoint(body, "back", inputs, through, [a.type for a in arrays])
    gradients = [_given(t, v.gradients[j], node.results[j], types[j]) for j in through]
    attrs: dict[str, Attr] = {
        "steps": _steps(node, x, counted),
        "counts": (str(bounds), str(carries), str(len(through))),
        "of": tuple(str(value.type) for value in wrt),
    }
    tested = test or Graph("test", body.inputs, [], [])
    operands = [*x, *gradients, *arrays, *(v.setting(place - 1 + bounds) for place in places)]
    made = t.node("loop_vjp", operands, attrs, [tested, body, back])
    found = dict(zip([bounds + j for j in through] + outside, made))
    return [found.get(i) for i in range(len(x))]


def _indexed(body: Graph, counted: bool) -> Graph:
    """Returns a body whose first input is the index; that of a ``while_loop`` has none."""
    return body if counted else Graph(body.name, [Value(INT, (), name="step"), *body.inputs], body.nodes, body.outputs)


def _given(t: Terms, g: Term | None, result: Value, type: Type | None) -> Term:
    assert type is not None
    if g is not None:
        return t.exact(g, result.type)
    return t.zero(result.type, type)


def _steps(node: Node, x: Sequence[Term], counted: bool) -> int:
    most = node.attrs.get("max_steps")
    if isinstance(most, int):
        return most
    if counted:
        lo, hi = (t.constant for t in x[:2])
        if isinstance(lo, int) and isinstance(hi, int):
            return max(hi - lo, 0)
    raise unlimited(node.op.name, node.loc)


def unlimited(op: str, place: str | None) -> GradientError:
    """Returns the error about the gradient of a loop whose number of steps has no limit."""
    bounds, call = ("whose bounds are no Python integers, ", "lo, hi") if op == "fori_loop" else ("", "test")
    return GradientError(
        f"the gradient of a {op} {bounds}without max_steps",
        place=place,
        hint=f"write fp.{op}({call}, body, init, max_steps=…): a gradient keeps states of so many steps",
    )


def copied(body: Graph, builder: Builder) -> dict[Value, Value]:
    """Adds the nodes of a body to those of a builder, and returns the values that stand for its values."""
    fresh = {v: Value(v.type, (), arrival=v.arrival, weak=v.weak, name=v.name) for v in body.inputs}
    for node in body.nodes:
        results = [Value(v.type, v.dims, weak=v.weak) for v in node.results]
        fresh.update(zip(node.results, results))
        operands = [fresh[v] for v in node.operands]
        builder.nodes.append(Node(node.op, operands, node.maps, results, node.attrs, node.loc, node.bodies))
    return fresh
