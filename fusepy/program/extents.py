"""`ByExtents`: the programs of one key. Extents are in no key, but some of them decide about a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fusepy.arguments.mapped import unmapped
from fusepy.backend.kernels.overlap import in_common
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.backend.memory.sampling import levels_of
from fusepy.backend.memory.structs import ArgumentView, StructView, struct_rank
from fusepy.backend.memory.tensor import Tensor
from fusepy.derivatives.extents import Source
from fusepy.ir.ops.promotion import type_of_number
from fusepy.program.program import Program, ProgramState

PROGRAMS = 17  # of one key
KNOWN = 256  # shapes of arguments


class ByExtents:
    """Stands for the programs of one key that differ by extents of the arguments.

    An axis of extent 1 is broadcast, so its gradient is a sum: another program than that of the same axis with more elements. An
    axis of extent 2 to 4 whose numbers reach a call may be components. An array of numbers that is read as structs has as many
    axes of structs as its extents say. The gradient of a texture is one array for each mip level.
    """

    open = True

    def __init__(self, first: Program):
        self.device = first.device
        self.sources = first.sources
        self.recording = first.recording
        self.nested, self.narrow, self.undecided = first.nested, first.narrow, first.undecided
        self.programs: list[Program] = []
        self.state = ProgramState()
        self._keep(first)

    def _keep(self, program: Program) -> None:
        """Adds a program, and forgets the oldest of too many."""
        self.programs = [*self.programs[1 - PROGRAMS :], program]
        known: dict[tuple[tuple[int, ...], ...], Program] = {}
        places = sorted({place for p in self.programs for place in _places(p)})
        # the arguments whose extents programs ask for; the programs that ask for nothing else; the programs by these extents.
        # It is replaced at once: other threads read it
        self._lookup = places, frozenset(p for p in self.programs if _is_plain(p)), known

    @property
    def acts(self) -> bool:
        """True if one of the programs writes memory beside its results."""
        return any(p.acts for p in self.programs)

    def of(self, args: Sequence[Any], compile: Callable[[], Program]) -> Program:
        """Returns the program for arguments with such extents; compiles it if there is none.

        Raises:
            UnsupportedArgumentError: for an array that holds no whole number of structs.
        """
        places, plain, known = self._lookup
        shapes = tuple([v.shape if v.__class__ is Tensor else _extents(v) for v in [args[i] for i in places]])
        found = known.get(shapes)
        if found is not None and (found in plain or _takes(found, args)):
            return found
        for program in self.programs:
            if _takes(program, args):
                if len(known) >= KNOWN:
                    known.clear()
                known[shapes] = program
                return program
        made = compile()
        made.device.counters.plan_misses += 1
        self._keep(made)
        return made


def depends_on_extents(program: Program) -> bool:
    """True if a call of the same key may need another program, for its extents."""
    trace = program.recording.trace
    return bool(trace.extents or trace.held) or any(isinstance(c, StructView) for c in program.inputs.captures)


def _places(program: Program) -> set[int]:
    """Returns the arguments whose extents a program depends on."""
    asked, positions = program.recording.trace.extents, program.inputs.positions
    return {positions[place] for place, _ in (*asked.units, *asked.smalls, *asked.sizes)}


def _is_plain(program: Program) -> bool:
    """True if a program depends on nothing of its arguments but extents, so that the same shapes find it again."""
    asked, captures = program.recording.trace.extents, program.inputs.captures
    others = asked.levels or asked.shared or asked.numbers or program.recording.trace.held
    return not (others or any(isinstance(c, StructView) for c in captures))


def _takes(program: Program, args: Sequence[Any]) -> bool:
    if not all(held.is_current() for held, _ in program.recording.trace.held):
        return False
    positions, asked = program.inputs.positions, program.recording.trace.extents
    for (place, axis), unit in asked.units.items():
        if (_extent(args[positions[place]], axis) == 1) != unit:
            return False
    for (place, axis), small in asked.smalls.items():
        extent = _extent(args[positions[place]], axis)
        if (extent if 2 <= extent <= 4 else None) != small:
            return False
    for (place, axis), extent in asked.sizes.items():
        if _extent(args[positions[place]], axis) != extent:
            return False
    for place, count in asked.levels.items():
        if levels_of(unmapped(args[positions[place]])) != count:
            return False
    for source, other, common in asked.shared:
        if in_common(_given(source, positions, args), _given(other, positions, args)) != common:
            return False
    for view in program.inputs.captures:
        if isinstance(view, StructView) and struct_rank(unmapped(args[positions[view.place]]), view.element) != view.rank:
            return False
    if not asked.numbers:
        return True
    values = program.inputs.values(args)
    return all(type_of_number(values[positions[place]]) is type for place, type in asked.numbers.items())


def _given(source: Source, positions: Sequence[int], args: Sequence[Any]) -> Any:
    """Returns what an input is in this call."""
    place, view = source
    given = view if place is None else unmapped(args[positions[place]])
    return view.of(given) if place is not None and isinstance(view, ArgumentView) else given


def _extents(value: Any) -> tuple[int, ...]:
    inner = unmapped(value)
    return tuple(kind_of_value(inner).extents(inner))


def _extent(value: Any, axis: int) -> int:
    extents = _extents(value)
    return extents[axis] if axis < len(extents) else 0
