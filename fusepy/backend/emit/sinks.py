"""Results that go into textures: what a region says about them, and how a kernel stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fusepy.backend.emit.operand import Field, result_resource
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.graph import Attr, Node
from fusepy.ir.resources import channels, same_class
from fusepy.ir.types import Type


@dataclass(frozen=True)
class Sink:
    """A texture that takes a result.

    Attributes:
        type: what it is bound as, e.g. ``RWTexture2D<float4>``.
        shared: names of the operands that are this texture, and so are read through the same binding.
    """

    type: Type
    shared: tuple[str, ...] = ()

    @property
    def element(self) -> Type:
        """What is stored: all channels of the format."""
        assert self.type.element is not None
        return self.type.element

    def field(self, j: int) -> Field:
        return Field(str(self.type), result_resource(j), "into", j)

    def store(self, j: int, dims: Sequence[int], name: str, type: Type) -> str:
        """The statement that stores result `j`, which runs along grid dimensions `dims`."""
        index = [f"uint(d{d})" for d in reversed(dims)]
        where = index[0] if len(index) == 1 else f"uint{len(index)}({', '.join(index)})"
        value = name if type is self.element else f"{self.element}({name})"
        if channels(type) < channels(self.element):  # a colour without alpha is opaque
            value = f"{self.element}({name}, 1)"
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


def with_sinks(region: Node, sinks: Mapping[int, Sink]) -> Node:
    """`region` with these of its results stored into textures."""
    attrs: dict[str, Attr] = {f"into_{j}": (sink.type.name, *sink.shared) for j, sink in sinks.items()}
    return Node(region.op, region.operands, region.maps, region.results, {**region.attrs, **attrs}, region.loc, region.bodies)


def without_sinks(region: Node) -> Node:
    """`region` with all its results in memory."""
    attrs = {key: value for key, value in region.attrs.items() if not key.startswith("into_")}
    return Node(region.op, region.operands, region.maps, region.results, attrs, region.loc, region.bodies)


def sinks_of(region: Node) -> dict[int, Sink]:
    """The results of a region that go into textures."""
    found: dict[int, Sink] = {}
    for j in range(len(region.results)):
        said = region.attrs.get(f"into_{j}")
        if isinstance(said, tuple):
            found[j] = Sink(Type.parse(said[0]), said[1:])
    return found
