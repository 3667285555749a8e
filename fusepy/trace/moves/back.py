"""Gradients of views: each element of the array gets the gradient of the element of the view that it is."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.folds import reduced
from fusepy.derivatives.terms import Term, Terms
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Op, Value
from fusepy.trace.moves.plans import Coordinates, Remap, Strided
from fusepy.trace.moves.push import Pushing, terms_of
from fusepy.trace.moves.record import moved
from fusepy.trace.moves.shapes import known_shapes
from fusepy.trace.moves.steps import Broadcast, Indexed, Permuted, Reshaped, Run, Shape, ViewStep
from fusepy.trace.open_trace import OpenTrace


class View(Op):
    """A view of an input, as a node for derivatives. No graph holds it: in graphs a view is an input."""

    name = "view"
    arity = 1
    spreads = False


VIEW = View()


def view_nodes(trace: OpenTrace, start: int) -> list[Node]:
    """Returns the views of inputs, made by a function that began behind `start` nodes, as nodes that make them."""
    return [Node(VIEW, [base], [ArgMap()], [view]) for view, (base, _, since) in trace.moves.of.items() if since >= start]


def gradient_of_base(trace: OpenTrace, view: Value, gradient: Value) -> Value:
    """Returns the gradient of an array, from that of a view of it."""
    known = known_shapes(trace)
    base, steps, _ = trace.moves.of[view]
    shapes = [known.of(base)]
    for step in steps:
        shapes.append(step.shape(shapes[-1]))
    for step, have, made in reversed(list(zip(steps, shapes, shapes[1:]))):
        gradient = _back(trace, step, have, made, gradient)
    return gradient


def tangent_of_view(trace: OpenTrace, view: Value, tangent: Value) -> Value:
    """Returns the tangent of a view, from that of the array."""
    for step in trace.moves.of[view][1]:
        tangent = moved(trace, tangent, step)
    return tangent


def _back(trace: OpenTrace, step: ViewStep, have: Shape, made: Shape, gradient: Value) -> Value:
    """Returns the gradient of an array of shape `have`, from that of its view by a step, which has shape `made`."""
    if isinstance(step, Permuted):
        order = step.axes
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
    """Returns the gradient of what a view takes, and 0 for all else."""
    at = Coordinates(terms, known_shapes(trace).shapes, have.__getitem__)
    tests: list[Term] = []
    indices: list[Strided | Term] = []
    axis = 0
    for item in step.items:
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
    apart = c - at.number(run.start) if run.start else c
    if run.step < 0:
        apart = at.number(run.start) - c
    width = abs(run.step)
    place = apart if width == 1 else terms.op("floordiv", apart, at.number(width))
    if width != 1:
        tests.append(terms.op("mod", apart, at.number(width)).equals(0))
    tests.append(place >= 0)
    tests.append(place < at.number(len(run)))
    return place


def masked(tests: Sequence[Term]) -> Term | None:
    """Returns where all tests hold."""
    found: Term | None = None
    for test in tests:
        found = test if found is None else test.terms.op("bitand", found, test)
    return found
