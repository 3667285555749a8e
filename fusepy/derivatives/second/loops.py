"""Derivatives of a ``loop_vjp``: of the gradient of a loop. They are gradients of the loop that carries tangents as well."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.control import loop, loop_with_tangents
from fusepy.derivatives.refused import read_twice, written
from fusepy.derivatives.tangents import summed
from fusepy.derivatives.terms import Term, Terms
from fusepy.derivatives.visit import Adjoint, Pushed, Visit
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.loop_vjp import node_steps
from fusepy.ir.ops.vjp import numbers
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type


def of_loop_vjp(v: Visit) -> list[Term | None]:
    """Records the gradient of a ``loop_vjp`` and returns those of its operands.

    Raises:
        GradientError: if the loop adds to arrays, or a call in it cannot be differentiated twice.
    """
    primal, end = _loop(v.node)
    read_twice(v.node, [v.operands[i].type for i in v.wanted])
    weights: list[Term | None] = [None] * end
    for i, g in zip(numbers(v.node, "wrt"), v.gradients):
        weights[i] = None if g is None else v.terms.exact(g, v.operands[i].type)
    moved = _Moved(v.terms, primal, v.operands[:end], weights, v.oracle, v.pushed)
    back = moved.gradients([i for i in v.wanted if i < end], v.operands[end:], v.adjoint)
    return [*back, *moved.tangents]


def tangent_of_loop_vjp(
    t: Terms, node: Node, x: Sequence[Term], dx: Sequence[Term | None], oracle: Oracle, pushed: Pushed, adjoint: Adjoint
) -> list[Term]:
    """Records the tangents of a ``loop_vjp`` and returns those of its results.

    Raises:
        GradientError: if the loop adds to arrays, or a call in it cannot be differentiated twice.
    """
    primal, end = _loop(node)
    wrt, of = numbers(node, "wrt"), [Type.parse(name) for name in node.words("of")]
    parts: list[list[Term]] = []
    if any(dx[end:]):
        given = [d or t.zero(type, g.type) for type, d, g in zip(of, dx[end:], x[end:])]
        parts.append(t.node("loop_vjp", [*x[:end], *given], node.attrs, node.bodies))
    if any(dx[:end]):
        back = _Moved(t, primal, x[:end], dx[:end], oracle, pushed).gradients(wrt, x[end:], adjoint)
        parts.append([back[i] or t.zero(type, v.type) for i, type, v in zip(wrt, of, node.results)])
    return [summed(t, type.name, both) for type, both in zip(of, zip(*parts))]


def _loop(node: Node) -> tuple[Node, int]:
    """Returns the loop that a ``loop_vjp`` is the gradient of, and the number of its operands.

    Raises:
        GradientError: if the node adds to arrays.
    """
    bounds, _, through = numbers(node, "counts")
    test, body, _ = node.bodies
    end = bounds + len(body.inputs) - 1
    if len(node.operands) > end + through:
        raise written(node, node.operands[-1])
    bodies = [body] if bounds else [Graph(b.name, b.inputs[1:], b.nodes, b.outputs) for b in (test, body)]
    results = [Value(v.type, ()) for v in body.outputs]
    attrs: dict[str, Attr] = {"max_steps": node_steps(node)}
    op = OPS["fori_loop" if bounds else "while_loop"]
    return Node(op, node.operands[:end], node.maps[:end], results, attrs, node.loc, bodies), end


class _Moved:
    """A loop that carries tangents beside what it carries.

    Args:
        primal: the loop.
        dx: the tangents of its operands `x`.

    Attributes:
        tangents: of its results, without those that have none.
    """

    def __init__(self, t: Terms, primal: Node, x: Sequence[Term], dx: Sequence[Term | None], oracle: Oracle, pushed: Pushed):
        self.t, self.oracle, self.pushed = t, oracle, pushed
        self.operands, bodies, through = loop_with_tangents(t, primal, x, dx, oracle, pushed)
        self.results = t.node(primal.op.name, self.operands, primal.attrs, bodies)
        self.node, carries = t.builder.nodes[-1], len(primal.results)
        self.tangents = self.results[carries:]
        first = (2 if primal.op.name == "fori_loop" else 0) + carries
        self.places = [i if i < first else i + len(through) for i in range(len(x))]

    def gradients(self, of: Sequence[int], given: Sequence[Term], adjoint: Adjoint) -> list[Term | None]:
        """Records the gradients of operands of the loop, for those given of the tangents, and returns one for each operand."""
        gradients = [*[None] * (len(self.results) - len(given)), *given]
        wanted = [self.places[i] for i in of]
        constants: dict[Value, Node] = {}
        held = (_unasked, constants, _no_arrays, _unasked, adjoint, self.pushed, self.oracle)
        found = loop(Visit(self.t, self.node, self.node.attrs, self.operands, self.results, gradients, wanted, *held))
        return [found[self.places[i]] if i in of else None for i in range(len(self.places))]


def _unasked(*_: object) -> Term:
    raise AssertionError("a loop asks for no extents, and this one samples nothing")


def _no_arrays(i: int) -> Sequence[Term]:
    raise AssertionError("this loop reads nothing whole")
