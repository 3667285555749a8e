"""`NoExtents`: a program whose arguments do not say how large the grid is."""

from __future__ import annotations

from typing import Any

from fusepy.errors import ShapeError
from fusepy.ir.graph import Graph
from fusepy.ir.types import Kind


class NoExtents(Exception):
    """A program, which is at hand here, has generators but no argument with extents."""

    def __init__(self, program: Any, name: str, graph: Graph):
        super().__init__("no argument has extents")
        self.program = program
        self._name = name
        self._graph = graph

    def error(self, saw: str) -> ShapeError:
        name, whole = self._name, self._whole()
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
        for region in self._graph.nodes:
            if region.body is None or any(m.dims for m in region.maps):
                continue
            for inner, value, map in zip(region.body.inputs, region.operands, region.maps):
                if value.rank and (map.type or value.type).kind in (Kind.WHOLE, Kind.RESOURCE):
                    found[f"{inner.name}" if value.name else f"what {inner.name} gives"] = None
        return list(found)
