"""Elements of arrays at indices: a call of a function of fusepy's, which has a gradient."""

from __future__ import annotations

from fusepy.backend.marshals.generators import Grid
from fusepy.backend.sources.libraries import FOLDER
from fusepy.backend.sources.source import ModuleSource
from fusepy.derivatives.differential import differential
from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import TraceError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.ops import OPS
from fusepy.ir.types import Kind, Type
from fusepy.ir.whole import TAKE
from fusepy.location import user_line
from fusepy.trace.open_trace import OpenTrace

MOST_AXES = 8  # of an array that is read at computed indices; fusepy_take.slang has functions for these


def counts(trace: OpenTrace, value: Value) -> bool:
    """True for the integers from 0 along one axis: each element is its own index."""
    if not value.arrival.grid or value.rank != 1:
        return False
    for outer in trace.chain:
        inputs, captures = outer.builder.inputs, outer.captures
        if value in inputs:
            place = inputs.index(value) - len(inputs) + len(captures)
            grid = outer.given[value][1] if value in outer.given else captures[place]
            return isinstance(grid, Grid) and not any(grid.open) and (grid.offset, grid.stride) == ((0,), (1,))
    return False


def take(trace: OpenTrace, terms: Terms, value: Value, type: Type | None, indices: list[Term]) -> Term:
    """Returns the elements of an array at some indices, one for each axis, over the grid of the indices.

    Args:
        type: the type of an element, if that is not the value's own. Its scalars are converted where the elements are used.
    """
    count, element = len(indices), type or value.type
    own = value.type.scalar
    converted = element.scalar is not None and own is not None and element.scalar is not own
    element = element.with_scalar(own) if converted and own is not None else element
    if count > MOST_AXES:
        raise TraceError(
            f"elements of an array of {count} axes", place=user_line(), expected=f"at most {MOST_AXES}", hint="reshape it first"
        )
    if element.kind is Kind.NAMED:
        raise TraceError(
            f"elements of structs {element} at computed indices",
            place=user_line(),
            hint="read them in a Slang function that takes the array as a Tensor, or move arrays of their fields",
        )
    source = ModuleSource.make(TAKE, (FOLDER / f"{TAKE}.slang").read_text(encoding="utf-8"))
    alias = trace.module(source, trace.device)
    name = f"take{count}" if differential(element, trace.oracle) is not None else f"pick{count}"
    frame = sorted({d for index in indices for d in index.dims})
    own = {d: i for i, d in enumerate(frame)}
    whole = Type.whole("fusepy::Tensor", element, count)
    maps = [ArgMap((), whole), *(ArgMap(tuple(own[d] for d in index.dims), index.wants) for index in indices)]
    attrs = {"module": alias, "function": name}
    (made,) = trace.builder.add(OPS["slang.call"], [value, *(i.value for i in indices)], maps, attrs, terms.loc)
    terms.extents.add(trace.builder.nodes[-1], maps)
    return Term(terms, made, tuple(frame), type if converted else None)
