"""`Store`, which writes one result of a kernel, and `ToMemory`, the store of most results. `stores` has the others."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Protocol

from fusepy.backend.emit.operand import BLOCK, Field, is_split, parts, pointee, to_storage
from fusepy.backend.emit.variant import Variant
from fusepy.ir.ops.region import ResultSpec
from fusepy.ir.types import Type


@dataclass(frozen=True)
class StoredResult:
    """One result of a kernel.

    Attributes:
        along: the dimensions of the grid that the kernel computes it over.
    """

    j: int
    type: Type
    spec: ResultSpec
    along: tuple[int, ...]
    variant: Variant
    cuda: bool = False

    @property
    def repeated(self) -> list[str]:
        """Conditions that hold for the first of the elements that share this result."""
        return [f"d{d} == 0" for d in self.along if d not in self.spec.dims]


class Store(Protocol):
    """A way to write a result.

    Attributes:
        placed: it needs the coordinates of an element in a linear variant as well.
    """

    placed: bool

    def fields(self) -> list[Field]:
        """Returns the result's pointer in the parameter block, or its binding by name (`Field.is_bound`)."""
        ...

    def strides(self) -> list[Field]:
        """Returns the fields of its base offset and strides, if the variant uses them."""
        ...

    def write(self, name: str) -> str:
        """Returns the statement that stores the value `name` of an element."""
        ...


class ToMemory:
    """A store to an array. Along a dimension that the result does not vary over, only the first thread writes."""

    placed = False

    def __init__(self, output: StoredResult):
        self.output = output
        self.pointer = f"{BLOCK}.r_{output.j}"

    def fields(self) -> list[Field]:
        j, type = self.output.j, self.output.type
        return [Field(f"{pointee(type, self.output.cuda)}*", f"r_{j}", "out", j)]

    def strides(self) -> list[Field]:
        j, variant = self.output.j, self.output.variant
        if variant.linear or variant.dense:
            return []
        steps = (Field(variant.index, f"r_{j}_s{axis}", "out_stride", j, axis) for axis in range(len(self.output.spec.dims)))
        return [Field(variant.index, f"r_{j}_b", "out_base", j), *steps]

    def write(self, name: str) -> str:
        return guarded(self.conditions, self.assign(self.offset, name))

    @property
    def offset(self) -> str:
        """The place of an element in the array."""
        dims, variant = self.output.spec.dims, self.output.variant
        if variant.linear or variant.dense:
            return "i" if dims else "0"
        return variant.offset(self.pointer, dims)

    @property
    def conditions(self) -> list[str]:
        """Conditions that hold for the one thread that stores an element."""
        dims, variant = self.output.spec.dims, self.output.variant
        if variant.linear or variant.dense:
            return []
        far = [(axis, d) for axis, d in enumerate(dims) if d != variant.near]
        return [*self.output.repeated, *(f"(d{d} == 0 || {self.pointer}_s{axis} != 0)" for axis, d in far)]

    def assign(self, index: str, name: str) -> str:
        """Returns the statement that writes one element of the array."""
        return assigned(self.pointer, index, name, self.output.type, self.output.cuda)


def guarded(conditions: list[str], statement: str) -> str:
    """Returns a statement guarded by `conditions`, if any."""
    return f"if ({' && '.join(conditions)}) {statement}" if conditions else statement


def assigned(pointer: str, index: str, name: str, type: Type, cuda: bool) -> str:
    """Returns the statement that writes one element behind a pointer."""
    scalar = type.scalar
    if scalar is None or not is_split(type, cuda):
        return f"{pointer}[{index}] = {to_storage(name, type)};"
    places = itertools.product(*(range(n) for n in type.shape))
    values = ["".join(f"[{c}]" for c in place) for place in places]
    lines = (f"{p} = {to_storage(f'{name}{v}', scalar)};" for p, v in zip(parts(pointer, index, type), values))
    return f"{{ {' '.join(lines)} }}"
