"""Derivatives of loops and branches: their bodies are differentiated like programs, for single elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fusepy.derivatives.calls import ArrayOf, differential
from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import GradientError
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import INT, Type
from fusepy.ir.whole import gathers

# the gradient of a body: of the body, its name, the inputs that have gradients, and which outputs have one. Its inputs are those
# of the body, the gradients of these outputs, and an array for each whole array among the inputs that have gradients; its outputs
# are the gradients of the other ones
Adjoint = Callable[[Graph, str, Sequence[Value], Sequence[int]], Graph]


def branch(
    t: Terms,
    node: Node,
    x: Sequence[Term],
    given: Sequence[Term | None],
    wanted: Sequence[int],
    array: ArrayOf,
    adjoint: Adjoint,
    oracle: Oracle,
) -> list[Term | None]:
    """Records the gradient of a ``cond``: another one, whose branches are the gradients of its branches."""
    wrt = [i for i in wanted if i and differential(x[i].type, oracle) is not None]
    seeds = [j for j, g in enumerate(given) if g is not None]
    whole = [i for i in wanted if gathers(x[i].type)]
    if not (wrt or whole):
        return [None] * len(x)
    bodies = [adjoint(body, body.name, [body.inputs[i - 1] for i in (*wrt, *whole)], seeds) for body in node.bodies]
    gradients = [exact(t, g, v.type) for g, v in zip(given, node.results) if g is not None]
    made = dict(zip(wrt, t.node("cond", [*x, *gradients, *map(array, whole)], {}, bodies)))
    return [made.get(i) for i in range(len(x))]


def loop(
    t: Terms,
    node: Node,
    x: Sequence[Term],
    given: Sequence[Term | None],
    wanted: Sequence[int],
    array: ArrayOf,
    adjoint: Adjoint,
    oracle: Oracle,
) -> list[Term | None]:
    """Records the gradient of a loop: a ``loop_vjp``.

    Raises:
        GradientError: if the number of steps has no limit.
    """
    counted = node.op.name == "fori_loop"
    bounds, carries = (2 if counted else 0), len(node.results)
    body, test = _indexed(node.bodies[-1], counted), None if counted else _indexed(node.bodies[0], False)
    types = [differential(v.type, oracle) for v in body.outputs]
    through = [j for j in range(carries) if types[j] is not None]
    outside = [i for i in wanted if i >= bounds + carries and differential(x[i].type, oracle) is not None]
    if not through:
        return [None] * len(x)
    wrt = [body.inputs[1 + j] for j in through] + [body.inputs[1 + i - bounds] for i in outside]
    whole = [i for i in wanted if gathers(x[i].type)]
    back = adjoint(body, "back", [*wrt, *(body.inputs[1 + i - bounds] for i in whole)], through)
    gradients = [_given(t, given[j], node.results[j], types[j]) for j in through]
    attrs: dict[str, Attr] = {
        "steps": _steps(node, x, counted),
        "counts": (str(bounds), str(carries), str(len(through))),
        "of": tuple(str(v.type) for v in wrt),
    }
    tested = test or Graph("test", body.inputs, [], [])
    made = t.node("loop_vjp", [*x, *gradients, *map(array, whole)], attrs, [tested, body, back])
    found = dict(zip([bounds + j for j in through] + outside, made))
    return [found.get(i) for i in range(len(x))]


def _indexed(body: Graph, counted: bool) -> Graph:
    """Returns a body whose first input is the index; that of a ``while_loop`` has none."""
    return body if counted else Graph(body.name, [Value(INT, (), name="step"), *body.inputs], body.nodes, body.outputs)


def _given(t: Terms, g: Term | None, result: Value, type: Type | None) -> Term:
    assert type is not None
    if g is not None:
        return exact(t, g, result.type)
    return t.zero(result.type, type)


def exact(t: Terms, g: Term, type: Type) -> Term:
    """Returns a gradient in exactly the type of what it belongs to."""
    return t.cast(g, type) if type.is_numeric else g


def _steps(node: Node, x: Sequence[Term], counted: bool) -> int:
    most = node.attrs.get("max_steps")
    if isinstance(most, int):
        return most
    if counted:
        lo, hi = (t.constant for t in x[:2])
        if isinstance(lo, int) and isinstance(hi, int):
            return max(hi - lo, 0)
    what = "fori_loop whose bounds are no Python integers" if counted else "while_loop without max_steps"
    raise GradientError(
        f"the gradient of a {what}",
        place=node.loc,
        hint="write fp.while_loop(test, body, init, max_steps=…): a gradient keeps the states of so many steps",
    )
