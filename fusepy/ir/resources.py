"""What textures, buffers and tensors can be passed as where a Slang parameter is a resource.

A texture is two things to a trace: an array of texels, one of which each thread loads, or one object that a whole parameter
such as ``Texture2D<float4>`` takes. Its `Value` has the type of a texel and the texture's shape as container.
"""

from __future__ import annotations

import math

from fusepy.ir.types import BOOL, TEXTURE_RANKS, Kind, Type
from fusepy.ir.value import Value, is_stored

_PLAIN = ("Texture1D", "Texture2D", "Texture3D")
BYTES = Type.parse("ByteAddressBuffer")


def channels(type: Type) -> int:
    """How many channels a texel of this type has.

    Example:
        >>> channels(Type.parse("float3"))
        3
    """
    return math.prod(type.shape)


def casts_texel(have: Type, want: Type) -> bool:
    """Whether a texel of type `have` can be read as `want`: the leading channels, converted.

    Example:
        >>> casts_texel(Type.parse("float4"), Type.parse("half3")), casts_texel(Type.parse("float"), Type.parse("float2"))
        (True, False)
    """
    return want.kind in (Kind.SCALAR, Kind.VECTOR) and channels(want) <= channels(have)


def same_class(a: Type, b: Type) -> bool:
    """Whether texels of both types hold the same kind of number: floats, or integers of one signedness."""
    return a.dtype is not None and b.dtype is not None and a.dtype.kind == b.dtype.kind


def takes(value: Value, type: Type) -> bool:
    """Whether a parameter of the resource type `type` takes `value` as a whole."""
    held = type.element
    if is_stored(value):
        return held is not None and texture_of(value, type) is not None
    if value.arrival.handle:
        return type.head == "DescriptorHandle" and held is not None and _refers(value.type.name.removesuffix("Handle"), held)
    if value.arrival.texels:
        if held is None or type.head.removeprefix("RW") != value.arrival.name or not same_class(held, value.type):
            return False
        # reads fill missing channels with 0 and 1; a write must give all that the format has, or the rest is undefined
        return not type.writes or channels(held) >= channels(value.type)
    if type.head.removeprefix("RW") not in ("StructuredBuffer", "ByteAddressBuffer"):
        return False
    if value.arrival.raw:
        return True
    if held is None or not value.arrival.memory:
        return value.arrival.memory
    scalar = held.scalar
    # numbers in a list become those of the buffer, where that loses nothing
    converts = (
        value.weak and scalar is not None and value.type.kind is Kind.SCALAR and (scalar.is_float or not value.type.is_float)
    )
    return sees(scalar if converts and scalar is not None else value.type, held)


def texture_of(value: Value, type: Type) -> Type | None:
    """The texture that a computed value is stored into to be passed as `type`, which reads it; ``None`` if it cannot be.

    Three components take four channels, the last of which reads 1.
    """
    held, scalar = type.element, value.type.scalar
    plain = TEXTURE_RANKS.get(type.head.removeprefix("Texture")) == value.rank and type.head in _PLAIN
    if held is None or scalar is None or scalar.dtype is None or not plain or len(value.type.shape) > 1:
        return None
    count = channels(value.type)
    count = 4 if count == 3 else count
    if scalar is BOOL or scalar.dtype.itemsize > 4 or not same_class(held, value.type) or channels(held) > count:
        return None
    return Type.resource(f"RW{type.head}", Type.vector(scalar, count))


def _refers(kind: str, resource: Type) -> bool:
    """Whether a bindless handle to a ``Texture``, ``RWBuffer``, ``Sampler``, … can be one to `resource`."""
    if kind.endswith("Buffer"):
        return resource.head in (kind.replace("Buffer", "StructuredBuffer"), kind.replace("Buffer", "ByteAddressBuffer"))
    return resource.head.startswith(kind)


def sees(stored: Type, held: Type) -> bool:
    """Whether memory of `stored` elements can be seen as `held` ones: the same, or vectors over scalars."""
    return held is stored or (stored.kind is Kind.SCALAR and held.is_numeric and held.scalar is stored)


def natural(value: Value) -> Type | None:
    """The resource type that a generic parameter gets."""
    return Type.resource(value.arrival.name, value.type) if value.arrival.texels else None
