"""Stores, which write one result of a kernel. `STORES` has those that do not write plain memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fusepy.backend.emit.operand import BLOCK, Field, Variant, is_split, parts, pointee, result_resource, to_storage
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.ops.region import ResultSpec, StoredInto
from fusepy.ir.resources import channels, same_class
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
        if variant.linear:
            return []
        steps = (Field(variant.index, f"r_{j}_s{axis}", "out_stride", j, axis) for axis in range(len(self.output.spec.dims)))
        return [Field(variant.index, f"r_{j}_b", "out_base", j), *steps]

    def write(self, name: str) -> str:
        dims, pointer = self.output.spec.dims, self.pointer
        if self.output.variant.linear:
            return self.assign("i" if dims else "0", name)
        offset = " + ".join([f"{pointer}_b", *(f"d{d} * {pointer}_s{axis}" for axis, d in enumerate(dims))])
        first = [*self.output.repeated, *(f"(d{d} == 0 || {pointer}_s{axis} != 0)" for axis, d in enumerate(dims))]
        return guarded(first, self.assign(offset, name))

    def assign(self, index: str, name: str) -> str:
        """Returns the statement that writes one element of the array."""
        return assigned(self.pointer, index, name, self.output.type, self.output.cuda)


class ToTexture:
    """A store to texels."""

    placed = True

    def __init__(self, output: StoredResult):
        assert output.spec.into is not None
        self.output = output
        self.into = output.spec.into

    def fields(self) -> list[Field]:
        return [Field(str(self.into.type), result_resource(self.output.j), "texels", self.output.j)]

    def strides(self) -> list[Field]:
        return []

    def write(self, name: str) -> str:
        output, texel = self.output, texel_of(self.into)
        index = [f"uint(d{d})" for d in reversed(output.spec.dims)]
        where = index[0] if len(index) == 1 else f"uint{len(index)}({', '.join(index)})"
        value = name if output.type is texel else f"{texel}({name})"
        if channels(output.type) < channels(texel):  # a colour without alpha is opaque
            value = f"{texel}({name}, 1)"
        return guarded(output.repeated, f"{result_resource(output.j)}[{where}] = {value};")


STORES: dict[str, Callable[[StoredResult], Store]] = {  # by the prefix of the container's type name
    "RWTexture": ToTexture,
}


def store_of(output: StoredResult) -> Store:
    """Returns the store of a result."""
    into = output.spec.into
    if into is None:
        return ToMemory(output)
    return next(make for head, make in STORES.items() if into.type.head.startswith(head))(output)


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


def texel_of(into: StoredInto) -> Type:
    """Returns the type that a texture stores: all channels of its format."""
    assert into.type.element is not None
    return into.type.element


def texture_type(container: str, texel: Type, result: Type, what: str) -> Type:
    """Returns the type of the texture parameter that stores values of type `result` as texels of a format that holds `texel`.

    Raises:
        UnsupportedArgumentError: if the channels or the kind of number do not fit.
    """
    fits = len(result.shape) < 2 and result.is_numeric and same_class(result, texel)
    if fits and channels(result) == channels(texel):
        # channels may share a word, and are stored together
        return Type.resource(f"RW{container}", Type.vector(texel.scalar or texel, 4 if channels(texel) == 3 else channels(texel)))
    if fits and channels(result) == 3 and channels(texel) == 4:
        return Type.resource(f"RW{container}", texel)
    raise UnsupportedArgumentError(
        f"{what} is a texture whose format cannot hold a {result}",
        saw=f"a format that holds {texel}",
        expected=f"one that holds {result}",
        hint="use a format with as many channels and the same kind of numbers, or convert the result in Slang",
    )


def declare_resource(field: Field, cuda: bool = False) -> str:
    """Returns the declaration of a binding. Writable textures accept any format; on CUDA only those of results do."""
    converted = field.type.startswith("RWTexture") and not (cuda and (field.role != "texels" or "Array" in field.type))
    format = '[format("unknown")] ' if converted else ""
    return f"{format}{field.type} {field.name}"
