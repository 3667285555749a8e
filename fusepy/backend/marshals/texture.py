"""Textures: texels by the coordinates of the thread, or the whole texture as one parameter."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from operator import attrgetter
from typing import Any

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.device.open import owner_of
from fusepy.backend.emit.operand import BLOCK, Field, Operand, convert
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.base import Description
from fusepy.backend.marshals.generators import Shape
from fusepy.backend.marshals.texture_cuda import POINT, check_taken, check_texture
from fusepy.backend.memory.texture import TEXTURE_CLASSES, AnyTexture, TextureKind, check_device, kind_of
from fusepy.ir.resources import channels
from fusepy.ir.types import UINT, Kind, Type

_value, _point_sampler = attrgetter("value"), attrgetter("sampler")


class TextureMarshal:
    """slangpy's ``Texture`` and ``TextureView``: bound without a copy."""

    returns = "tensor"

    def key(self, value: AnyTexture) -> Hashable:
        return kind_of(value), id(value.device)

    def describe(self, value: AnyTexture) -> Description:
        kind = kind_of(value)
        return Description(kind.texel, (None,) * kind.rank, kind.container)

    def extents(self, value: AnyTexture) -> tuple[int, ...]:
        return kind_of(value).shape(value)

    def texture(self, value: AnyTexture) -> TextureKind:
        return kind_of(value)

    def device(self, value: AnyTexture) -> Device | None:
        return owner_of(value.device)

    def place(self, value: AnyTexture, type: Type, device: Device) -> Bound:
        check_device(value, "texture", device)
        kind = kind_of(value)
        check_texture(value, device)
        return Bound(value, kind.shape(value), device.point_sampler if "Cube" in kind.container else None)


@cache  # one object, so that a program reads a number once for all its kernels
def _step(axis: int) -> Callable[[Any], int]:
    return lambda bound: 0 if bound.shape[axis] == 1 else 1


class TextureAccess:
    """Access to the texel at the thread's coordinates; along a broadcast axis always the first."""

    addressing = "computed"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        if operand.want.kind is Kind.RESOURCE:
            if operand.cuda:
                check_taken(operand.want, f"{operand.function}: argument {operand.label!r}")
            return [Field(str(operand.want), operand.resource, "resource", operand.position, read=_value)]
        steps = [
            Field("int", f"a_{operand.name}_t{axis}", "step", operand.position, axis, _step(axis)) for axis in range(operand.rank)
        ]
        if operand.reads_result:
            return steps
        type = f"{operand.arrival.name}<{_read_as(operand)}>"
        return [*steps, Field(type, operand.resource, "resource", operand.position, read=_value)]

    def load(self, operand: Operand, variant: Variant) -> str:
        count = channels(operand.want)
        # a texture that is also written is read through the same binding, which has all channels
        given = channels(_read_as(operand)) if not operand.reads_result else operand.shared_channels
        type = Type.vector(_scalar(operand), count)
        texel = self.texel(operand) + (f".{'xyzw'[:count]}" if count < given else "")
        return convert(_by_components(texel, type) if count == 4 and not operand.cuda else texel, type, operand.want)

    def texel(self, operand: Operand) -> str:
        return f"{operand.resource}[{coordinates(operand)}]"


class CubeAccess(TextureAccess):
    """Access to cubes. Slang has no loads from them, so that a point sampler reads the centre of a texel."""

    prelude = """float3 fzr_face(uint face, float2 s)
{
    switch (face)
    {
    case 0: return float3(1, -s.y, -s.x);
    case 1: return float3(-1, -s.y, s.x);
    case 2: return float3(s.x, 1, s.y);
    case 3: return float3(s.x, -1, -s.y);
    case 4: return float3(s.x, -s.y, 1);
    default: return float3(-s.x, -s.y, -1);
    }
}"""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        fields = super().fields(operand, variant)
        if operand.want.kind is not Kind.RESOURCE:
            fields.append(Field("float", f"a_{operand.name}_n", "size", operand.position, read=_width))
            fields.append(Field("SamplerState", f"{operand.resource}{POINT}", "resource", operand.position, read=_point_sampler))
        return fields

    def texel(self, operand: Operand) -> str:
        name = f"{BLOCK}.a_{operand.name}"
        *cube, face, y, x = _indices(operand)
        centre = f"(float2({x}, {y}) * 2 + 1) / {name}_n - 1"
        direction = f"fzr_face(uint({face}), {centre})"
        if cube:
            direction = f"float4({direction}, {cube[0]})"
        return f"{operand.resource}.SampleLevel({operand.resource}{POINT}, {direction}, 0)"


def _by_components(texel: str, type: Type) -> str:
    """Returns a texel of four as a vector that was made of its components.

    NVIDIA's Vulkan driver (580) gives wrong numbers where it converts a loaded texel of four to 64 bits in one instruction,
    also in the user's functions. Slang writes these two casts component by component; a cast of the vector does not help.
    """
    other = "int" if type.scalar is UINT else "uint"
    return f"reinterpret<{type}>(reinterpret<{other}4>({texel}))"


def _width(bound: Bound) -> float:
    return float(bound.shape[-1])


def _scalar(operand: Operand) -> Type:
    """Returns the scalar type that the format loads."""
    return operand.have.scalar or operand.have


def _read_as(operand: Operand) -> Type:
    """Returns the type of a load, with the channels of `operand.want`; CUDA has no fetch of three."""
    count = channels(operand.want)
    return Type.vector(_scalar(operand), 4 if operand.cuda and count == 3 else count)


def _indices(operand: Operand) -> list[str]:
    return [f"d{d} * {BLOCK}.a_{operand.name}_t{axis}" for axis, d in enumerate(operand.dims)]


def coordinates(operand: Operand) -> str:
    """Returns texel coordinates, fastest axis first."""
    return texel_index(_indices(operand))


def texel_index(indices: list[str]) -> str:
    """Returns indices in NumPy's order as one unsigned coordinate."""
    return f"uint({indices[0]})" if len(indices) == 1 else f"uint{len(indices)}({', '.join(reversed(indices))})"


# slangpy's textures have width, height, depth and layers; `shape` is that of arrays, slowest dimension first
for _class in TEXTURE_CLASSES:
    if not hasattr(_class, "shape"):
        _class.shape = property(Shape)  # type: ignore[attr-defined]
