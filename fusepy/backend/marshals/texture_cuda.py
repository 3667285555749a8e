"""Textures on CUDA, with the limits of slang-rhi and Slang (slangpy 0.43, tested on an H100).

Unsupported uses read or write wrong values without an error. The checks here reject them before a launch. Three things differ:

- A texture carries its sampler, and sampler parameters of a kernel are ignored. A texture is therefore bound as a view with the
  kernel's sampler, and a kernel can have only one.
- User code writes to a texture in the format of the parameter, so the texture must have that format. fusepy's own stores convert.
- A texel that its own thread overwrites is read through a second binding, not through the one that writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import Field
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.types import Type

POINT = "_point"  # suffix to the name of a texture, for the sampler with which fusepy reads its texels
_HINT = "use the Vulkan device of this machine, or a Tensor"
_ALL = 0xFFFFFFFF
_F = spy.FormatType
_SAME = {"float": _F.float, "half": _F.float, "int": _F.sint, "uint": _F.uint, "int16_t": _F.sint, "uint16_t": _F.uint}


def is_cuda(device: Device) -> bool:
    return device.target.kind == "cuda"


def check_texture(value: spy.Texture | spy.TextureView, device: Device) -> None:
    """Rejects textures that neither user code nor fusepy can read or write.

    Raises:
        UnsupportedArgumentError: naming the missing feature of CUDA.
    """
    if not is_cuda(device):
        return
    texture = value.texture if isinstance(value, spy.TextureView) else value
    if texture.type in (spy.TextureType.texture_1d, spy.TextureType.texture_1d_array):
        raise _lacking("textures of one dimension", value)
    if spy.get_format_info(texture.format).is_depth:
        raise _lacking("depth formats", value)
    if texture.mip_count > 1 or not _complete(value):
        raise _lacking("mip levels and views of a part", value)


def check_stored(format: spy.Format, type: str, device: Device, what: str) -> None:
    """Rejects a texture that cannot receive results: Slang cannot convert values that it writes into layers.

    Args:
        type: type of the parameter that writes the results.

    Raises:
        UnsupportedArgumentError: naming both.
    """
    if is_cuda(device) and "Array" in type and not _native(format, type):
        raise UnsupportedArgumentError(
            f"{what}: textures on CUDA lack conversions of what goes into layers",
            saw=f"{type} into {format.name}",
            hint="use a format of 32-bit channels, or the Vulkan device of this machine",
        )


def check_taken(type: Type, what: str) -> None:
    """Rejects a parameter type that Slang does not support on CUDA.

    Raises:
        UnsupportedArgumentError: naming the type.
    """
    if type.element is not None and type.element.shape == (3,) and "Texture" in type.name:
        raise UnsupportedArgumentError(
            f"{what}: CUDA has no textures of three components", saw=type.name, hint="declare the parameter with four components"
        )


def check_written(format: spy.Format, type: str, device: Device, what: str) -> None:
    """Rejects a writable texture whose format differs from the parameter `type`: user code would write in that format.

    Raises:
        UnsupportedArgumentError: naming both.
    """
    if is_cuda(device) and type.startswith("RW") and not _native(format, type):
        raise UnsupportedArgumentError(
            f"{what}: on CUDA, Slang code writes to a texture only in the format of the parameter",
            saw=f"{type} for a texture of {format.name}",
            hint="return the value with _result=texture, which converts it; or use a texture of that format, or Vulkan",
        )


def _native(format: spy.Format, type: str) -> bool:
    """True if texels of this format are stored like the elements of a texture parameter."""
    texel = Type.parse(type).element
    if texel is None:
        return False
    scalar = texel.scalar or texel
    info = spy.get_format_info(format)
    bits = 8 * scalar.dtype.itemsize if scalar.dtype is not None else 0
    stored = (_SAME.get(scalar.name), texel.shape[0] if texel.shape else 1, bits)
    return (info.type, info.channel_count, info.get_channel_bits(spy.FormatChannels.r)) == stored


def check_global(value: Any, device: Device, what: str) -> None:
    """Rejects a sampler that is set as a global, unless it equals the default sampler of textures.

    Raises:
        UnsupportedArgumentError: for any other.
    """
    if not is_cuda(device) or _settings(value, what) == _settings(device.raw.create_sampler(), what):
        return
    raise UnsupportedArgumentError(
        f"{what}: a texture on CUDA carries its sampler, and a sampler that is set as a global is ignored",
        saw=repr(value.desc)[:60],
        hint="pass the sampler as an argument of the function, or use the Vulkan device",
    )


def bound(device: Device, fields: Sequence[Field], values: Sequence[Any], kernel: str, labels: Sequence[str]) -> Sequence[Any]:
    """Returns the objects to bind for `values`: a texture becomes a view with the kernel's sampler.

    Args:
        labels: the user's names of the operands, for messages.

    Raises:
        UnsupportedArgumentError: for samplers that CUDA does not support, and for several samplers.
    """
    if not is_cuda(device) or not any(isinstance(v, spy.Sampler) for v in values):
        return values
    own = {f.name.removesuffix(POINT): v for f, v in zip(fields, values) if isinstance(v, spy.Sampler) and f.name.endswith(POINT)}
    samplers = [(f, v) for f, v in zip(fields, values) if isinstance(v, spy.Sampler) and not f.name.endswith(POINT)]
    settings = {_settings(v, f"{kernel}: argument {labels[f.source]!r}") for f, v in samplers}
    if len(settings) > 1:
        raise UnsupportedArgumentError(
            f"{kernel}: a texture on CUDA carries its sampler, and here are several",
            saw=", ".join(labels[f.source] for f, _ in samplers),
            expected="one sampler, or several with the same settings",
            hint="make it two calls, or use the Vulkan device of this machine",
        )
    objects: list[Any] = []
    for field, value in zip(fields, values):
        sampler = own.get(field.name) or (samplers[0][1] if samplers else None)
        if sampler is not None and field.type.startswith("Texture"):
            texture = value.texture if isinstance(value, spy.TextureView) else value
            value = texture.create_view(sampler=sampler)
        objects.append(value)
    return objects


def _complete(value: spy.Texture | spy.TextureView) -> bool:
    """True if this is a whole texture, not a view of a part."""
    if isinstance(value, spy.Texture):
        return True
    part = value.subresource_range
    whole = part.layer == 0 and part.layer_count in (_ALL, value.texture.layer_count)
    return whole and value.format in (spy.Format.undefined, value.texture.format)


def _settings(sampler: spy.Sampler, what: str) -> tuple[Any, ...]:
    """Returns the settings of a sampler; samplers with equal settings are the same on CUDA.

    Raises:
        UnsupportedArgumentError: if CUDA would sample differently.
    """
    desc = sampler.desc
    modes = (desc.address_u, desc.address_v, desc.address_w)
    lacks = None
    if desc.reduction_op != spy.TextureReductionOp.average:
        lacks = f"samplers with the reduction {desc.reduction_op.name}"
    elif desc.min_filter != desc.mag_filter:
        lacks = "samplers that magnify and minify in different ways"
    elif spy.TextureAddressingMode.mirror_once in modes:
        lacks = "the addressing mode mirror_once"
    if lacks is not None:
        raise UnsupportedArgumentError(f"{what}: textures on CUDA lack {lacks}", saw=repr(desc)[:60], hint=_HINT)
    border = tuple(desc.border_color[i] for i in range(4)) if spy.TextureAddressingMode.clamp_to_border in modes else ()
    return (desc.min_filter, desc.mip_filter, *modes, desc.mip_lod_bias, desc.max_anisotropy, desc.min_lod, desc.max_lod, border)


def _lacking(what: str, value: Any) -> UnsupportedArgumentError:
    return UnsupportedArgumentError(f"textures on CUDA lack {what}", saw=repr(value)[:60], hint=_HINT)
