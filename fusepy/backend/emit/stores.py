"""The table of stores, and the store to textures. A result that is stored into nothing else goes to memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fusepy.backend.emit.operand import Field, result_resource
from fusepy.backend.emit.store import Store, StoredResult, ToMemory, guarded
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.ops.region import StoredInto
from fusepy.ir.resources import channels, same_class
from fusepy.ir.types import Type


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
        largest = _largest(output.type, texel)
        if channels(output.type) < channels(texel):  # a colour without alpha is opaque
            value = f"{texel}(float3({name}) / {largest}, 1)" if largest else f"{texel}({name}, 1)"
        elif largest:
            value += f" / {largest}"
        return guarded(output.repeated, f"{result_resource(output.j)}[{where}] = {value};")


STORES: dict[str, Callable[[StoredResult], Store]] = {  # by the prefix of the type's name
    "RWTexture": ToTexture
}


def store_of(output: StoredResult) -> Store:
    """Returns the store of a result."""
    into = output.spec.into
    if into is None:
        return ToMemory(output)
    make = next((store for head, store in STORES.items() if into.type.head.startswith(head)), None)
    assert make is not None, f"no row of STORES is for a result that is stored into {into.type}"
    return make(output)


def texel_of(into: StoredInto) -> Type:
    """Returns the type that a texture stores: all channels of its format."""
    assert into.type.element is not None
    return into.type.element


def _largest(type: Type, texel: Type) -> str:
    """Returns the integer that a normalised texel stores as 1; empty for other texels."""
    dtype, held = type.dtype, texel.dtype
    return (
        f"{np.iinfo(dtype).max}.0" if dtype is not None and dtype.kind in "iu" and held is not None and held.kind == "f" else ""
    )


def texture_type(container: str, texel: Type, result: Type, what: str, normalised: bool) -> Type:
    """Returns the type of the texture parameter that stores values of type `result` as texels of a format that holds `texel`.

    Args:
        normalised: the format is the normalised one of integers like the result.

    Raises:
        UnsupportedArgumentError: if the channels or the kind of number do not fit.
    """
    fits = len(result.shape) < 2 and result.is_numeric and (normalised or same_class(result, texel))
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
