"""`Resolution`: Slang's answer to a call."""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.ir.argmap import ArgMap
from fusepy.ir.oracle import Param
from fusepy.ir.types import Type


@dataclass(frozen=True)
class Resolution:
    """Slang's answer to a call: parameters, maps, results and grid.

    Attributes:
        params: all parameters that the call fills, in order, outputs included.
        maps: one resolved map per operand (that is, per parameter that is not ``out``).
        results: name and type of the return value (``"return"``), then of every ``out`` and ``inout`` parameter.
        grid_rank: the number of grid dimensions.
    """

    params: tuple[Param, ...]
    maps: tuple[ArgMap, ...]
    results: tuple[tuple[str, Type], ...]
    grid_rank: int
