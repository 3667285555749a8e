"""Views of arguments and of captured arrays: inputs of their own, over the same memory, by extents and strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.backend.marshals.registry import host_array
from fusepy.backend.memory.storage import Storage
from fusepy.backend.memory.structs import ArgumentView
from fusepy.errors import TraceError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Value
from fusepy.trace.inputs import add_input
from fusepy.trace.moves.steps import Reshaped, ViewStep
from fusepy.trace.open_trace import OpenTrace


@dataclass(frozen=True)
class MovedView(ArgumentView):
    """Views of an argument, one after the other. Every call applies them to its own argument.

    Attributes:
        before: another conversion of the argument, before the views.
    """

    steps: tuple[ViewStep, ...]
    before: ArgumentView | None = None

    def of(self, value: Any) -> Any:
        value = value if self.before is None else self.before.of(value)
        for step in self.steps:
            value = step.of(value)
        return value


def owner_of(trace: OpenTrace, value: Value) -> OpenTrace | None:
    """Returns the trace that has an array in memory among its inputs; ``None`` for all other values."""
    if not value.arrival.memory or value.name is None:
        return None
    return next((t for t in trace.chain if value in t.builder.inputs), None)


def viewable(trace: OpenTrace, value: Value, step: ViewStep) -> bool:
    """False for a captured array that a reshape would have to copy: its elements may change from call to call."""
    if requires_gradients(trace, value):
        return False
    if not isinstance(step, Reshaped) or value in trace.given or isinstance(_captured(trace, value), ArgumentView):
        return True
    captured = _captured(trace, value)
    host = host_array(captured)
    if host is not None:
        return bool(host.flags.c_contiguous)
    return not isinstance(captured, Storage) or captured.linear


def requires_gradients(trace: OpenTrace, value: Value) -> bool:
    """True for a captured tensor of torch's that requires gradients: a view by torch would be another tensor in each trace."""
    return value not in trace.given and getattr(_captured(trace, value), "requires_grad", False)


def view_of(trace: OpenTrace, value: Value, steps: Sequence[ViewStep]) -> Value:
    """Returns a view of an array among the inputs of `trace`, as another input.

    Raises:
        ShapeError: if a step does not fit the array.
        TraceError: if the array has a mapping of its axes.
    """
    begun, steps = trace.moves.innermost, tuple(steps)
    base, earlier, made = trace.moves.of.get(value, (value, (), begun))
    if made == begun:
        steps = (*earlier, *steps)
    else:  # a constant of what is being differentiated, or its argument
        base = value
    found = trace.moves.views.get((base, steps, begun))
    if found is not None:
        return found
    said = trace.maps.get(base, UNSAID)
    if said.dims is not None:
        raise TraceError(
            f"argument {base.name!r} has a vmap, so it cannot be sliced",
            saw=said,
            hint="slice first, then say the map: fp.vmap(x[1:], (1, 0))",
        )
    name = f"{(base.name or 'captured').replace('.', '_')}_view"
    place, given, before = _given(trace, base)
    view = MovedView(place or 0, steps).of(given)
    found = add_input(trace, name, view)
    found.viewed = base.viewed or base.name
    trace.captures.append(view if place is None else MovedView(place, steps, before))
    trace.moves.of[found] = base, steps, begun
    trace.moves.views[base, steps, begun] = found
    if said.type is not None:
        trace.maps[found] = ArgMap(None, said.type)
    return found


def _given(trace: OpenTrace, value: Value) -> tuple[int | None, Any, ArgumentView | None]:
    """Returns the place of an argument, ``None`` for a captured array; the array of the first call; and what converts it."""
    if value in trace.given:
        return *trace.given[value], None
    captured = _captured(trace, value)
    if not isinstance(captured, ArgumentView):
        return None, captured, None
    given = next(given for place, given in trace.given.values() if place == captured.place)
    return captured.place, captured.of(given), captured


def _captured(trace: OpenTrace, value: Value) -> Any:
    return trace.captures[trace.builder.inputs.index(value) - len(trace.builder.inputs) + len(trace.captures)]
