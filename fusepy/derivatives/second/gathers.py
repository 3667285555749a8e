"""Derivatives of the gradients of elements that are read at indices, by ``x[i]`` and `fusepy.take`.

Such a gradient is a ``vjp`` that adds the gradient of each element to a ``gradient_array``. This is linear in what is added. Its
gradient is made of the elements of the array's gradient at the same indices. Its tangent is added to another array.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.differential import differential
from fusepy.derivatives.terms import Term, Terms, spread
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.vjp import arrays
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type
from fusepy.ir.whole import is_taken


def adds_elements(node: Node) -> bool:
    """True for a ``vjp`` that adds to an array the gradients of elements that a function of fusepy's has read at indices.

    Its last operands are the gradient of the elements, and the array.
    """
    return node.op.name == "vjp" and bool(arrays(node)) and is_taken(node.bodies[0].nodes[-1])


def gradient_of_added(t: Terms, node: Node, x: Sequence[Term], gradient: Value, oracle: Oracle) -> Term:
    """Records the gradient of what a node adds to an array, over the grid of the node.

    Args:
        x: the operands of the node.
        gradient: that of the array.
    """
    body = node.bodies[0]
    call = body.nodes[-1]
    known = dict(zip(body.inputs, x))
    for n in body.nodes[:-1]:  # numbers of the program
        known[n.results[0]] = Term(t, t.builder.add(n.op, [], attrs=n.attrs, loc=n.loc)[0], ())
    array = call.operands[0].type
    element = None if array.element is None else differential(array.element, oracle)
    assert element is not None, array
    if gradient.type.scalar is not None:  # gradients of halfs are added as floats
        element = element.with_scalar(gradient.type.scalar)
    read = Term(t, gradient, (), Type.whole("fusepy::Tensor", element, array.rank))
    (made,) = t.node(call.op.name, [read, *(known[v] for v in call.operands[1:])], call.attrs)
    return t.exact(made, x[-2].type)


def tangent_of_added(t: Terms, node: Node, x: Sequence[Term], moved: Term, array: Value) -> None:
    """Adds the tangents of what a node adds to an array, to the tangent of the array."""
    t.node("vjp", [*x[:-2], moved, Term(t, array, (), x[-1].wants)], node.attrs, node.bodies)


def array_like(t: Terms, made: Node) -> Value:
    """Records an array of zeros like the result of a ``gradient_array``."""
    return t.node(made.op.name, [spread(t, v, m) for v, m in zip(made.operands, made.maps)], made.attrs)[0].value
