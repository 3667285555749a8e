"""Gradients of views: each element of the array gets the gradient of the same element of the view."""

from __future__ import annotations

from collections.abc import Collection

from fusepy.derivatives.extents import ViewOp
from fusepy.derivatives.folds import reduced
from fusepy.derivatives.terms import Term, Terms
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.base import shaped
from fusepy.trace.moves.plans import Coordinates, Remap, Strided
from fusepy.trace.moves.push import Pushing, terms_of
from fusepy.trace.moves.record import moved
from fusepy.trace.moves.shapes import known_shapes
from fusepy.trace.moves.steps import ALL, Broadcast, Indexed, Permuted, Reshaped, Run, Shape, ViewStep
from fusepy.trace.open_trace import OpenTrace


class View(ViewOp):
    """Views that a trace has recorded."""

    def __init__(self, trace: OpenTrace):
        self.trace = trace

    def gradient(self, view: Value, gradient: Value) -> Value:
        trace = self.trace
        base, steps, _ = trace.moves.of[view]
        shapes = [known_shapes(trace).of(base)]
        for step in steps:
            shapes.append(step.shape(shapes[-1]))
        for step, have, made in reversed(list(zip(steps, shapes, shapes[1:]))):
            gradient = _back(trace, step, have, made, gradient)
        return gradient

    def tangent(self, view: Value, tangent: Value) -> Value:
        for step in self.trace.moves.of[view][1]:
            tangent = moved(self.trace, tangent, step)
        return tangent


class Vectors(ViewOp):
    """Numbers as vectors, which a trace computes from the operands of the numbers."""

    def __init__(self, trace: OpenTrace):
        self.trace = trace

    def gradient(self, view: Value, gradient: Value) -> Value:
        terms = terms_of(self.trace, known_shapes(self.trace))
        numbers = terms.ungrouped(Term(terms, gradient, tuple(range(view.rank))), view.rank).value
        self.trace.grouped[numbers] = gradient
        return numbers

    def tangent(self, view: Value, tangent: Value) -> Value:
        return self.trace.grouping.of(tangent, shaped(tangent.type, view.type.shape), None)


class Same(ViewOp):
    """A value that is passed on."""

    def gradient(self, view: Value, gradient: Value) -> Value:
        return gradient

    def tangent(self, view: Value, tangent: Value) -> Value:
        return tangent


def nodes_since(trace: OpenTrace, start: int, by: Collection[Value]) -> list[Node]:
    """Returns the nodes of a function that began behind `start` nodes and is recorded now, after its views of inputs.

    Args:
        by: the values by which it is differentiated. Vectors of these are views of them here.
    """
    ended = trace.moves.end()
    op, of_numbers = View(trace), Vectors(trace)
    views = [Node(op, [base], [ArgMap()], [view]) for view, (base, _, begun) in trace.moves.of.items() if begun >= ended.count]
    nodes, lifted = list[Node](), trace.grouping.lifted
    for node in trace.builder.nodes[start:]:
        numbers = lifted.get(node.results[0]) if node.results else None
        if numbers is not None and numbers in by:
            views.append(Node(of_numbers, [numbers], [ArgMap()], node.results))
        elif (
            node.attrs.get("of", ended.count) != ended.count and node.op.name == "stop_gradient"
        ):  # a constant of another function
            nodes.append(Node(Same(), node.operands, node.maps, node.results, {}, node.loc))
        else:
            nodes.append(node)
    return [*views, *nodes]


def _back(trace: OpenTrace, step: ViewStep, have: Shape, made: Shape, gradient: Value) -> Value:
    """Returns the gradient of an array of shape `have`, from that of its view by a step, which has shape `made`."""
    if isinstance(step, Permuted):
        order = step.axes_of(len(have))
        return moved(trace, gradient, Permuted(len(order), tuple(order.index(a) for a in range(len(order)))))
    if isinstance(step, Reshaped):
        return moved(trace, gradient, Reshaped(len(made), have))
    terms = terms_of(trace, known_shapes(trace))
    if isinstance(step, Broadcast):
        return _summed(trace, terms, have, made, gradient)
    assert isinstance(step, Indexed), step
    return _placed(trace, terms, step, have, made, gradient)


def _summed(trace: OpenTrace, terms: Terms, have: Shape, made: Shape, gradient: Value) -> Value:
    """Returns the sum over the axes along which an array was repeated."""
    lead = len(made) - len(have)
    over = [d for d, n in enumerate(made) if d < lead or (have[d - lead] == 1 != n)]
    term = reduced(terms, "sum", Term(terms, gradient, tuple(range(len(made)))), over) if over else None
    if term is None:
        return gradient
    placed = Term(terms, term.value, tuple(d - lead for d in term.dims))
    return Pushing(trace, terms, Remap(have, (), ())).complete(placed)


def _placed(trace: OpenTrace, terms: Terms, step: Indexed, have: Shape, made: Shape, gradient: Value) -> Value:
    """Returns the gradient of the elements in a view, and 0 for the others."""
    if 0 in made:  # there is no element to read
        return Pushing(trace, terms, Remap(have, (), ())).complete(terms.zero(gradient.type, gradient.type))
    at = Coordinates(terms, known_shapes(trace).shapes, have.__getitem__)
    tests: list[Term] = []
    indices: list[Strided | Term] = []
    axis = 0
    for item in (*step.items, *[ALL] * (len(have) - step.rank)):  # in memory, components are axes
        if item is None:
            indices.append(Strided(None))
            continue
        c, extent = at.along(axis), have[axis]
        if isinstance(item, Run):
            run = item.range(extent)
            if run == range(extent):
                indices.append(Strided(axis))
            else:
                indices.append(_place(terms, at, c, run, tests))
        elif extent > 1:
            tests.append(c.equals(at.number(item % extent)))
        axis += 1
    plan = Remap(have, tuple(indices), made)
    pushing = Pushing(trace, terms, plan)
    found = Term(terms, pushing.of(gradient), tuple(range(len(have))))
    for test in tests:
        found = terms.where(test, found, terms.zero(found.type, found.type))
    return pushing.complete(found)


def _place(terms: Terms, at: Coordinates, c: Term, run: range, tests: list[Term]) -> Term:
    """Returns the index in a slice of the element at `c`; adds the tests that it is in the slice."""
    distance = c - at.number(run.start) if run.start else c
    if run.step < 0:
        distance = at.number(run.start) - c
    width = abs(run.step)
    place = distance if width == 1 else terms.op("floordiv", distance, at.number(width))
    if width != 1:
        tests.append(terms.op("mod", distance, at.number(width)).equals(0))
    tests.append(place >= 0)
    tests.append(place < at.number(len(run)))
    return place
