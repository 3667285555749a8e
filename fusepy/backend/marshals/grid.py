"""Coordinates of a grid, which need no memory: `Grid`, `Shape`, Python's ``range``, `Linspace`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from operator import attrgetter
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import BLOCK, Field, Operand, convert
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.base import Description
from fusepy.backend.marshals.generators import Grid, Linspace, check_extents
from fusepy.errors import RangeError
from fusepy.ir.types import FLOAT, INT, Kind, Type


class GridMarshal:
    """`fusepy.grid`: supplies ``int``, ``int2``, ``int3`` or ``int4`` coordinates, the last dimension as ``.x``."""

    returns = "tensor"
    extents = attrgetter("shape")

    def key(self, value: Grid) -> Hashable:
        return ("grid", len(value.shape), any(value.open))  # if nothing else has extents, an open one takes the result's

    def describe(self, value: Grid) -> Description:
        return _coordinates(len(value.shape))

    def place(self, value: Grid, type: Type, device: Device) -> Any:
        return value


def _coordinates(rank: int) -> Description:
    type = Type.vector(INT, rank) if rank <= 4 else Type.array(INT, rank)
    return Description(type, (None,) * rank, "Grid", weak=True)


class ShapeMarshal:
    """`Shape`, and slangpy's: the coordinates of a grid of these extents."""

    returns = "tensor"

    def extents(self, value: Any) -> tuple[int, ...]:
        return check_extents(tuple(value), "Shape")

    def key(self, value: Any) -> Hashable:
        if min(value, default=0) < 0:
            check_extents(tuple(value), "Shape")  # raises
        return ("shape", len(value))  # not the key of a grid: `place` differs

    def describe(self, value: Any) -> Description:
        return _coordinates(len(value))

    def place(self, value: Any, type: Type, device: Device) -> Any:
        return Grid(tuple(value), (0,) * len(value), (1,) * len(value))


class RangeMarshal:
    """Python's ``range``: an integer per thread."""

    returns = "list"

    def extents(self, value: range) -> tuple[int, ...]:
        return (len(value),)

    def key(self, value: range) -> Hashable:
        return "range"

    def describe(self, value: range) -> Description:
        return _coordinates(1)

    def place(self, value: range, type: Type, device: Device) -> Any:
        low = 0 if type.dtype is not None and type.dtype.kind == "u" else -0x80000000
        for number in (value[0], value[-1]) if value else ():
            if not low <= number <= 0x7FFFFFFF:
                raise RangeError(
                    f"a range holds a number out of range for {type}",
                    saw=number,
                    expected=f"{low} to {0x7FFFFFFF}",
                    hint="pass an array with the dtype that is wanted, e.g. np.arange(…, dtype=np.int64)",
                )
        return Grid((len(value),), (value.start,), (value.step if len(value) > 1 else 1,))


class LinspaceMarshal:
    """`fusepy.linspace`: a float per thread."""

    returns = "tensor"

    def key(self, value: Linspace) -> Hashable:
        return "linspace"

    def describe(self, value: Linspace) -> Description:
        return Description(FLOAT, (None,), "Linspace", weak=True)

    def place(self, value: Linspace, type: Type, device: Device) -> Any:
        return value


@cache  # one object, so that a program reads a number once for all its kernels
def _offset(axis: int) -> Callable[[Grid], int]:
    return lambda grid: grid.offset[axis]


@cache
def _step(axis: int) -> Callable[[Grid], int]:
    return lambda grid: grid.step[axis]


class GridAccess:
    """Access by ``offset + index * stride`` per dimension, reversed in vectors, so that ``.x`` is the fastest axis."""

    addressing = "computed"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        name = f"a_{operand.name}"
        return [
            field
            for axis in range(operand.rank)
            for field in (
                Field("int", f"{name}_o{axis}", "offset", operand.position, axis, _offset(axis)),
                Field("int", f"{name}_t{axis}", "step", operand.position, axis, _step(axis)),
            )
        ] + followed_steps(operand, variant)

    def load(self, operand: Operand, variant: Variant) -> str:
        name = f"{BLOCK}.a_{operand.name}"
        places = [f"d{d}" for d in operand.dims]
        if operand.near is not None:
            places = [f"({name}_s{axis} == 0 ? 0 : {place})" for axis, place in enumerate(places)]
        return coordinates(operand, [f"int({name}_o{axis} + {place} * {name}_t{axis})" for axis, place in enumerate(places)])


def followed_steps(operand: Operand, variant: Variant) -> list[Field]:
    """Returns stride fields of a generator that varies along a part of the grid only; a stride of 0 is a constant dimension."""
    if operand.near is None:
        return []
    name = f"a_{operand.name}_s"
    return [Field(variant.index, f"{name}{axis}", "stride", operand.position, axis) for axis in range(len(operand.dims))]


def coordinates(operand: Operand, parts: list[str]) -> str:
    """Returns one coordinate per dimension, slowest first, as the scalar, vector or array `operand.want`."""
    want = operand.want
    if want.kind is Kind.ARRAY:
        return "{ " + ", ".join(convert(p, INT, want.element or want) for p in parts) + " }"
    return convert(parts[0], INT, want) if len(parts) == 1 else f"{want}({', '.join(reversed(parts))})"


class LinspaceAccess:
    """Access by ``start + index * step``; the last number is exactly ``stop``."""

    addressing = "computed"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        name, type = f"a_{operand.name}", _float(operand)
        made = [Field(type, f"{name}_{n}", n, operand.position, 0, attrgetter(n)) for n in ("start", "step", "stop")]
        return [*made, Field("int", f"{name}_last", "last", operand.position, 0, attrgetter("last"))]

    def load(self, operand: Operand, variant: Variant) -> str:
        name, type, d = f"{BLOCK}.a_{operand.name}", _float(operand), f"d{operand.dims[0]}"
        value = f"{d} == {name}_last ? {name}_stop : {name}_start + {type}({d}) * {name}_step"
        return f"{operand.want}({value})"


def _float(operand: Operand) -> str:
    """Returns the type of the computation: half is too imprecise."""
    return "double" if operand.have.name == "double" else "float"
