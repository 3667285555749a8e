"""Textures of slangpy: arrays of texels, with extents in NumPy's order."""

from __future__ import annotations

import functools
from typing import Any, TypeAlias, TypeGuard, cast

import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.types import FLOAT, INT, TEXTURE_RANKS, UINT, Type

AnyTexture: TypeAlias = "spy.Texture | spy.TextureView"
TEXTURE_CLASSES: tuple[Any, ...] = (spy.Texture, spy.TextureView)

_T, _F = spy.TextureType, spy.FormatType
_SHAPES = {
    _T.texture_1d: "1D", _T.texture_2d: "2D", _T.texture_3d: "3D", _T.texture_cube: "Cube", _T.texture_1d_array: "1DArray",
    _T.texture_2d_array: "2DArray", _T.texture_cube_array: "CubeArray",
}  # fmt: skip
ALL = 0xFFFFFFFF  # "up to the last one" in a range of layers or mips


class TextureKind:
    """The type and format of a texture: its part of a cache key.

    Attributes:
        container: ``"Texture2D"`` and the like.
        texel: the type of one texel in Slang: ``float4`` for ``rgba8_unorm`` and ``rgba16_float``, ``uint2`` for ``rg8_uint``.
    """

    __slots__ = ("container", "format", "rank", "texel", "type")

    def __init__(self, type: spy.TextureType, format: spy.Format):
        if type not in _SHAPES:
            raise UnsupportedArgumentError(
                "a multisampled texture has no single texels", saw=type.name, hint="resolve it into a texture_2d first"
            )
        self.type = type
        self.format = format
        self.container = f"Texture{_SHAPES[type]}"
        self.rank = TEXTURE_RANKS[_SHAPES[type]]
        self.texel = texel_type(format)

    def shape(self, value: AnyTexture) -> tuple[int, ...]:
        """Returns the extents in NumPy's order: layers (six for each cube), depth, height, width."""
        if isinstance(value, spy.Texture):
            texture, mip, layers = value, 0, value.layer_count
        else:
            texture, taken = value.texture, value.subresource_range
            mip = taken.mip
            layers = texture.layer_count - taken.layer if taken.layer_count == ALL else taken.layer_count
        width, height = texture.get_mip_width(mip), texture.get_mip_height(mip)
        if self.container == "Texture2D":
            return (height, width)
        if self.container in ("Texture1D", "Texture1DArray"):
            return (width,) if self.rank == 1 else (layers, width)
        if self.container == "Texture3D":
            return (texture.get_mip_depth(mip), height, width)
        if self.container == "TextureCubeArray":
            return (layers // 6, 6, height, width)
        return (layers, height, width)

    def __repr__(self) -> str:
        return f"{self.container} of {self.format.name}"


def is_texture(value: Any) -> TypeGuard[AnyTexture]:
    """True if `value` is one of slangpy's textures, or a view of one."""
    return isinstance(value, TEXTURE_CLASSES)


def kind_of(value: AnyTexture) -> TextureKind:
    """Returns the kind of a texture or view. There is one object per kind, so it serves as a key.

    Raises:
        UnsupportedArgumentError: for multisampled textures.
    """
    if isinstance(value, spy.Texture):
        type, format = value.type, value.format
    else:
        type, format = value.texture.type, value.format
        if format is spy.Format.undefined:
            format = value.texture.format
    return kind_for(type, format)


def image_key(value: object) -> tuple[TextureKind, tuple[int, ...]] | None:
    """Returns the kind and the extents of a texture of one image; None for views, other textures, and other values."""
    if value.__class__ is not spy.Texture:
        return None
    texture = cast("spy.Texture", value)
    if texture.type is not spy.TextureType.texture_2d:
        return None
    kind = kind_for(texture.type, texture.format)
    return kind, kind.shape(texture)


def kind_for(type: spy.TextureType, format: spy.Format) -> TextureKind:
    """Returns the one object for textures of this type and format."""
    key = (id(type), id(format))  # members of an enum live for ever, and their own hash is slow
    found = _kinds.get(key)
    if found is None:
        found = _kinds.setdefault(key, TextureKind(type, format))
    return found


_kinds: dict[tuple[int, int], TextureKind] = {}


@functools.cache
def texel_type(format: spy.Format) -> Type:
    """Returns the Slang type of a texel; float, normalised and depth formats read as ``float``.

    Example:
        >>> texel_type(spy.Format.rgba8_unorm), texel_type(spy.Format.r16_sint)
        (float4, int)
    """
    info = spy.get_format_info(format)
    scalar = {_F.uint: UINT, _F.sint: INT}.get(info.type, FLOAT)
    if info.get_channel_bits(spy.FormatChannels.r) == 64 and not info.is_compressed:
        scalar = Type.parse("uint64_t" if scalar is UINT else "int64_t")
    return Type.vector(scalar, 1 if info.is_depth else info.channel_count)


def texture_of(value: AnyTexture) -> spy.Texture:
    """Returns the texture, or the texture behind a view."""
    return value if isinstance(value, spy.Texture) else value.texture


def overlap(a: AnyTexture, b: AnyTexture) -> bool:
    """True if two textures or views share a texel."""
    if texture_of(a) is not texture_of(b):
        return False
    if isinstance(a, spy.Texture) or isinstance(b, spy.Texture):
        return True
    x, y = a.subresource_range, b.subresource_range
    return _meet(x.mip, x.mip_count, y.mip, y.mip_count) and _meet(x.layer, x.layer_count, y.layer, y.layer_count)


def _meet(a: int, count_a: int, b: int, count_b: int) -> bool:
    return a < b + count_b and b < a + count_a


FORMATS: dict[tuple[str, int], str] = {
    (scalar, count): f"{'rgba'[:count]}{bits}_{kind}"
    for scalar, bits, kind in (
        *(("float", 32, "float"), ("half", 16, "float"), ("int", 32, "sint"), ("uint", 32, "uint")),
        *(("int16_t", 16, "sint"), ("uint16_t", 16, "uint"), ("int8_t", 8, "sint"), ("uint8_t", 8, "uint")),
    )
    for count in (1, 2, 4)
}


def format_for(type: Type, normalised: bool = False) -> spy.Format | None:
    """Returns the format that holds values of `type`, or None. Three components take four channels.

    Args:
        normalised: for integers of 8 and 16 bits the format whose texels are read as -1 to 1.
    """
    count = type.shape[0] if type.shape else 1
    name = FORMATS.get((str(type.scalar), 4 if count == 3 else count)) if len(type.shape) < 2 else None
    if name is not None and normalised and "32" not in name:
        name = name.replace("_uint", "_unorm").replace("_sint", "_snorm")
    return None if name is None else spy.Format[name]


def create(device: spy.Device, type: spy.TextureType, format: spy.Format, shape: tuple[int, ...]) -> spy.Texture:
    """Creates a texture with these extents that kernels can read and write."""
    sizes: dict[str, Any] = {"width": shape[-1]}
    if type in (_T.texture_1d_array, _T.texture_2d_array):
        sizes["array_length"] = shape[0]
    if type in (_T.texture_2d, _T.texture_2d_array, _T.texture_3d):
        sizes["height"] = shape[-2]
    if type == _T.texture_3d:
        sizes["depth"] = shape[0]
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    return device.create_texture(type=type, format=format, usage=usage, **sizes)


def check_device(value: Any, what: str, device: Device) -> None:
    """Raises `ShapeError` if a slangpy object is on another device."""
    if value.device is not device.raw:
        raise ShapeError(
            f"a {what} lies on another device",
            saw=f"{value.device.info.adapter_name}, opened as {id(value.device):#x}",
            expected=f"{device.name}, opened as {id(device.raw):#x}",
            hint=f"make it with device.sgl.create_{what.replace(' ', '_')}(…) of the device that the module is on",
        )
