"""`Inputs`: the arguments and captured values of a program, and how they are placed on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fusepy.backend.memory.structs import ArgumentView
from fusepy.ir.graph import Graph
from fusepy.ir.narrowing import narrowed_uses
from fusepy.ir.ranges import Check
from fusepy.ir.types import Type
from fusepy.program.placement import Place, number_checks, place_of, refuse_copies, warn_narrowed
from fusepy.program.views import Views
from fusepy.trace.moves.inputs import MovedView
from fusepy.trace.recording import Recording


@dataclass(frozen=True)
class Inputs:
    """The values of a call: its arguments, then the captured values.

    Attributes:
        positions: for each input of the graph the position of its value.
        captures: the captured values; some are views of arguments, which `views` makes for each call.
        places: for each value the function that places it; ``None`` if it is passed as it is.
        checks: the checks of numbers, by position.
        narrows: the arguments that the upload converts, each with the smaller types.
        moved: the positions of captured values that are moved views of arguments.
    """

    positions: Sequence[int]
    captures: Sequence[Any]
    places: Sequence[Place | None]
    checks: Sequence[tuple[int, Check]]
    narrows: Mapping[int, Sequence[Type]]
    views: Views
    moved: Sequence[int]

    @staticmethod
    def of(recording: Recording, graph: Graph) -> Inputs:
        """Returns the inputs of a traced call; `graph` is its graph in regions.

        Raises:
            ShapeError: if Slang code would write into the copy of an array or list.
        """
        captures, first, recorded = recording.trace.captures, len(recording.arguments), recording.graph
        positions = [*recording.inputs, *range(first, first + len(captures))]
        views = Views(captures, positions if any(isinstance(c, ArgumentView) for c in captures) else ())
        moved = [first + i for i, c in enumerate(captures) if isinstance(c, MovedView)]
        uses = narrowed_uses(recorded, recording.trace.oracle)
        narrows = {p: uses[v] for v, p in zip(recorded.inputs, positions) if v in uses}
        values = views.of(recording.arguments)
        places: list[Place | None] = [None] * len(values)
        for value, position in zip(graph.inputs, positions):
            what = f"{graph.name}: argument {value.name!r}"
            places[position] = place_of(recording.trace.device, values[position], value, what, narrows.get(position, ()))
        checks = number_checks(graph, recorded, positions)
        refuse_copies(graph, positions, values)
        return Inputs(positions, captures, places, checks, narrows, views, moved)

    @property
    def ready(self) -> bool:
        """True if the arguments are passed as they are, without a check."""
        return not (any(self.places) or self.captures or self.checks)

    @cached_property
    def placing(self) -> list[tuple[int, Place]]:
        """The values that are placed, by position."""
        return [(i, place) for i, place in enumerate(self.places) if place is not None]

    def values(self, args: Sequence[Any]) -> list[Any]:
        """Returns the arguments and the captured values."""
        return self.views.of(args)

    def placed(self, args: Sequence[Any]) -> Sequence[Any]:
        """Returns the arguments and the captured values as they are passed to the launches.

        Raises:
            RangeError: for a number that does not fit its type in a kernel.
            TraceError: for a negative exponent of integers.
        """
        placed = self.views.of(args) if self.captures else [*args]
        for position, place in self.placing:
            placed[position] = place(placed[position])
        if self.narrows:
            warn_narrowed(self.narrows)
        for position, check in self.checks:
            check(placed[position])
        return placed
