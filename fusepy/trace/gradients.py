"""Gradients and tangents of traced values: their nodes are recorded behind those that computed the values."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.backend.marshals.generators import Grid
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.backend.memory.structs import ArgumentView
from fusepy.derivatives.calls import differential
from fusepy.derivatives.extents import Axis
from fusepy.derivatives.forward import Forward
from fusepy.derivatives.reverse import Reverse
from fusepy.derivatives.sums import is_number
from fusepy.errors import GradientError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.ops import OPS
from fusepy.location import user_line
from fusepy.trace.inputs import add_input
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.structs import returned
from fusepy.trace.structure import flatten_values
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

STRUCTS = "pass the structs themselves: a tensor with dtype=m.Name, or a dict of the fields"


def gradients(trace: Trace, start: int, seeds: Sequence[tuple[Any, Any]], of: Sequence[Any], what: str) -> list[Any]:
    """Records the gradients of values with respect to others, by the nodes that were recorded from `start` on.

    Args:
        seeds: values, each with its gradient; ``None`` is 1 for each component.
        of: traced values, or containers of such.

    Returns:
        for each of `of` its gradient, in containers of the same structure.

    Raises:
        GradientError: if there is none.
    """
    loc, trace = user_line(), trace.innermost()
    trees = [flatten_values(tree, what) for tree in of]
    wrt = [_leaves(trace, found, what) for found, _ in trees]
    values = [v for found in wrt for v in found if v is not None]
    ends = [(returned(trace, v, what), None if g is None else trace.lift(g), None) for v, g in seeds]
    reverse = _reverse(trace, start, loc, values)
    made = iter(reverse.run(ends, values))
    trace.grouped.update(reverse.gradients.grouped)
    return [
        structure.fill([None if v is None else Traced(trace, next(made), loc) for v in found])
        for found, (_, structure) in zip(wrt, trees)
    ]


def added(
    trace: Trace, start: int, seeds: Sequence[tuple[Traced, Any, ArgMap]], to: Sequence[tuple[Any, Sequence[Value]]], what: str
) -> list[Traced]:
    """Records gradients that are added to others.

    Args:
        seeds: values, each with its gradient and the mapping of that; ``None`` is 1 for each component.
        to: gradients, ``None`` for 0, each with the inputs whose gradients are added to it.

    Raises:
        GradientError: if none of the values can have a gradient, or an operation has none.
    """
    loc = user_line()
    ends = [(trace.lift(v), None if g is None else trace.lift(g), m.dims) for v, g, m in seeds]
    ends = [end for end in ends if differential(end[0].type, trace.oracle) is not None]
    if not ends:
        raise GradientError(
            f"{what}(): the function gives no float",
            place=loc,
            saw=", ".join(str(v.type) for v, _, _ in seeds) or "no result",
            expected="a result of floats",
            hint="differentiate a function whose result depends on its arguments as half, float or double",
        )
    wrt = [v for _, values in to for v in values]
    reverse = _reverse(trace, start, loc, wrt)
    reverse.back(ends, wrt)
    found: list[Traced] = []
    for held, values in to:
        total = None if held is None else trace.lift(held)
        for value in values:
            total = reverse.gradients.finished(value, total)
        assert total is not None, "a gradient is that of a value"
        found.append(Traced(trace, total, loc))
    return found


def tangents(trace: Trace, start: int, seeds: Sequence[tuple[Any, Any]], of: Sequence[Any], what: str) -> list[Any]:
    """Records the tangents of values, by the nodes that were recorded from `start` on.

    Args:
        seeds: traced values or containers of such, each with its tangent, a container of the same structure.
        of: traced values.

    Returns:
        the tangent of each of `of`; ``None`` for one without, such as an integer.

    Raises:
        GradientError: if there is none, or a tangent does not fit its value.
    """
    loc, trace = user_line(), trace.innermost()
    pairs = [
        (trace.lift(value), trace.lift(given))
        for tree, moved in seeds
        for value, given in zip(flatten_values(tree, what)[0], flatten_values(moved, what)[0])
    ]
    pairs = [(v, d) for v, d in pairs if is_number(v) or differential(v.type, trace.oracle) is not None]
    ends = [returned(trace, value, what) for value in of]
    _check_structs(trace, start, [v for v, _ in pairs])
    forward = Forward(trace.builder, trace.builder.nodes[start:], trace.oracle, loc)
    for value, given in pairs:
        if given.rank != value.rank and given.rank != value.rank + len(value.type.shape):
            raise GradientError(
                f"{what}: the tangent of {value.name!r} has {given.rank} axes, not {value.rank}",
                place=loc,
                saw=given.type,
                expected=value.type,
                hint="pass a tangent of the shape of its argument",
            )
    return [None if v is None else Traced(trace, v, loc) for v in forward.run(pairs, ends)]


def _reverse(trace: Trace, start: int, loc: str | None, wrt: Sequence[Value]) -> Reverse:
    _check_structs(trace, start, wrt)
    return Reverse(trace.builder, trace.builder.nodes[start:], trace.oracle, TraceShapes(trace), loc)


def _check_structs(trace: Trace, start: int, values: Sequence[Value]) -> None:
    """Raises `GradientError` if some of the values are arrays of numbers that nodes from `start` on read as structs."""
    read = {v for node in trace.builder.nodes[start:] for v in node.operands}
    for (value, type), structs in trace.struct_inputs.items():
        if value in values and structs in read:
            what = f"argument {value.name!r} holds numbers and is read as {type}"
            raise GradientError(what, place=user_line(), saw=value.type, expected=type, hint=STRUCTS)


def _leaves(trace: Trace, leaves: Sequence[Any], what: str) -> list[Value | None]:
    """Returns the values of the leaves of an argument; ``None`` for those of a struct that have no gradient.

    Raises:
        GradientError: if none has one.
    """
    values = [trace.lift(leaf) for leaf in leaves]
    found = [v if is_number(v) or differential(v.type, trace.oracle) is not None else None for v in values]
    if not any(v is not None for v in found):
        name = (values[0].name or "").partition(".")[0] if values else ""
        raise GradientError(
            f"{what}(): argument {name!r} holds {values[0].type if values else 'nothing'}, which has no gradient",
            place=user_line(),
            saw=values[0].type if values else None,
            expected="half, float or double",
            hint="convert it before the call, e.g. x.astype(np.float32); or choose others with argnums",
        )
    return found


@dataclass(frozen=True)
class ExtentView(ArgumentView):
    """The product of some extents of an argument, as a number. Every call computes it of its own argument.

    Attributes:
        view: the conversion of the argument to structs, whose extents are meant; ``None`` for the argument itself.
    """

    axes: tuple[int, ...]
    view: ArgumentView | None = None

    def of(self, value: Any) -> float:
        extents = _extents_of(value if self.view is None else self.view.of(value))
        return float(math.prod(extents[a] for a in self.axes))


@functools.lru_cache(maxsize=16)
def _coordinates(extent: int) -> Grid:
    return Grid((extent,), (0,), (1,))


def _extents_of(value: Any) -> tuple[int, ...]:
    return tuple(kind_of_value(value).extents(value))


class TraceShapes:
    """The extents of the arguments and captured values of a trace.

    The trace notes which extents were asked for: its program runs for arguments with the same answers only.
    """

    def __init__(self, trace: OpenTrace):
        self.trace = trace

    def is_unit(self, axis: Axis) -> bool:
        extents, place, view = self._source(axis.input)
        unit = axis.axis < len(extents) and extents[axis.axis] == 1
        if unit and view is not None:
            raise GradientError(
                f"argument {axis.input.name!r} is read as structs, along an axis of extent 1",
                place=user_line(),
                hint=STRUCTS,
            )
        if place is not None and view is None:
            self.trace.units[place, axis.axis] = unit
        return unit

    def count(self, axes: Sequence[Axis]) -> Value:
        """Returns the product of extents: an input whose number is computed from the arguments of each call."""
        trace, known = self.trace, 1.0
        of: dict[tuple[int, ArgumentView | None], list[int]] = {}
        for axis in axes:
            extents, place, view = self._source(axis.input)
            if place is None:
                known *= extents[axis.axis]
            else:
                of.setdefault((place, view), []).append(axis.axis)
        made = [self._number(ExtentView(place, tuple(found), view)) for (place, view), found in of.items()]
        if known != 1.0 or not made:
            made += trace.builder.add(OPS["const"], [], attrs={"type": "float", "value": known})
        while len(made) > 1:
            made += trace.builder.add(OPS["mul"], [made.pop(), made.pop()])
        return made[0]

    def numbers(self, extent: int) -> Value:
        """Returns the coordinates of a grid of this extent: an input that needs no memory."""
        trace = self.trace
        return trace.capture(_coordinates(extent), "component")

    def _number(self, view: ExtentView) -> Value:
        trace = self.trace
        for place, known in enumerate(trace.captures):
            if isinstance(known, ExtentView) and known == view:
                return trace.builder.inputs[len(trace.builder.inputs) - len(trace.captures) + place]
        made = add_input(trace, "count", 2.0)
        trace.captures.append(view)
        return made

    def _source(self, value: Value) -> tuple[tuple[int, ...], int | None, ArgumentView | None]:
        """Returns the extents of an input; its place if it is an argument, or a view of one; and the view."""
        trace = self.trace
        if value in trace.given:
            place, given = trace.given[value]
            return _extents_of(given), place, None
        captured = trace.captures[trace.builder.inputs.index(value) - len(trace.builder.inputs) + len(trace.captures)]
        if not isinstance(captured, ArgumentView):
            return _extents_of(captured), None, None
        given = next(given for place, given in trace.given.values() if place == captured.place)
        return _extents_of(captured.of(given)), captured.place, captured
