"""Arrays made of other arrays: joined, padded, rolled, repeated. Operands that are computed element by element are not stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fusepy.derivatives.terms import Term
from fusepy.errors import ArgumentError, ShapeError, TraceError
from fusepy.ir.argmap import UNSAID
from fusepy.ir.graph import Value
from fusepy.ir.ops.promotion import of_numbers
from fusepy.trace.moves.plans import Coordinates, Remap, Strided
from fusepy.trace.moves.push import MovedPart, Pushing, terms_of
from fusepy.trace.moves.record import check_movable, replanned
from fusepy.trace.moves.shapes import known_shapes, shape_of
from fusepy.trace.moves.steps import Shape
from fusepy.trace.open_trace import OpenTrace

MODES = ("constant", "edge", "wrap", "reflect", "symmetric")


def concatenated(trace: OpenTrace, values: Sequence[Value], axis: int) -> Value:
    """Returns arrays one after the other along an axis.

    Raises:
        ShapeError: if they differ along another axis.
    """
    shapes = [shape_of(trace, v) for v in values]
    first = shapes[0]
    for shape in shapes:
        if len(shape) != len(first) or any(n != m for d, (n, m) in enumerate(zip(shape, first)) if d != axis):
            raise ShapeError(
                "concatenate() of arrays that differ along another axis",
                saw=" and ".join(map(str, dict.fromkeys(shapes))),
                expected=f"the same extents along all axes but {axis}",
                hint="reshape, pad or broadcast them first",
            )
    listed = {"listed": True} if of_numbers(values) else {}  # a list of numbers again; beside arrays it has its type for good
    if not listed:
        values = [trace.cast(v, v.type, UNSAID, None) if v.name is None and v.weak and v.rank else v for v in values]
    ends = [sum(shape[axis] for shape in shapes[: k + 1]) for k in range(len(shapes))]
    extents = (*first[:axis], ends[-1], *first[axis + 1 :])
    kept = [k for k, shape in enumerate(shapes) if shape[axis]] or [0]
    parts = [_shifted(trace, values[k], axis, ends[k] - shapes[k][axis], extents) for k in kept]
    terms = terms_of(trace, known_shapes(trace))
    at = Coordinates(terms, known_shapes(trace).shapes, extents.__getitem__)
    found = Term(terms, parts[-1], tuple(range(len(extents))))
    for k, part in reversed(list(zip(kept[:-1], parts))):
        found = terms.op("select", at.along(axis) < at.number(ends[k]), Term(terms, part, found.dims), found, **listed)
    return found.value


def _shifted(trace: OpenTrace, value: Value, axis: int, by: int, extents: Shape) -> Value:
    """Returns an array over a larger grid, where it begins at `by` along an axis; elsewhere are any of its elements."""

    def planned(shape: Shape, at: Any) -> Remap:
        if shape == extents:
            return Remap(extents, tuple(Strided(d) for d in range(len(shape))), shape)
        found = at(extents)
        place = found.along(axis) - found.number(by) if by else found.along(axis)
        return Remap(extents, tuple(place if d == axis else Strided(d) for d in range(len(shape))), shape)

    return replanned(trace, value, planned)


def rolled(trace: OpenTrace, value: Value, shifts: dict[int, Any]) -> Value:
    """Returns an array whose elements are moved along some axes; those behind the end come in at the front.

    Args:
        shifts: for each axis an integer, or a `Value`.

    Raises:
        TraceError: for a shift that the body of a loop or branch computes.
    """
    behind = trace.behind(value)
    if behind is not None:
        outer: dict[int, Any] = {}
        for d, shift in shifts.items():
            found = trace.behind(shift) if isinstance(shift, Value) else (trace, shift)
            if found is None:
                raise TraceError(
                    f"roll() inside the body of a {trace.body}, by a number that it computes",
                    hint="take elements at indices, x[(k - shift) % n], with k = fp.grid((n,)) from outside of the body",
                )
            outer[d] = found[1]
        return trace.standing_in(rolled(*behind, outer))

    def planned(shape: Shape, at: Any) -> Remap:
        found = at(shape)
        indices: list[Strided | Term] = [Strided(d) for d in range(len(shape))]
        for d, shift in shifts.items():
            if isinstance(shift, Value):
                position = found.along(d) - Term(found.terms, shift, ())
            elif shape[d] < 2 or shift % shape[d] == 0:
                continue
            else:
                position = found.along(d) + found.number(shape[d] - shift % shape[d])
            indices[d] = found.terms.op("mod", position, found.number(max(shape[d], 1)))
        return Remap(shape, tuple(indices), shape)

    return replanned(trace, value, planned)


def repeated(trace: OpenTrace, value: Value, count: int, axis: int) -> Value:
    """Returns an array with each element along an axis `count` times in a row."""

    def planned(shape: Shape, at: Any) -> Remap:
        extents = tuple(n * count if d == axis else n for d, n in enumerate(shape))
        found = at(extents)
        place = found.terms.op("floordiv", found.along(axis), found.number(max(count, 1)))
        return Remap(extents, tuple(place if d == axis else Strided(d) for d in range(len(shape))), shape)

    return value if count == 1 else replanned(trace, value, planned)


def tiled(trace: OpenTrace, value: Value, counts: Sequence[int]) -> Value:
    """Returns an array several times along each axis; `counts` has one number for each axis of the result."""

    def planned(shape: Shape, at: Any) -> Remap:
        lead = len(counts) - len(shape)
        extents = tuple(counts[d] * (shape[d - lead] if d >= lead else 1) for d in range(len(counts)))
        found = at(extents)
        places = [
            Strided(lead + a) if counts[lead + a] == 1 else found.terms.op("mod", found.along(lead + a), found.number(max(n, 1)))
            for a, n in enumerate(shape)
        ]
        return Remap(extents, tuple(places), shape)

    return replanned(trace, value, planned)


def padded(trace: OpenTrace, value: Value, widths: Sequence[tuple[int, int]], mode: str, constant: Any = 0) -> Value:
    """Returns an array with more elements before and behind it along each axis; see `fusepy.pad`.

    Raises:
        ArgumentError: for a mode that is not there.
        ShapeError: for an axis without elements.
    """
    if mode not in MODES:
        hint = f"choose one of {', '.join(MODES)}"
        raise ArgumentError(f"pad() has no mode {mode!r}", hint=hint)
    shape = shape_of(trace, value)
    extents = tuple(n + before + behind for n, (before, behind) in zip(shape, widths))
    longer = [d for d, width in enumerate(widths) if any(width)]
    empty = next((d for d in longer if not shape[d]), None)
    if empty is not None and mode != "constant":
        hint = "fp.pad(x, width) adds zeros"
        raise ShapeError(f"pad() of axis {empty}, which has no elements to repeat", saw=shape, hint=hint)

    def planned(shape: Shape, at: Any) -> Remap:
        found = at(extents)
        places = [_place(found, d, shape[d], widths[d][0], mode) if d in longer else Strided(d) for d in range(len(shape))]
        return Remap(extents, tuple(places), shape)

    made = replanned(trace, value, planned) if longer and empty is None else value
    if mode != "constant" or not longer:
        return made
    terms = terms_of(trace, known_shapes(trace))
    at = Coordinates(terms, known_shapes(trace).shapes, extents.__getitem__)
    term = Term(terms, made, tuple(range(len(extents))))
    fill = terms.cast(Term(terms, trace.lift(constant), ()), value.type)
    if empty is not None:  # there is nothing to read
        term = fill
        for d in range(len(extents)):
            term = terms.where(at.along(d) < at.number(extents[d]), term, fill)
        return term.value
    for d in longer:
        before, behind = widths[d]
        tests = [at.along(d) >= at.number(before)] if before else []
        tests += [at.along(d) < at.number(before + shape[d])] if behind else []
        for test in tests:
            term = terms.where(test, term, fill)
    return term.value


def _place(at: Coordinates, d: int, extent: int, before: int, mode: str) -> Term:
    """Returns the index of the element that is at a place of the padded array."""
    t = at.terms
    place = at.along(d) - at.number(before) if before else at.along(d)
    if mode == "constant":
        return place
    if mode == "edge":
        return t.op("minimum", t.op("maximum", place, 0), at.number(extent - 1))
    if mode == "wrap":
        return t.op("mod", place, at.number(extent))
    period = max(2 * (extent - 1), 1) if mode == "reflect" else 2 * extent
    folded = t.op("mod", place, at.number(period))
    far = at.number(period if mode == "reflect" else period - 1) - folded
    return t.where(folded < at.number(extent), folded, far)


def taken_along(trace: OpenTrace, value: Value, at: Value, axis: int) -> Value:
    """Returns for each index the element there along an axis; along the other axes its place is that of the index."""
    for one in (value, at):
        check_movable(trace, one)
    shape, own = shape_of(trace, value), shape_of(trace, at)
    if len(own) != len(shape) or any(n != m and 1 not in (n, m) for d, (n, m) in enumerate(zip(shape, own)) if d != axis):
        raise ShapeError(
            "take_along_axis() takes indices with the shape of the array, but for the axis",
            saw=f"an array {shape} and indices {own}",
            expected=f"the same extents along all axes but {axis}",
            hint="fp.take(x, i, axis) takes the same elements of every row",
        )
    extents = tuple(n if d == axis or m == 1 else m for d, (n, m) in enumerate(zip(own, shape)))
    known = known_shapes(trace)
    terms = terms_of(trace, known)
    indices = [Strided(None) if n == 1 else Strided(d) for d, n in enumerate(shape)]
    chosen = Term(terms, at, tuple(range(len(own))))
    plan = Remap(extents, (*indices[:axis], chosen, *indices[axis + 1 :]), shape)
    pushing = Pushing(trace, terms, plan)
    return pushing.complete(pushing.taken(MovedPart(value, tuple(range(value.rank)), None)))
