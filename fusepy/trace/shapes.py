"""`TraceShapes`: the extents of the inputs of a trace, for operations that depend on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.backend.marshals.registry import kind_of_value
from fusepy.backend.memory.structs import ArgumentView
from fusepy.derivatives.extents import Axis
from fusepy.errors import GradientError
from fusepy.ir.graph import Value
from fusepy.ir.ops import OPS
from fusepy.trace.inputs import add_input
from fusepy.trace.open_trace import OpenTrace


@dataclass(frozen=True)
class ExtentView(ArgumentView):
    """The product of some extents of an argument, as a number. Every call computes it of its own argument."""

    axes: tuple[int, ...]

    def of(self, value: Any) -> float:
        extents = kind_of_value(value).extents(value)
        return float(math.prod(extents[a] for a in self.axes))


class TraceShapes:
    """The extents of the arguments and captured values of a trace.

    The trace notes which extents were asked for: its program runs for arguments with the same answers only.
    """

    def __init__(self, trace: OpenTrace):
        self.trace = trace

    def is_unit(self, axis: Axis) -> bool:
        extents, place = self._extents(axis.input)
        if extents is None:
            return False
        unit = axis.axis < len(extents) and extents[axis.axis] == 1
        if place is not None:
            self.trace.units[place, axis.axis] = unit
        return unit

    def count(self, axes: Sequence[Axis]) -> Value:
        """Returns the product of extents: an input whose number is computed from the arguments of each call."""
        trace, known = self.trace, 1.0
        of: dict[int, list[int]] = {}
        for axis in axes:
            extents, place = self._extents(axis.input)
            if extents is None:
                raise GradientError(
                    f"the extents of {axis.input.name!r} are not known while tracing",
                    hint="pass it as an argument in the type in which it is used",
                )
            if place is None:
                known *= extents[axis.axis]
            else:
                of.setdefault(place, []).append(axis.axis)
        views = [ExtentView(place, tuple(found)) for place, found in sorted(of.items())]
        if known != 1.0 or not views:
            made = trace.builder.add(OPS["const"], [], attrs={"type": "float", "value": known})[0]
        else:
            made = self._number(views.pop())
        for view in views:
            made = trace.builder.add(OPS["mul"], [made, self._number(view)])[0]
        return made

    def _number(self, view: ExtentView) -> Value:
        trace = self.trace
        for place, known in enumerate(trace.captures):
            if known == view:
                return trace.builder.inputs[len(trace.builder.inputs) - len(trace.captures) + place]
        made = add_input(trace, "count", 2.0)
        trace.captures.append(view)
        return made

    def _extents(self, value: Value) -> tuple[tuple[int, ...] | None, int | None]:
        """Returns the extents of an input, and its place among the inputs if it is an argument."""
        trace = self.trace
        found = trace.given.get(value)
        if found is not None:
            place, given = found
            return tuple(kind_of_value(given).extents(given)), place
        place = trace.builder.inputs.index(value) - (len(trace.builder.inputs) - len(trace.captures))
        captured = trace.captures[place]
        if isinstance(captured, ArgumentView):
            return None, None
        return tuple(kind_of_value(captured).extents(captured)), None
