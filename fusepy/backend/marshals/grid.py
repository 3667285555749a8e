"""`Grid`: integer coordinates of the threads, without memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from fusepy.backend.marshals.base import BLOCK, Description, Field, Operand, Variant, convert
from fusepy.generators import Grid
from fusepy.ir.types import INT, Type

if TYPE_CHECKING:
    from fusepy.backend.runtime import Device


class GridMarshal:
    """`fusepy.grid`: supplies ``int``, ``int2``, ``int3`` or ``int4`` coordinates, the last dimension as ``.x``."""

    returns = "tensor"

    def key(self, value: Grid) -> Hashable:
        return ("grid", len(value.shape))

    def describe(self, value: Grid) -> Description:
        rank = len(value.shape)
        return Description(Type.vector(INT, rank), (None,) * rank, "Grid", weak=True)

    def place(self, value: Grid, type: Type, device: Device) -> Any:
        return value


def _offset(axis: int) -> Callable[[Grid], int]:
    return lambda grid: grid.offset[axis]


def _step(axis: int) -> Callable[[Grid], int]:
    return lambda grid: grid.stride[axis] if grid.shape[axis] != 1 else 0


class GridAccess:
    """``offset + index * stride`` per dimension, reversed, so that ``.x`` runs along the fastest axis."""

    kind = "computed"

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        name = f"a_{operand.name}"
        return [
            field
            for axis in range(operand.rank)
            for field in (
                Field("int", f"{name}_o{axis}", "offset", operand.position, axis, _offset(axis)),
                Field("int", f"{name}_t{axis}", "step", operand.position, axis, _step(axis)),
            )
        ]

    def load(self, operand: Operand, variant: Variant) -> str:
        name = f"{BLOCK}.a_{operand.name}"
        parts = [f"int({name}_o{axis} + d{d} * {name}_t{axis})" for axis, d in enumerate(operand.dims)]
        if len(parts) == 1:
            return convert(parts[0], INT, operand.want)
        return f"{operand.want}({', '.join(reversed(parts))})"
