"""Recorded movement: views, and elements at indices, of traced values."""

from __future__ import annotations

from collections.abc import Callable

from fusepy.errors import ShapeError, TraceError
from fusepy.ir.argmap import UNSAID
from fusepy.ir.graph import Value
from fusepy.ir.value import is_spread
from fusepy.trace.moves.inputs import owner_of, view_of, viewable
from fusepy.trace.moves.plans import Coordinates, Remap, plan_of
from fusepy.trace.moves.push import Pushing, terms_of
from fusepy.trace.moves.shapes import known_shapes
from fusepy.trace.moves.steps import Shape, ViewStep
from fusepy.trace.open_trace import OpenTrace

Planned = Callable[[Shape, Callable[[Shape], Coordinates]], Remap]


SLICED = "slice arrays before the loop or branch, whose body runs for each element by itself"


def moved(trace: OpenTrace, value: Value, step: ViewStep) -> Value:
    """Returns a view of a value.

    Raises:
        ShapeError: if the step does not fit the value.
        TraceError: for a generator, and for values that the body of a loop or branch computes.
    """
    behind = trace.behind(value)
    if behind is not None:
        return trace.standing_in(moved(*behind, step))
    check_movable(trace, value, numbers=True)
    owner = owner_of(trace, value)
    if owner is not None and viewable(owner, value, step):
        return view_of(owner, value, [step])
    return replanned(trace, value, lambda shape, at: plan_of(step, shape, at))


def replanned(trace: OpenTrace, value: Value, planned: Planned) -> Value:
    """Returns the elements of a value by a plan, which `planned` makes for its shape."""
    behind = trace.behind(value)
    if behind is not None:
        return trace.standing_in(replanned(*behind, planned))
    check_movable(trace, value, numbers=True)
    known = known_shapes(trace)
    terms = terms_of(trace, known)
    plan = planned(known.of(value), lambda extents: Coordinates(terms, known.shapes, extents.__getitem__))
    return Pushing(trace, terms, plan).of(value)


def check_movable(trace: OpenTrace, value: Value, numbers: bool = False) -> None:
    """Raises an error for a value whose elements cannot be taken; single `numbers` may be given axes.

    Raises:
        TraceError: for a value under vmap, and for one without axes.
        ShapeError: for a value without axes in a body.
    """
    if trace.maps.get(value, UNSAID).dims is not None:
        raise TraceError(
            "a value under vmap cannot be sliced",
            saw=trace.maps[value],
            hint="slice first, then say the map: fp.vmap(x[1:], (1, 0))",
        )
    if is_spread(value) or (not value.rank and (trace.body or not numbers)):
        trace.refuse_part(value, "a slice")
        what = f"{value.name!r}" if value.name else "a value"
        inside = f" inside the body of a {trace.body}" if trace.body else ""
        raise (ShapeError if trace.body else TraceError)(
            f"{what} has no axes{inside}",
            saw=value.type,
            hint=SLICED if trace.body else "add it to an array first, whose axes it then has",
        )
