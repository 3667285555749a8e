"""Gradients of one element of each row, such as the score of a label: where its index is, there is the gradient.

No two threads add to the same element, so nothing is cleared and added to: such a gradient joins the kernel of what follows.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.extents import Pick
from fusepy.derivatives.members import on_grid, result_dims
from fusepy.derivatives.sums import Gradients
from fusepy.derivatives.terms import Term, Terms
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.doubles import is_long
from fusepy.ir.types import INT


def add_picked(gradients: Gradients, t: Terms, node: Node, operands: Sequence[Term], pick: Pick) -> bool:
    """Adds the gradient of the array that a call takes its elements of.

    Returns:
        False if the gradient of an element takes long to compute: each element of a row would compute it again.
    """
    (result,) = node.results
    given = on_grid(gradients.one(result), result_dims(node, result.rank))
    if _is_dear(t, given.value):
        return False
    gradients.add(node.operands[0], _of_array(t, pick, operands[1 + pick.axis], given))
    return True


def _is_dear(t: Terms, value: Value) -> bool:
    """True for a value that a loop, a branch or a function of the user computes, element by element."""
    made = {v: node for node in t.builder.nodes for v in node.results}
    stack, seen = [value], set[Value]()
    while stack:
        node = made.get(stack.pop())
        if node is None or not node.op.spreads:
            continue
        if node.bodies or node.op.name == "slang.call" or is_long(node):
            return True
        stack += [v for v in node.operands if v not in seen]
        seen.update(node.operands)
    return False


def _of_array(t: Terms, pick: Pick, index: Term, gradient: Term) -> Term:
    """Returns the gradient of the array, from that of the elements at `index`; indices outside mean what they do in `take`."""
    index, gradient = (_on_array(t, pick, term) for term in (t.cast(t.loaded(index), INT), gradient))
    at, length = Term(t, pick.coordinates, (pick.axis,)), Term(t, pick.length, ())
    index = t.where(index < 0, index + length, index)
    index = t.op("clip", index, 0, length - 1)
    return t.where(at.equals(index), gradient, t.zero(gradient.type, gradient.type))


def _on_array(t: Terms, pick: Pick, term: Term) -> Term:
    """Returns a term over the dimensions of the call as one over the axes of the array."""
    return Term(t, term.value, tuple(pick.axes[d] for d in term.dims), term.wants)
