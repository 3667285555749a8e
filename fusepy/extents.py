"""Calls whose arguments have no extents: with generators among them, what they are written to says how large the grid is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from fusepy.backend.targets import Into
from fusepy.backend.texture import is_texture, kind_of
from fusepy.element import Element
from fusepy.errors import ShapeError
from fusepy.generators import Generator, Grid
from fusepy.handout import dimensions
from fusepy.ir.argmap import UNSAID
from fusepy.ir.types import Kind
from fusepy.mapping import Mapped, unmapped
from fusepy.nested import flat
from fusepy.tensor import Tensor

if TYPE_CHECKING:
    from fusepy.compile import Program


class NoExtents(Exception):
    """A program has generators but no argument with extents."""

    def __init__(self, program: Program):
        super().__init__("no argument has extents")
        self.program = program

    def error(self, saw: str) -> ShapeError:
        name, whole = self.program.recording.graph.name, self._whole()
        if not whole:
            return ShapeError(
                f"{name}: no argument says how large the grid is",
                saw=saw,
                expected="an array among the arguments, or a tensor, array or texture as _result=",
                hint="a generator follows the grid of the call: pass _result=Tensor.empty(device, shape, dtype), or fp.grid(…)",
            )
        named = next((w for w in whole if w.isidentifier()), "value")
        return ShapeError(
            f"{name}: nothing says over which grid {whole[0]} is read whole",
            saw=f"{saw}; {' and '.join(whole)} as a whole, which spreads nothing over a grid",
            expected="coordinates with extents, an array that is read element by element, or a tensor as _result=",
            hint=f"in the place of the generator write fp.grid({named}.shape), or fp.grid({named}) inside a fused function",
        )

    def _whole(self) -> list[str]:
        """What user code reads as whole arrays where nothing has extents."""
        found: dict[str, None] = {}
        for region in self.program.graph.nodes:
            if region.body is None or any(m.dims for m in region.maps):
                continue
            for inner, value, map in zip(region.body.inputs, region.operands, region.maps):
                if value.rank and (map.type or value.type).kind in (Kind.WHOLE, Kind.RESOURCE):
                    found[f"{inner.name}" if value.name else f"what {inner.name} gives"] = None
        return list(found)


class Sized(Protocol):
    """A callable, as far as a call needs it whose extents have been found."""

    def _run(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any: ...

    def _compile(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], returns: str | Into | None) -> Program: ...


class SizedByResult:
    """Stands for a program under the key of such a call: gives its generators the extents of the result, and calls again.

    `caller` must have no setup of its own: functions that differ in what they have set share this, and set it around the call.
    """

    def __init__(self, caller: Sized, cause: NoExtents, names: Sequence[str]):
        self.device = cause.program.device
        self.sources = cause.program.sources
        self.graph = cause.program.graph
        self.recording = cause.program.recording
        self.global_names = cause.program.global_names
        self._caller = caller
        self._cause = cause
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
        program = self._caller._compile(given, named, self._cause.program.asked)  # pyright: ignore[reportPrivateUsage]
        return program.record(flat(given) if program.nested else given, result, keep)

    def _mapped(self, result: Any) -> Any:
        """What was given as ``_result=``, under the mappings that it came with."""
        asked = self._cause.program.asked
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
        program = self._cause.program
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
