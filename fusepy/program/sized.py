"""Calls whose arguments are generators without extents: the destination of the result gives the size of the grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.arguments.nested import flat, is_nested, refilled
from fusepy.backend.marshals.generators import Generator, Grid
from fusepy.backend.marshals.registry import batch_extents, kind_of_class
from fusepy.backend.marshals.result_kinds import dimensions
from fusepy.errors import ShapeError
from fusepy.ir.argmap import UNSAID
from fusepy.ir.graph import Graph
from fusepy.ir.types import Kind
from fusepy.program.program import Program, ProgramState


class SizedByResult:
    """Stands for a program under the key of such a call: it gives generators the extents of the result."""

    open, nested, undecided = True, False, False  # the call with extents decides

    def __init__(self, program: Program, names: Sequence[str]):
        self.device = program.device
        self.sources = program.sources
        self.recording = program.recording
        self._program = program
        self._names = names
        self.state = ProgramState()

    def sized(self, args: Sequence[Any], result: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with the extents of the result, by position and by name.

        Raises:
            ShapeError: if it is written to nothing that has extents.
        """
        shape = self._extents(args, result)
        if not any(follows(v) for v in args):
            raise self._error("generators inside the function, which follow its arguments")
        given = tuple(sized(v, shape) for v in args)
        first = len(args) - len(self._names)
        return given[:first], dict(zip(self._names, given[first:]))

    def _extents(self, args: Sequence[Any], result: Any) -> tuple[int, ...]:
        program = self._program
        several = cast("Sequence[Any]", result) if isinstance(result, (tuple, list)) else [result]
        outs, leaves = program.recording.outs or [None] * len(program.elements), flat(args)
        free = iter(several)
        for j, (place, element) in enumerate(zip(outs[: len(outs) - program.recording.printed], program.elements)):
            target: Any = next(free, None) if place is None else unmapped(leaves[place])
            kind = kind_of_class(target.__class__)
            if kind is not None and kind.texture is not None:
                return kind.extents(target)
            if kind is not None and kind.memory is not None and kind.describe(target).arrival.memory:
                shape = batch_extents(target, len(element.shape))
                dims = dimensions(program.destinations.said.get(j, UNSAID), len(shape), len(shape), program.destinations.named(j))
                return tuple(shape[dims.index(d)] for d in range(len(shape)))
        raise self._error("generators and single values")

    def _error(self, saw: str) -> ShapeError:
        name, whole = self._program.recording.graph.name, _whole(self._program.graph)
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


def _whole(graph: Graph) -> list[str]:
    """Returns the names of operands that user code reads as whole arrays, in regions without extents."""
    found: dict[str, None] = {}
    for region in graph.nodes:
        if region.body is None or any(m.dims for m in region.maps):
            continue
        for inner, value, map in zip(region.body.inputs, region.operands, region.maps):
            if value.rank and (map.type or value.type).kind in (Kind.WHOLE, Kind.RESOURCE):
                found[f"{inner.name}" if value.name else f"what {inner.name} gives"] = None
    return list(found)


def follows(value: Any) -> bool:
    """True if an argument takes its extents from others: a generator without a shape, or an open grid, also among its fields."""
    if is_nested(value):
        return any(map(follows, flat([value])))
    inner = unmapped(value)
    return any(inner.open) if isinstance(inner, Grid) else isinstance(inner, Generator) and not inner.shape


def sized(value: Any, shape: tuple[int, ...]) -> Any:
    """Returns the argument, with these extents if it takes them from others."""
    if not follows(value):
        return value
    if is_nested(value):
        return refilled(value, iter([sized(leaf, shape) for leaf in flat([value])]))
    return Mapped(value.value.over(shape), value.map) if isinstance(value, Mapped) else value.over(shape)
