"""Results that go into textures: how a kernel declares and stores them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fusepy.backend.emit.operand import Field, result_resource
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.ops.region import IntoTexture
from fusepy.ir.resources import channels, same_class
from fusepy.ir.types import Type


def texel_of(into: IntoTexture) -> Type:
    """The type that is stored: all channels of the format."""
    assert into.type.element is not None
    return into.type.element


@dataclass(frozen=True)
class Sink:
    """A texture that takes a result."""

    into: IntoTexture

    def field(self, j: int) -> Field:
        return Field(str(self.into.type), result_resource(j), "into", j)

    def store(self, j: int, dims: Sequence[int], name: str, type: Type) -> str:
        """The statement that stores result `j`, which runs along grid dimensions `dims`."""
        index = [f"uint(d{d})" for d in reversed(dims)]
        where = index[0] if len(index) == 1 else f"uint{len(index)}({', '.join(index)})"
        texel = texel_of(self.into)
        value = name if type is texel else f"{texel}({name})"
        if channels(type) < channels(texel):  # a colour without alpha is opaque
            value = f"{texel}({name}, 1)"
        return f"{result_resource(j)}[{where}] = {value};"


def sink_type(container: str, texel: Type, result: Type, what: str) -> Type:
    """The type of the texture parameter that stores values of type `result` as texels of a format that holds `texel`.

    Raises:
        UnsupportedArgumentError: if the channels or the kind of number do not fit.
    """
    fits = len(result.shape) < 2 and result.is_numeric and same_class(result, texel)
    if fits and channels(result) == channels(texel):
        # some channels may share a word, and are stored together
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
    """The declaration of what is bound by name. Textures are written in whatever format they have, on CUDA only by results."""
    converted = field.type.startswith("RWTexture") and not (cuda and (field.role != "into" or "Array" in field.type))
    format = '[format("unknown")] ' if converted else ""
    return f"{format}{field.type} {field.name}"
