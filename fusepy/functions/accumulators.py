"""Accumulators: the kinds of `accumulate`, which combine the values of all threads into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import is_nested
from fusepy.backend.marshals.generators import ThreadId
from fusepy.backend.marshals.registry import kind_of_class
from fusepy.backend.memory.storage import ACCUMULATORS
from fusepy.errors import ArgumentError, UnsupportedArgumentError, did_you_mean
from fusepy.functions.options import by_name
from fusepy.functions.parts import AnyFunction
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.ops import OPS
from fusepy.ir.types import BOOL, Type
from fusepy.location import user_line
from fusepy.trace.components.by_member import MEMBERS, by_member
from fusepy.trace.moves.indexing import indexed
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

F = TypeVar("F", bound=AnyFunction)


def accumulate(function: F, kinds: Mapping[str, str] | None = None, /, **named: str) -> F:
    """Returns this function with results that are combined over all threads into one value: ``accumulate(result="sum")``.

    A destination that has axes keeps these: a row of a grid of 4 x 6 gets 6 sums, and so does one of shape ``(1, 6)``;
    ``(4, 1)`` is a column. ``fp.vmap(out, (0,))`` names the axes of the grid that it keeps.

    Args:
        kinds: ``"sum"``, ``"max"``, ``"min"``, ``"mean"``, ``"first"`` or ``"push"``, which keeps all, by the name of an `out`
            parameter, ``"result"`` for what is returned, or ``"x.grad"`` for a backward pass; ``named`` the same by keyword.

    The gradients of arguments are summed over the axes along which these are broadcast. A backward pass that accumulates
    reduces a gradient over the whole grid of the call instead. ``x.grad`` becomes a new tensor if it has another shape.

    Raises:
        ArgumentError: for other names and kinds.

    Example:
        >>> import fusepy as fp
        >>> source = "void scale(float3 v, out float3 result) { result = v * 10; }"
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_accumulate", source)
        >>> m.scale.accumulate(result="sum")([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        [120.0, 150.0, 180.0]
    """
    asked = by_name(kinds, named, f"{function.__name__}.accumulate()", 'accumulate({"result": "sum"})')
    tracer = function.tracer.accumulating(asked)
    programs = function.programs.variant(("accumulate", *sorted(asked.items())))
    return function.variant(function.setup, tracer=tracer, programs=programs)


def checked(function: str, kinds: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Returns the arguments of `accumulate`.

    Raises:
        ArgumentError: for an unknown kind, or a name that is not among `names`.
    """
    for name, kind in kinds.items():
        if name not in names:
            hint = did_you_mean(name, names)
            raise ArgumentError(f"{function}.accumulate(): there is no result {name!r}", hint=hint)
        if kind not in ACCUMULATORS:
            what = f"{function}.accumulate(): there is no accumulator {kind!r}"
            raise ArgumentError(what, hint=did_you_mean(str(kind), ACCUMULATORS))
    return dict(kinds)


@dataclass(frozen=True)
class Kept:
    """The part of the grid that a destination keeps.

    Attributes:
        units: for each of its axes, if the extent is 1.
        numbers: its elements are numbers, so that its last axes may be the components of vectors.
        dims: the dimensions of the grid that `vmap` names; ``None`` for the last ones.
    """

    units: tuple[bool, ...]
    numbers: bool
    dims: tuple[int, ...] | None = None

    @staticmethod
    def of(given: Any) -> Kept | None:
        """Reads a destination; ``None`` for a destination without extents, which takes one value."""
        said, given = (given.map, given.value) if isinstance(given, Mapped) else (UNSAID, given)
        kind = None if isinstance(given, (tuple, list)) else kind_of_class(type(given))
        if kind is None or is_nested(given):
            return None
        units = tuple(n == 1 for n in kind.extents(given))
        element = kind.describe(given).type
        return Kept(units, element.is_numeric and not element.shape, said.dims) if units else None

    def axes(self, rank: int, type: Type) -> tuple[list[int], list[int]]:
        """Returns the axes of a value over a grid that are combined and dropped, and those that are combined to extent 1."""
        units = self.units[: len(self.units) - len(type.shape)] if self.numbers else self.units
        first = max(rank - len(units), 0)
        dims = range(first, rank) if self.dims is None else self.dims
        units = units[len(units) - len(dims) :]
        return [d for d in range(rank) if d not in dims], [d for d, unit in zip(dims, units) if unit and d < rank]


def kept_by(named: Mapping[str, Any]) -> dict[str, Kept]:
    """Returns what destinations keep, by their names."""
    found = {name: Kept.of(value) for name, value in named.items()}
    return {name: kept for name, kept in found.items() if kept is not None}


def left_of(said: ArgMap, kind: str | None) -> ArgMap:
    """Returns the mapping of a destination along the axes that an accumulator leaves: those that it names, in their order."""
    if kind in (None, "push") or said.dims is None:
        return said
    left = sorted(set(said.dims))
    return ArgMap(tuple(map(left.index, said.dims)), said.type)


def accumulated(trace: Trace, value: Traced, kind: str | None, kept: Kept | None = None) -> Traced:
    """Records the accumulation of a value over the axes that it has, without those that its destination keeps.

    Structs and arrays are accumulated member by member.

    Raises:
        UnsupportedArgumentError: for values whose members are not known, and for arrays of more than 64 elements.
    """
    loc, rank = user_line(), trace.lift(value).rank
    if kind is None or kind == "push" or not rank:
        return value
    if not value.type.is_numeric:
        made = by_member(trace, [value], lambda members: _member(trace, members[0], kind, kept, loc))
        if made is None:
            raise UnsupportedArgumentError(
                f"accumulate() of {value.type}",
                place=loc,
                saw=value.type,
                expected=f"numbers, vectors, matrices, and structs and arrays of at most {MEMBERS} of them",
                hint="accumulate numbers or vectors: write a Slang function that returns the field",
            )
        return made
    return _folded(trace, value, kind, kept, loc)


def _member(trace: Trace, value: Traced, kind: str, kept: Kept | None, loc: str | None) -> Traced:
    """Records the accumulation of a member of a struct or array, which keeps its type."""
    made = accumulated(trace, value, kind, kept)
    if made.type != value.type:
        raise UnsupportedArgumentError(
            f"accumulate() cannot put the {kind} of a member into the struct",
            place=loc,
            saw=f"a member of {value.type}, whose {kind} is {made.type}",
            expected=f"members whose {kind} has their own type",
            hint=f"write a Slang function that returns the field, and accumulate that: its {kind} is {made.type}",
        )
    return made


def _folded(trace: Trace, value: Traced, kind: str, kept: Kept | None, loc: str | None) -> Traced:
    """Records the accumulation of numbers, vectors or matrices."""
    rank = trace.lift(value).rank
    dropped, units = (list(range(rank)), []) if kept is None else kept.axes(rank, value.type)
    folded = sorted([*dropped, *units])
    if not folded:
        return value
    if kind == "first" and len(folded) < rank:
        at = tuple(0 if d in dropped else slice(1) if d in units else slice(None) for d in range(rank))
        return Traced(trace, indexed(trace, trace.lift(value), at), loc)
    if kind == "first":  # of one value, the sum is the value; a sum of bools would be a number
        index, flags = trace.captured(ThreadId(0, ()), "index"), value.type.scalar is BOOL
        value, kind = (
            trace.record("select", [trace.record("eq", [index, 0]), value, False if flags else 0]),
            "max" if flags else "sum",
        )
    axes = tuple(f"d{axis}" for axis in folded)
    maps = [ArgMap(tuple(range(rank)))]
    (made,) = trace.builder.add(OPS["reduce"], [trace.lift(value)], maps, {"kind": kind, "axes": axes}, loc)
    if units:
        left = [d for d in range(rank) if d not in dropped]
        small = ArgMap(tuple(i for i, d in enumerate(left) if d not in units))
        along = tuple(f"d{i}" for i, d in enumerate(left) if d in units)
        (made,) = trace.builder.add(OPS["expand"], [made], [small], {"axes": along}, loc)
    return Traced(trace, made, loc)
