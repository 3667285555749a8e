"""Derivatives of loops and branches: their bodies are differentiated like programs, for single elements."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.differential import differential
from fusepy.derivatives.refused import levels_in_body
from fusepy.derivatives.terms import Term, Terms
from fusepy.derivatives.visit import Pushed, Visit
from fusepy.errors import GradientError
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.oracle import Oracle
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
    """Returns the gradient of a branch with the settings of `want` as its last inputs, in place of those of `have`."""
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
        "wrt": tuple(str(i) for i in [*(bounds + j for j in through), *outside]),
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


# ---- forward mode -----------------------------------------------------------------------------------------------------


def branch_tangents(
    t: Terms, node: Node, x: Sequence[Term], dx: Sequence[Term | None], oracle: Oracle, pushed: Pushed
) -> list[Term | None]:
    """Records the tangents of a ``cond``: another one, whose branches give the tangents of its branches."""
    wrt = [i for i, d in enumerate(dx) if d is not None]
    through = [j for j, v in enumerate(node.results) if differential(v.type, oracle) is not None]
    bodies = [pushed(b, [i - 1 for i in wrt], through, None) for b in node.bodies]
    made = dict(zip(through, t.node("cond", [*x, *(d for d in dx if d is not None)], {}, bodies)))
    return [made.get(j) for j in range(len(node.results))]


def loop_tangents(
    t: Terms, node: Node, x: Sequence[Term], dx: Sequence[Term | None], oracle: Oracle, pushed: Pushed
) -> list[Term | None]:
    """Records the tangents of a loop."""
    operands, bodies, through = loop_with_tangents(t, node, x, dx, oracle, pushed)
    found = t.node(node.op.name, operands, node.attrs, bodies)[len(node.results) :]
    made = dict(zip(through, found))
    return [made.get(j) for j in range(len(node.results))]


def loop_with_tangents(
    t: Terms, node: Node, x: Sequence[Term], dx: Sequence[Term | None], oracle: Oracle, pushed: Pushed
) -> tuple[list[Term], list[Graph], list[int]]:
    """Returns a loop that carries tangents beside what it carries: operands, bodies, and which carries have tangents.

    The operands are the bounds, the carries, their tangents, the values from outside, and the tangents of these.
    """
    bounds = 2 if node.op.name == "fori_loop" else 0
    body, own, carries = node.bodies[-1], min(bounds, 1), len(node.results)
    types = [differential(v.type, oracle) for v in node.results]
    through = [j for j, type in enumerate(types) if type is not None]
    outside = [i for i, d in enumerate(dx) if d is not None and i >= bounds + carries]
    wrt = [*(own + j for j in through), *(own + i - bounds for i in outside)]
    given = [dx[bounds + j] or t.zero(node.results[j].type, types[j] or FLOAT) for j in through]
    first, last = x[: bounds + carries], x[bounds + carries :]
    around = [d for d in dx[bounds + carries :] if d is not None]
    bodies = [pushed(body, wrt, through, own + carries)]
    if not bounds:
        test = node.bodies[0]
        names = new_names(test.inputs, len(given) + len(around))
        unused = [Value(d.type, (), name=name) for d, name in zip([*given, *around], names)]
        inputs = [*test.inputs[:carries], *unused[: len(given)], *test.inputs[carries:], *unused[len(given) :]]
        bodies = [Graph(test.name, inputs, test.nodes, test.outputs), *bodies]
    return [*first, *given, *last, *around], bodies, through


# ---- bodies -----------------------------------------------------------------------------------------------------------


def copied(body: Graph, builder: Builder) -> dict[Value, Value]:
    """Adds the nodes of a body to those of a builder, and returns the values that stand for its values."""
    fresh = {v: Value(v.type, (), arrival=v.arrival, weak=v.weak, name=v.name) for v in body.inputs}
    for node in body.nodes:
        results = [Value(v.type, v.dims, weak=v.weak) for v in node.results]
        fresh.update(zip(node.results, results))
        operands = [fresh[v] for v in node.operands]
        builder.nodes.append(Node(node.op, operands, node.maps, results, node.attrs, node.loc, node.bodies))
    return fresh


def new_names(inputs: Sequence[Value], count: int, of: str = "tangent") -> list[str]:
    """Returns names of tangents or gradients that no input has."""
    taken = {v.name for v in inputs}
    names = (f"{of}_{k}" for k in range(count + len(taken)))
    return [name for name in names if name not in taken][:count]
