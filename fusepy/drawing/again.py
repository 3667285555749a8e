"""Draws that come again: a call like an earlier one goes to its program, without asking what each argument is.

The ordinary way finds the program of a call by names, kinds and containers of all arguments, which takes longer than the draw. A
call is like an earlier one if it has the same size and names, and each value has the same key. Calls with nested values, with
indices of the host, which are checked, with textures as targets, and with globals among the arguments go the ordinary way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fusepy.arguments.fields import fields_of
from fusepy.arguments.key import signature
from fusepy.arguments.nested import flat
from fusepy.backend.execute.destinations import Spreadable
from fusepy.backend.memory.pending import PENDING, RECORDER
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError
from fusepy.functions.call import key_of
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.parts import STATIC, ProgramTable
from fusepy.location import user_line
from fusepy.program.bound import SetUpProgram, check_names
from fusepy.program.program import Program
from fusepy.pytree import TYPE
from fusepy.trace.setup import Setup
from fusepy.trace.trace import current_trace

LIKE = 64  # sizes of images for which a function keeps a call
MISSES = 8  # calls of this size that are not like the kept one; then another one is kept
_OWN = ("image_size", "vertices", "indices", "instances", "image_formats")
Groups = tuple[Any, Any, Any]  # vertices, indices, instances


class DrawAgain:
    """The program of a call, and what another call needs in order to be like it.

    Args:
        given: the arguments of the call, in the order of the program.
        names: the names among the shared values, in that order.
    """

    __slots__ = ("_groups", "_keys", "_leaves", "_names", "misses", "program")

    def __init__(self, program: Program, groups: Groups, given: Mapping[str, Any], names: Sequence[str]):
        self.program, self.misses = program, 0
        self._groups = tuple([_told(group) for group in groups])
        self._leaves: dict[int, Any] = {i: given[name]["count"] for i, name in _counts(groups)}
        self._names = tuple(names)
        self._keys = [signature(leaf) for leaf in flat([*given.values()])[1:]]

    def leaves(self, size: Any, groups: Groups, shared: Mapping[str, Any]) -> list[Any] | None:
        """Returns the arguments of the program for a call; None if the call is not like this one."""
        found = [size]
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
            elif cls is int:
                if told.__class__ is not int or told != group:
                    return None
                found.append(self._leaves[i])
            elif group is not None or told is not None:
                return None
        if len(shared) != len(self._names):
            return None
        try:
            found += [shared[name] for name in self._names]
            keys = [v.key if v.__class__ is Tensor else signature(v) for v in found[1:]]
        except (KeyError, FusepyError, RecursionError):  # another name, or a value that no call takes: the ordinary way tells
            return None
        return found if keys == self._keys else None


def run_again(function: DeviceFunction, targets: Any, groups: Groups, shared: Mapping[str, Any], result: Any) -> Any:
    """Runs a call if it is like an earlier one of this function; returns None if it is not.

    Args:
        targets: a height and a width, or None.
    """
    kept = _kept(function.programs, targets)
    if kept is None or not _is_plain(function, result) or current_trace() is not None or RECORDER.get() is not None:
        return None
    again, size = kept
    program, setup = again.program, function.setup
    leaves = again.leaves(size, groups, shared)
    if leaves is None or not program.state.held or PENDING:
        again.misses += 1
        return None
    program.device.counters.plan_hits += 1
    try:
        if setup is not None and program.state.names != setup.names:
            check_names(setup, program)
        return program(leaves, result, None, setup)
    except Spreadable:  # nothing has run
        return None
    except FusepyError as error:
        raise error.at(user_line()) from None


def keep(function: DeviceFunction, targets: Any, groups: Groups, given: Mapping[str, Any], result: Any) -> None:
    """Keeps a call that has run, if later ones may be like it, and no call of its size is kept.

    Args:
        given: the arguments by the names of the program's parameters.
    """
    table, held = function.programs, _kept(function.programs, targets)
    if current_trace() is not None or RECORDER.get() is not None:
        return
    if held is None:
        if len(table.again) >= LIKE or not _is_size(targets):
            return
    elif held[0].misses < MISSES and held[0].program.state.held:
        return
    shared = [value for name, value in given.items() if name not in _OWN]
    if (
        not _is_plain(function, result)
        or function.config.structs
        or not (all(map(_is_told, groups)) and all(map(_is_leaf, shared)))
    ):
        return
    _, key, _, named, _ = function.tracer.bind((), given)
    programs = table.variant(key) if key else table
    called = key_of(function, (), named)
    program: Any = programs.get(called if result.__class__ is not tuple else (called, None))
    if program.__class__ not in (Program, SetUpProgram) or program.open or program.follows is not None:
        return
    table.again[targets] = DrawAgain(program, groups, named, [n for n in named if n not in _OWN]), given["image_size"]


def _kept(table: ProgramTable, targets: Any) -> tuple[DrawAgain, Any] | None:
    return table.again.get(targets) if _is_size(targets) else None


def _is_size(targets: Any) -> bool:
    if targets.__class__ is not tuple or len(targets) != 2:
        return targets is None
    return targets[0].__class__ is int and targets[1].__class__ is int


def _is_plain(function: DeviceFunction, result: Any) -> bool:
    """True if neither settings nor destinations of a call need more than its program."""
    setup: Setup | None = function.setup
    if setup is not None and (setup.hooks or setup.encoder is not None):
        return False
    if result is None or result.__class__ is Tensor:
        return True
    return result.__class__ is tuple and all(one.__class__ is Tensor for one in cast("tuple[Any, ...]", result))


def _told(group: Any) -> Any:
    """Returns what must be the same of vertices, indices or instances: names, a count, or the class."""
    if group.__class__ is dict:
        return tuple(cast("dict[Any, Any]", group))
    return Tensor if group.__class__ is Tensor else group


def _is_told(group: Any) -> bool:
    if group.__class__ is dict:
        parts = cast("dict[Any, Any]", group)
        return TYPE not in parts and all(map(_is_leaf, parts.values()))
    return group is None or group.__class__ is Tensor or group.__class__ is int


def _is_leaf(value: Any) -> bool:
    return value.__class__ not in STATIC and fields_of(value) is None


def _counts(groups: Groups) -> list[tuple[int, str]]:
    return [(i, name) for i, name in ((0, "vertices"), (2, "instances")) if groups[i].__class__ is int]
