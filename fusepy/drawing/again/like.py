"""Draws that come again: a call like an earlier one goes to its program, without asking what each argument is.

The ordinary way finds the program of a call by names, kinds and containers of all arguments, which takes longer than the draw. A
call is like an earlier one if it has targets of the same size and formats, the same names, and each value has the same key. Calls
with nested values and with globals among the arguments go the ordinary way. `SameTensors` is a yet shorter way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from fusepy.arguments.fields import fields_of
from fusepy.arguments.key import signature
from fusepy.arguments.nested import flat
from fusepy.backend.device.sink import CAPTURED
from fusepy.backend.execute.destinations import Spreadable
from fusepy.backend.memory.pending import PENDING, RECORDER
from fusepy.backend.memory.tensor import Tensor
from fusepy.drawing.again.same import SameTensors
from fusepy.drawing.again.target_keys import Groups, Textures, filled, is_read, key_of_targets
from fusepy.drawing.arguments import indices_of
from fusepy.errors import FusepyError
from fusepy.functions.call import key_of
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.parts import STATIC, ProgramTable
from fusepy.functions.python_tracer import PythonTracer
from fusepy.location import user_line
from fusepy.program.bound import SetUpProgram, check_names
from fusepy.program.destinations import destinations
from fusepy.program.program import Program
from fusepy.pytree import TYPE
from fusepy.trace.setup import Setup
from fusepy.trace.trace import current_trace

LIKE = 64  # sizes of images for which a function keeps a call
MISSES = 8  # calls of this size that are not like the kept one, or have other tensors; then another one is kept
NEVER = -(1 << 40)  # calls until a kind of call is asked again that needs more than one launch
_OWN = ("image_size", "groups", "vertices", "indices", "instances", "image_formats")
_LISTS = (list, tuple)
_HOST = (np.ndarray, list, tuple)  # classes of indices of the host


class DrawAgain:
    """The program of a call, and what another call needs in order to be like it.

    Args:
        given: the arguments of the call, in the order of the program.
        names: the names among the shared values, in that order.
        textures: true if the targets are textures.
    """

    __slots__ = ("_first", "_groups", "_keys", "_leaves", "_names", "_others", "_same", "misses", "program", "textures")

    def __init__(self, program: Program, groups: Groups, given: Mapping[str, Any], names: Sequence[str], textures: bool):
        self.program, self.textures, self.misses, self._others = program, textures, 0, MISSES - 1
        self._first = [given[name] for name in ("image_size", "groups") if name in given]  # they are in the key of the call
        self._same = cast("SameTensors | None", None)
        self._groups = tuple([_told(group) for group in groups])
        self._leaves: dict[int, Any] = {i: given[name]["count"] for i, name in _counts(groups)}
        self._names = tuple(names)
        self._keys = [signature(leaf) for leaf in flat([*given.values()])[1:]]

    def leaves(self, groups: Groups, shared: Mapping[str, Any], what: str) -> list[Any] | None:
        """Returns the arguments of the program for a call; None if the call has others. Their keys may differ.

        Raises:
            ArgumentError, ShapeError: for indices of the host that are no integers, or point past the vertices.
        """
        vertices, indices, instances = groups
        told = self._groups
        if vertices.__class__ is dict and indices.__class__ is told[1] is Tensor and instances is told[2] is None:
            if tuple(vertices) != told[0]:  # the most common call
                return None
            found = [*self._first, *vertices.values(), indices]
        elif (made := self._grouped(groups, what)) is None:
            return None
        else:
            found = made
        if tuple(shared) == self._names:
            found += shared.values()
            return found
        if len(shared) != len(self._names):
            return None
        try:
            found += [shared[name] for name in self._names]
        except KeyError:  # another name: the ordinary way tells
            return None
        return found

    def _grouped(self, groups: Groups, what: str) -> list[Any] | None:
        """Returns the sizes, and the arguments among vertices, indices and instances; None if the call has others."""
        found = [*self._first]
        for i, (group, told) in enumerate(zip(groups, self._groups)):
            cls = group.__class__
            if cls is dict:
                if tuple(group) != told:
                    return None
                found += group.values()
            elif cls is Tensor:
                if told is not Tensor:
                    return None
                found.append(group)
            elif group is None:
                if told is not None:
                    return None
            elif cls is int:
                if told.__class__ is not int or told != group:
                    return None
                found.append(self._leaves[i])
            elif told is not np.ndarray or i != 1 or cls not in _HOST:
                return None
            else:
                vertices = groups[0] if groups[0].__class__ is not int else {"count": self._leaves[0]}
                found.append(indices_of(group, vertices, what))
        return found

    def run(self, args: list[Any], result: Any, setup: Setup | None) -> Any:
        """Runs the program on arguments like those of the kept call; returns None for other arguments."""
        program, same = self.program, self._same
        outs = self._placed(result)
        if same is not None and (made := same.run(args, outs, result, setup)) is not None:
            return made
        try:
            keys = [v.key if v.__class__ is Tensor else signature(v) for v in args[1:]]
        except (FusepyError, RecursionError):  # a value that no call takes: the ordinary way tells
            return None
        if keys != self._keys:
            return None
        self._others += 1
        if self._others >= MISSES:
            found = SameTensors.of(program, args, outs) if SameTensors.fits(program, outs) else None
            self._others = 0 if found is not None else NEVER
            if found is not None and found[0] is not None:
                self._same = found[0]
                if (made := self._same.launch(found[1], outs, result, setup)) is not None:
                    return made
        return program(args, result, None, setup)

    def _placed(self, result: Any) -> Sequence[Any]:
        """Returns the destinations as launches take them; none if results are new."""
        if result is None:
            return ()
        listed: Sequence[Any] = result if result.__class__ in _LISTS else (result,)
        if not self.textures:
            return listed
        program = self.program
        return [program.destinations.targets[j].place(one, program.device) for j, one in enumerate(listed)]


def run_again(
    function: DeviceFunction, targets: Any, groups: Groups, shared: Mapping[str, Any], result: Any, counts: Any = None
) -> Any:
    """Runs a call if it is like an earlier one of this function; returns None if it is not.

    Args:
        counts: the numbers of groups of a mesh shader.
    """
    key = key_of_targets(targets)
    again: DrawAgain | None = function.programs.draws.get(key if counts is None else (key, counts))
    if again is None or not _is_plain(function, result) or current_trace() is not None:
        return None
    if again.textures:
        if result is not None or is_read(targets, groups, shared):
            return None
        result = filled(targets)
    program, setup = again.program, function.setup
    try:
        leaves = again.leaves(groups, shared, function.__name__)
        if leaves is None or not program.state.held or PENDING or RECORDER.get() is not None or CAPTURED.get() is not None:
            again.misses += 1
            return None
        program.device.counters.plan_hits += 1
        if setup is not None and program.state.names != setup.names:
            check_names(setup, program)
        made = again.run(leaves, result, setup)
    except Spreadable:  # nothing has run
        return None
    except FusepyError as error:
        raise error.at(user_line()) from None
    if made is None:
        again.misses += 1
    return made


def keep(
    function: DeviceFunction, targets: Any, groups: Groups, given: Mapping[str, Any], result: Any, counts: Any = None
) -> None:
    """Keeps a call that has run, if later ones may be like it, and no call with such targets is kept.

    Args:
        counts: as of `run_again`.
        given: the arguments by the names of the program's parameters.
        result: the destinations as the caller gave them.
    """
    table, asked = function.programs, key_of_targets(targets)
    key = asked if counts is None else (asked, counts)
    if asked == () or current_trace() is not None or RECORDER.get() is not None:
        return
    held: DrawAgain | None = table.draws.get(key)
    if len(table.draws) >= LIKE if held is None else held.misses < MISSES and held.program.state.held:
        return
    shared = [value for name, value in given.items() if name not in _OWN]
    if (
        not _is_plain(function, result)
        or function.config.structs
        or not cast("PythonTracer", function.tracer).static.isdisjoint(given)
        or not (_is_told(groups[0]) and _is_told(groups[2]) and all(map(_is_leaf, shared)))
        or not (_is_told(groups[1]) or groups[1].__class__ in _HOST)
    ):
        return
    textures = asked.__class__ is Textures
    if textures:
        if result is not None or is_read(targets, groups, {str(i): value for i, value in enumerate(shared)}):
            return
        result = filled(targets)
    program, named = _program_of(function, table, given, result)
    if program.__class__ not in (Program, SetUpProgram) or program.open or program.follows is not None:
        return
    table.draws[key] = DrawAgain(program, groups, named, [n for n in named if n not in _OWN], textures)


def _program_of(
    function: DeviceFunction, table: ProgramTable, given: Mapping[str, Any], result: Any
) -> tuple[Any, Mapping[str, Any]]:
    """Returns the program of a call that has run, and its arguments in the order of the program."""
    _, key, _, named, _ = function.tracer.bind((), given)
    programs = table.variant(key) if key else table
    called = key_of(function, (), named)
    if result is None or result.__class__ is Tensor:
        return programs.get(called), named
    return programs.get((called, destinations(result, tuple(named.values()))[0])), named


def _is_plain(function: DeviceFunction, result: Any) -> bool:
    """True if neither settings nor destinations of a call need more than its program."""
    setup: Setup | None = function.setup
    if setup is not None and (setup.hooks or setup.encoder is not None):
        return False
    if result is None or result.__class__ is Tensor:
        return True
    if result.__class__ is not tuple:
        return False
    for one in cast("tuple[Any, ...]", result):  # noqa: SIM110  # `all` takes three times as long
        if one.__class__ is not Tensor:
            return False
    return True


def _told(group: Any) -> Any:
    """Returns what must be the same of vertices, indices or instances: names, a count, or the class."""
    if group.__class__ is dict:
        return tuple(cast("dict[Any, Any]", group))
    return Tensor if group.__class__ is Tensor else np.ndarray if group.__class__ in _HOST else group


def _is_told(group: Any) -> bool:
    if group.__class__ is dict:
        parts = cast("dict[Any, Any]", group)
        return TYPE not in parts and all(map(_is_leaf, parts.values()))
    return group is None or group.__class__ is Tensor or group.__class__ is int


def _is_leaf(value: Any) -> bool:
    return value.__class__ not in STATIC and fields_of(value) is None


def _counts(groups: Groups) -> list[tuple[int, str]]:
    return [(i, name) for i, name in ((0, "vertices"), (2, "instances")) if groups[i].__class__ is int]
