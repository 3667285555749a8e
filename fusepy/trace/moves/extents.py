"""Extents of arguments and captured values, and numbers that every call computes from its own arguments."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.backend.kernels.overlap import in_common
from fusepy.backend.marshals.generators import Grid
from fusepy.backend.marshals.registry import extents_of
from fusepy.backend.memory.sampling import LevelView, SettingView, level_of, levels_of, setting_of
from fusepy.backend.memory.structs import ArgumentView
from fusepy.backend.memory.tensor import Tensor
from fusepy.derivatives.extents import Axis, Pick
from fusepy.errors import GradientError, TraceError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.value import is_stored
from fusepy.trace.inputs import STRUCTS, add_input
from fusepy.trace.open_trace import OpenTrace

PickOf = Callable[[OpenTrace, Node, Sequence[ArgMap]], "tuple[int, tuple[int, ...], int] | None"]  # `take.pick_of`
Recurrence = Callable[[OpenTrace, Value, int, bool, bool], Value]  # `recurrences.recurrence`, which moves elements


@dataclass(frozen=True)
class ExtentView(ArgumentView):
    """The product of some extents of an argument, as a number. Every call computes it from its own argument.

    Attributes:
        view: the conversion of the argument to structs, whose extents are meant; ``None`` for the argument itself.
    """

    axes: tuple[int, ...]
    view: ArgumentView | None = None

    def of(self, value: Any) -> float:
        given = value if self.view is None else self.view.of(value)
        extents = given.shape if given.__class__ is Tensor else extents_of(given)
        return float(math.prod(map(extents.__getitem__, self.axes)))


@functools.lru_cache(maxsize=16)
def _coordinates(extent: int) -> Grid:
    return Grid((extent,), (0,), (1,))


def is_added(captured: Any) -> bool:
    """True for a captured value that the trace has added: a view of an argument, or the coordinates of moved elements."""
    return isinstance(captured, ArgumentView) or (isinstance(captured, Grid) and captured is _coordinates(captured.shape[0]))


class TraceShapes:
    """The extents of the arguments and captured values of a trace.

    The trace notes which extents were asked for: its program runs for arguments with the same answers only.
    """

    def __init__(self, trace: OpenTrace, exact: bool = False, recurrence: Recurrence | None = None, pick: PickOf | None = None):
        self.trace, self.exact, self._recurrence, self._pick = trace, exact, recurrence, pick
        self._levels: dict[Value, list[Value]] = {}  # of captured textures

    def is_unit(self, axis: Axis) -> bool:
        extents, place, view = self._source(axis.input)
        unit = axis.axis < len(extents) and extents[axis.axis] == 1
        if isinstance(view, LevelView):  # whose gradient is an array of its own, whatever its extents are
            return False
        if place is not None and axis.input in self.trace.moves.of:
            self._note_sizes(place)
            return unit
        if unit and view is not None:
            raise GradientError(f"argument {axis.input.name!r} is read as structs, along an axis of extent 1", hint=STRUCTS)
        if place is not None and view is None:
            self.trace.extents.units[place, axis.axis] = unit
        return unit

    def small(self, axis: Axis) -> int | None:
        """Returns the extent if it is from 2 to 4, so that the axis could be the components of a vector."""
        extents, place, view = self._source(axis.input)
        extent = extents[axis.axis] if axis.axis < len(extents) else 0
        found = extent if 2 <= extent <= 4 else None
        if place is not None and axis.input in self.trace.moves.of:
            self._note_sizes(place)
        elif place is not None and view is None:
            self.trace.extents.smalls[place, axis.axis] = found
        return found

    def extent(self, axis: Axis) -> int:
        """Returns the extent of an axis. The program is used for arguments with the same one only."""
        extents, place, view = self._source(axis.input)
        if place is not None and view is None:
            self.trace.extents.sizes[place, axis.axis] = extents[axis.axis]
        elif place is not None:
            self._note_sizes(place)
        return extents[axis.axis]

    def _note_sizes(self, place: int) -> None:
        """Notes all extents of an argument, on which those of its views depend."""
        given = next(given for at, given in self.trace.given.values() if at == place)
        self.trace.extents.sizes.update(((place, i), n) for i, n in enumerate(extents_of(given)))

    def is_filled(self, axis: Axis) -> bool:
        """True if an axis has elements in every call that the program serves."""
        (extents, place, view), asked, at = self._source(axis.input), self.trace.extents, axis.axis
        key = (-1 if place is None else place, at)
        told = (*axis.input.dims[at:][:1], asked.sizes.get(key), asked.smalls.get(key), asked.units.get(key))
        return extents[at] > 0 and (place is None or (view is None and any(told)))

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
        made = [self._input(ExtentView(place, tuple(found), view), "count", 2.0) for (place, view), found in of.items()]
        if known != 1.0 or not made:
            made += trace.builder.add(OPS["const"], [], attrs={"type": "float", "value": known})
        while len(made) > 1:
            made += trace.builder.add(OPS["mul"], [made.pop(), made.pop()])
        return made[0]

    def setting(self, value: Value) -> Value | None:
        """Returns the settings of a sampler: an input whose number is computed from the argument of each call."""
        trace = self.trace
        if value not in trace.given and value not in trace.builder.inputs:
            return None
        if value in trace.given:
            return self._input(SettingView(trace.given[value][0]), "count", 2.0)
        return trace.builder.add(OPS["const"], [], attrs={"type": "float", "value": setting_of(self._captured(value))})[0]

    def levels(self, value: Value) -> Sequence[Value] | None:
        """Returns the mip levels of a texture behind the first one: inputs that are views of the argument of each call."""
        trace = self.trace
        if is_stored(value):
            return ()
        if value in trace.given:
            place, texture = trace.given[value]
            count = trace.extents.levels[place] = levels_of(texture)
            made = [(LevelView(place, level), level_of(texture, level)) for level in range(1, count)]
            return [self._input(view, f"{value.name}_level_{view.level}", example) for view, example in made]
        if value not in trace.builder.inputs:
            return None
        if value not in self._levels:
            texture = self._captured(value)
            self._levels[value] = [trace.capture(level_of(texture, k), "level") for k in range(1, levels_of(texture))]
        return self._levels[value]

    def shares(self, value: Value, other: Value) -> bool:
        """True if two inputs have memory in common. The program is used for arguments with the same answer only."""
        if not {value, other} <= {*self.trace.given, *self.trace.builder.inputs}:  # in a body
            return value is other
        (one, at, by), (two, place, view) = self._given(value), self._given(other)
        found = in_common(one, two)
        if at is not None or place is not None:
            self.trace.extents.shared.append(((at, one if at is None else by), (place, two if place is None else view), found))
        return found

    def numbers(self, extent: int) -> Value:
        """Returns the coordinates of a grid of this extent: an input that needs no memory."""
        return self.trace.capture(_coordinates(extent), "component")

    def pick(self, node: Node, maps: Sequence[ArgMap]) -> Pick | None:
        found = None if self._pick is None else self._pick(self.trace, node, maps)
        return None if found is None else Pick(*found[:2], self.numbers(found[2]), self.integer(found[2]))

    def recurrence(self, pairs: Value, axis: int, back: bool, exclusive: bool) -> Value:
        assert self._recurrence is not None, "only derivatives ask for one"
        return self._recurrence(self.trace, pairs, axis, back, exclusive)

    def integer(self, number: int) -> Value:
        """Returns an integer as a parameter of the program, so that kernels do not depend on it."""
        integers = self.trace.moves.integers
        if number not in integers:
            integers[number] = add_input(self.trace, "extent", number)
            self.trace.captures.append(number)
        return integers[number]

    def _input(self, view: ArgumentView, name: str, example: Any) -> Value:
        """Returns the input that every call computes of its argument by `view`."""
        trace = self.trace
        for place, known in enumerate(trace.captures):
            if isinstance(known, ArgumentView) and known == view:
                return trace.builder.inputs[len(trace.builder.inputs) - len(trace.captures) + place]
        made = add_input(trace, name, example)
        trace.captures.append(view)
        return made

    def _captured(self, value: Value) -> Any:
        """Returns the value of the enclosing scope, or the view of an argument, that an input is."""
        inputs, captures = self.trace.builder.inputs, self.trace.captures
        if value not in inputs:
            raise TraceError(
                "the extents of an array are asked for in the body of a loop or a branch",
                hint="slice arrays before the loop or branch, whose body runs for each element by itself",
            )
        return captures[inputs.index(value) - len(inputs) + len(captures)]

    def _source(self, value: Value) -> tuple[tuple[int, ...], int | None, ArgumentView | None]:
        """Returns the extents of an input; its place if it is an argument, or a view of one; and the view."""
        given, place, view = self._given(value)
        return extents_of(given), place, view

    def _given(self, value: Value) -> tuple[Any, int | None, ArgumentView | None]:
        """Returns what an input is in the first call; its place if it is an argument, or a view of one; and the view."""
        if value in self.trace.given:
            place, given = self.trace.given[value]
            return given, place, None
        captured = self._captured(value)
        if not isinstance(captured, ArgumentView):
            return captured, None, None
        given = next(given for place, given in self.trace.given.values() if place == captured.place)
        return captured.of(given), captured.place, captured
