"""Resources: the Slang parameter types that textures, buffers and tensors can be passed to.

A trace can use a texture in two ways: as an array of texels, one of which each thread loads, or as one object for a parameter
such as ``Texture2D<float4>``. Its `Value` has the type of a texel, and an arrival such as ``Texture2D``.
"""

from __future__ import annotations

import math

from fusepy.ir.types import BOOL, DOUBLE, TEXTURE_RANKS, Kind, Type
from fusepy.ir.value import Value, is_stored

_PLAIN = ("Texture1D", "Texture2D", "Texture3D")
BYTES = Type.parse("ByteAddressBuffer")

# In kernels of gradients, structs of this Slang module stand for textures, samplers, buffers and pointers, since Slang's own
# reads of them have no derivative; see decision 026.
GRADED = "fusepy_gathers"
_HEADS = {"Texture1D": 1, "Texture2D": 1, "Texture3D": 1, "StructuredBuffer": 0, "Ptr": 0}  # 1 for those that are sampled
SAMPLER = Type.parse("SamplerState")


def channels(type: Type) -> int:
    """Returns the number of channels of a texel of this type.

    Example:
        >>> channels(Type.parse("float3"))
        3
    """
    return math.prod(type.shape)


def casts_texel(have: Type, want: Type) -> bool:
    """True if a texel of type `have` can be read as `want`: the leading channels, converted.

    Example:
        >>> casts_texel(Type.parse("float4"), Type.parse("half3")), casts_texel(Type.parse("float"), Type.parse("float2"))
        (True, False)
    """
    return want.kind in (Kind.SCALAR, Kind.VECTOR) and channels(want) <= channels(have)


def same_class(a: Type, b: Type) -> bool:
    """True if texels of both types hold the same kind of number: floats, or integers of one signedness."""
    return a.dtype is not None and b.dtype is not None and a.dtype.kind == b.dtype.kind


def takes(value: Value, type: Type) -> bool:
    """True if a parameter of the resource type `type` takes `value` as a whole."""
    held = type.element
    if is_stored(value):
        return held is not None and texture_of(value, type) is not None
    if value.arrival.handle:
        return type.head == "DescriptorHandle" and held is not None and _refers(value.type.name.removesuffix("Handle"), held)
    if value.arrival.texels:
        if held is None or type.head.removeprefix("RW") != value.arrival.name or not same_class(held, value.type):
            return False
        # reads fill missing channels with 0 and 1; a write must give all channels of the format, or the rest is undefined
        return not type.writes or channels(held) >= channels(value.type)
    if type.head.removeprefix("RW") not in ("StructuredBuffer", "ByteAddressBuffer"):
        return False
    if value.arrival.raw:
        return True
    if held is None or not value.arrival.memory:
        return value.arrival.memory
    scalar = held.scalar
    # numbers in a list are converted to the buffer's type, unless that loses digits
    converts = (
        value.weak and scalar is not None and value.type.kind is Kind.SCALAR and (scalar.is_float or not value.type.is_float)
    )
    return sees(scalar if converts and scalar is not None else value.type, held)


def texture_of(value: Value, type: Type) -> Type | None:
    """Returns the texture type in which a computed value is stored for a parameter of `type`, which reads it; else ``None``.

    Three components use four channels; the last one reads 1.
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
    """True if a bindless handle to a ``Texture``, ``RWBuffer``, ``Sampler``, … can refer to `resource`."""
    if kind.endswith("Buffer"):
        return resource.head in (kind.replace("Buffer", "StructuredBuffer"), kind.replace("Buffer", "ByteAddressBuffer"))
    return resource.head.startswith(kind)


def sees(stored: Type, held: Type) -> bool:
    """True if memory of `stored` elements can be read as `held` ones: the same, or vectors over scalars."""
    return held is stored or (stored.kind is Kind.SCALAR and held.is_numeric and held.scalar is stored)


def natural(value: Value) -> Type | None:
    """Returns the resource type that a generic parameter gets."""
    return Type.resource(value.arrival.name, value.type) if value.arrival.texels else None


def reads_graded(type: Type) -> bool:
    """True for a texture, buffer or pointer of floats or halfs, whose reads have gradients that threads can add.

    Example:
        >>> reads_graded(Type.parse("Texture2D<float4>")), reads_graded(Type.parse("StructuredBuffer<int>"))
        (True, False)
    """
    element = type.element
    if type.kind not in (Kind.RESOURCE, Kind.POINTER) or type.head not in _HEADS or element is None:
        return False
    return element.is_float and element.scalar is not DOUBLE and element.kind in (Kind.SCALAR, Kind.VECTOR)


def is_sampled(type: Type) -> bool:
    """True for a texture whose reads have gradients."""
    return reads_graded(type) and bool(_HEADS[type.head])


def graded(type: Type) -> str | None:
    """Returns the struct that stands for a value of this type; ``None`` for a type that stays as it is.

    Example:
        >>> graded(Type.parse("Ptr<float>")), graded(Type.parse("SamplerState")), graded(Type.parse("float"))
        ('_GradPointer<float>', '_GradSampler', None)
    """
    if type is SAMPLER:
        return "_GradSampler"
    if not reads_graded(type):
        return None
    return f"_Grad{type.head.replace('StructuredBuffer', 'Buffer').replace('Ptr', 'Pointer')}<{type.element}>"
