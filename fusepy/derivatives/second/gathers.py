"""Derivatives of the gradients of elements that are read at indices, by ``x[i]`` and `fusepy.take`.

Such a gradient is a ``vjp`` that adds the gradient of each element to a ``gradient_array``. This is linear in what is added. Its
gradient is made of the elements of the array's gradient at the same indices. Its tangent is added to another array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fusepy.derivatives.differential import differential
from fusepy.derivatives.elementwise import FLAT
from fusepy.derivatives.memory.rereads import Rereads
from fusepy.derivatives.refused import written
from fusepy.derivatives.sums import Gradients
from fusepy.derivatives.terms import Term, Terms, spread
from fusepy.derivatives.visit import Visit
from fusepy.ir.argmap import ArgMap
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


def _gradient(t: Terms, node: Node, x: Sequence[Term], gradient: Value, oracle: Oracle) -> Term:
    """Records the gradient of the values that a node adds to an array, over the grid of the node.

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


class AddedGradients:
    """The gradients of arrays to which nodes add."""

    def __init__(self, gradients: Gradients):
        self.gradients = gradients
        self._finished: dict[Value, Value] = {}  # all that read an array come behind all that add to it

    def reached(self, node: Node, arrays: Iterable[Value]) -> Value | None:
        """Returns the one of `arrays`, which a node writes, that has a gradient to which it adds; ``None`` if there is none.

        The gradient of rounded sums is that of the array of the sums.

        Raises:
            GradientError: if the node does anything else to such an array.
        """
        for array in arrays:
            if array in self._finished or array in self.gradients:
                if not adds_elements(node):
                    raise written(node, array)
                return array
        if node.op.name == "round_sums" and node.results[0] in self.gradients:
            self._finished[node.operands[0]] = self.gradients.finished(node.results[0])
        return None

    def parts(self, v: Visit, array: Value) -> list[Term | None]:
        """Returns the gradients of the operands of a node that adds to an array: only what it adds has one."""
        if array not in self._finished:
            self._finished[array] = self.gradients.finished(array)
        made = _gradient(v.terms, v.node, v.operands, self._finished[array], v.oracle)
        return [*[None] * (len(v.operands) - 2), made, None]


class AddedTangents:
    """The tangents of arrays to which nodes add, and the values whose tangents are lost, since a node writes otherwise.

    Args:
        nodes: all nodes.
        tangents: of values; gets those of arrays.
        rereads: the memory that nodes write.
    """

    def __init__(self, t: Terms, nodes: Sequence[Node], tangents: dict[Value, Value], oracle: Oracle, rereads: Rereads):
        self.rereads = rereads
        self.t, self.tangents, self.oracle = t, tangents, oracle
        self._made = {node.results[0]: node for node in nodes if node.op.name == "gradient_array"}
        self._lost: dict[Value, tuple[Node, Value]] = {}

    def check(self, values: Sequence[Value]) -> None:
        """Raises `GradientError` if the tangent of one of the values is lost."""
        for value in values:
            if value in self._lost:
                raise written(*self._lost[value])

    def visit(self, node: Node, maps: Sequence[ArgMap]) -> None:
        """Records the tangents of the values that a node adds to an array; notes its other writes."""
        lost = next((self._lost[v] for v in node.operands if v in self._lost), None)
        if lost is None:
            moves = any(v in self.tangents for v in node.operands)
            if moves and adds_elements(node) and node.operands[-1] in self._made:
                self._add(node, maps)
            elif moves:
                self._lost.update({v: (node, v) for v in self.rereads.written(node, maps)})
            return
        reached = node.results if node.op.name not in FLAT else ()
        found = [v for v in reached if differential(v.type, self.oracle) is not None]
        self._lost.update(dict.fromkeys([*found, *self.rereads.written(node, maps)], lost))

    def _add(self, node: Node, maps: Sequence[ArgMap]) -> None:
        *_, given, array = node.operands
        if given not in self.tangents:
            return
        t = self.t
        *x, elements, into = [spread(t, v, m) for v, m in zip(node.operands, maps)]
        if array not in self.tangents:
            made = self._made[array]
            points = [spread(t, v, m) for v, m in zip(made.operands, made.maps)]
            self.tangents[array] = t.node(made.op.name, points, made.attrs)[0].value
        type = differential(elements.type, self.oracle) if elements.wants is not None else None
        moved = t.loaded(Term(t, self.tangents[given], elements.dims, type))
        t.node("vjp", [*x, moved, Term(t, self.tangents[array], (), into.wants)], node.attrs, node.bodies)
