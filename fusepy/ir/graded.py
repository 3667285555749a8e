"""Textures, samplers, buffers and pointers in kernels of gradients: a struct of Slang's module `fusepy_gathers` stands for each.

Slang's own reads of them have no derivative. See decision 026.
"""

from __future__ import annotations

from fusepy.ir.types import DOUBLE, Kind, Type

MODULE = "fusepy_gathers"
_HEADS = {"Texture1D": 1, "Texture2D": 1, "Texture3D": 1, "StructuredBuffer": 0, "Ptr": 0}  # 1 for those that are sampled
SAMPLER = Type.parse("SamplerState")


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
