"""Calls whose arguments have no extents: with generators among them, what they are written to says how large the grid is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from fusepy.arguments.mapping import Mapped, unmapped
from fusepy.arguments.nested import flat
from fusepy.backend.execute.texture_results import Into
from fusepy.backend.marshals.generators import Generator, Grid
from fusepy.backend.marshals.result_kinds import dimensions
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import is_texture, kind_of
from fusepy.ir.argmap import UNSAID
from fusepy.program.no_extents import NoExtents

if TYPE_CHECKING:
    from fusepy.program.program import Program


class Sized(Protocol):
    """A callable, as far as a call needs it whose extents have been found."""

    def _run(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any: ...

    def _compile(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], returns: str | Into | None) -> Program: ...


class SizedByResult:
    """Stands for a program under the key of such a call: gives its generators the extents of the result, and calls again.

    `caller` must have no setup of its own: functions that differ in what they have set share this, and set it around the call.
    """

    def __init__(self, caller: Sized, cause: NoExtents, names: Sequence[str]):
        program: Program = cause.program
        self.device = program.device
        self.sources = program.sources
        self.graph = program.graph
        self.recording = program.recording
        self.global_names = program.global_names
        self._caller = caller
        self._cause = cause
        self._program = program
        self._names = names
        self.may_set: tuple[str, ...] = ()
        self.nested = False  # the arguments are wanted as the caller passed them
        self.writes = False
        self.recorded: Any = None

    def before(self, args: Sequence[Any], result: Any) -> None:
        """Nothing yet: the call that is made once the extents are known comes this way again."""

    def __call__(self, args: Sequence[Any], result: Any = None) -> Any:
        """Runs the call over the grid of what it is written to.

        Raises:
            ShapeError: if it is written to nothing that has extents.
        """
        given, named = self._sized(args, result)
        mapped = self._mapped(result)
        return self._caller._run(given[: len(given) - len(named)], named, mapped)  # pyright: ignore[reportPrivateUsage]

    def record(self, args: Sequence[Any], result: Any, keep: list[Any]) -> Any:
        """The same for a call that is recorded."""
        given, named = self._sized(args, result)
        program = self._caller._compile(given, named, self._program.asked)  # pyright: ignore[reportPrivateUsage]
        return program.record(flat(given) if program.nested else given, result, keep)

    def _mapped(self, result: Any) -> Any:
        """What was given as ``_result=``, under the mappings that it came with."""
        asked = self._program.asked
        if not isinstance(asked, Into) or all(m == UNSAID for m in asked.maps):
            return result
        if not isinstance(result, tuple):
            return Mapped(result, asked.maps[0])
        return tuple(Mapped(r, m) for r, m in zip(cast("Sequence[Any]", result), asked.maps))

    def _sized(self, args: Sequence[Any], result: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All arguments with the extents of the result, and those of them that have names."""
        shape = self._extents(args, result)
        if not any(follows(v) for v in args):
            raise self._cause.error("generators inside the function, which follow its arguments")
        given = tuple(sized(v, shape) for v in args)
        return given, dict(zip(self._names, given[len(args) - len(self._names) :]))

    def _extents(self, args: Sequence[Any], result: Any) -> tuple[int, ...]:
        program = self._program
        several = cast("Sequence[Any]", result) if isinstance(result, (tuple, list)) else [result]
        outs, leaves = program.recording.outs or [None] * len(program.elements), flat(args)
        free = iter(several)
        for j, (place, element) in enumerate(zip(outs, program.elements)):
            target: Any = next(free, None) if place is None else unmapped(leaves[place])
            if isinstance(target, (Tensor, np.ndarray)):
                shape = _batch(target, element)
                dims = dimensions(program.said.get(j, UNSAID), len(shape), len(shape), program.named(j))
                return tuple(shape[dims.index(d)] for d in range(len(shape)))
            if is_texture(target):
                return kind_of(target).shape(target)
        raise self._cause.error("generators and single values")


def _batch(target: Any, element: Element) -> tuple[int, ...]:
    """The extents of a result without the components of an element."""
    shape: tuple[int, ...] = target.shape
    apart = not isinstance(target, Tensor) or (target.element.scalar and not element.scalar)
    return shape[: len(shape) - len(element.shape)] if apart else shape


def follows(value: Any) -> bool:
    """Whether an argument takes its extents from elsewhere: a generator without a shape, or an open grid."""
    inner = unmapped(value)
    return any(inner.open) if isinstance(inner, Grid) else isinstance(inner, Generator) and not inner.shape


def sized(value: Any, shape: tuple[int, ...]) -> Any:
    """The argument, with these extents if it takes them from elsewhere."""
    if not follows(value):
        return value
    return Mapped(value.value.over(shape), value.map) if isinstance(value, Mapped) else value.over(shape)
