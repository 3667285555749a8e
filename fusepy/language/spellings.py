"""Names of slangpy's graphics layer, for programs written for slangpy.

fusepy has no vectors, textures or samplers of its own: it takes slangpy's. `fusepy.float3` equals `slangpy.float3`, makes
its objects, and takes traced values as well (`fusepy.language.constructors`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

import slangpy
from slangpy import (
    Bitmap,
    Buffer,
    BufferUsage,
    CommandEncoder,
    ComparisonFunc,
    DeviceType,
    Format,
    ResourceState,
    Sampler,
    Texture,
    TextureAddressingMode,
    TextureFilteringMode,
    TextureReductionOp,
    TextureType,
    TextureUsage,
    TypeConformance,
    bool1,
    bool2,
    bool3,
    bool4,
    float1,
    float2,
    float2x2,
    float2x3,
    float2x4,
    float3,
    float3x2,
    float3x3,
    float3x4,
    float4,
    float4x2,
    float4x3,
    float4x4,
    float16_t,
    float16_t2,
    float16_t3,
    float16_t4,
    int1,
    int2,
    int3,
    int4,
    quatf,
    uint1,
    uint2,
    uint3,
    uint4,
)

from fusepy.backend.device.device import Device
from fusepy.backend.device.open import init_device
from fusepy.backend.kernels.dump import set_dump_generated_shaders
from fusepy.elsewhere import no_name
from fusepy.language.constructors import CONSTRUCTORS
from fusepy.language.generators import call_id, grid, rand_float, thread_id, wang_hash

__all__ = [
    "Bitmap", "Buffer", "BufferUsage", "CommandEncoder", "ComparisonFunc", "DeviceType", "Format", "ResourceState",
    "Sampler", "Texture", "TextureAddressingMode", "TextureFilteringMode", "TextureReductionOp", "TextureType",
    "TextureUsage", "TypeConformance", "bool1", "bool2", "bool3", "bool4", "float1", "float2", "float2x2", "float2x3",
    "float2x4", "float3", "float3x2", "float3x3", "float3x4", "float4", "float4x2", "float4x3", "float4x4",
    "float16_t", "float16_t2", "float16_t3", "float16_t4", "int1", "int2", "int3", "int4", "quatf", "uint1", "uint2",
    "uint3", "uint4",
]  # fmt: skip


def create_torch_device(
    type: str | DeviceType | None = None,
    torch_device: Any = None,
    enable_debug_layers: bool = False,
    include_paths: Sequence[str | os.PathLike[str]] = (),
) -> Device:
    """Opens a device on the GPU that torch uses, with slangpy's parameter names: by default a CUDA device.

    Args:
        torch_device: torch's device or its index; by default torch's current one.

    Raises:
        DeviceError: if none opens.
    """
    chosen = DeviceType.cuda if type in (None, DeviceType.automatic) else type
    return init_device(chosen, getattr(torch_device, "index", torch_device), include_paths, enable_debug_layers)


_MODULES = ("crashpad", "math", "platform", "renderdoc", "tev", "thread", "ui")  # slangpy's, without its functional API


_HOMES = ("slangpy", "slangpy.math", "slangpy.types.valueref")  # the modules that define the names
_OWN = {  # what fusepy has in place of slangpy's; its classes of generators, by the functions that make them
    "CallIdArg": call_id,
    "GridArg": grid,
    "RandFloatArg": rand_float,
    "ThreadIdArg": thread_id,
    "WangHashArg": wang_hash,
    "create_torch_device": create_torch_device,
    "set_dump_generated_shaders": set_dump_generated_shaders,
}


def spelled(name: str) -> Any:
    """Returns the slangpy object of this name; it is ``fusepy.__getattr__``.

    Raises:
        AttributeError: for any other name, with a hint for words of other frameworks.
    """
    if name in CONSTRUCTORS:
        return CONSTRUCTORS[name]
    if name in _OWN:
        return _OWN[name]
    found = None if name.startswith("_") else getattr(slangpy, name, None)
    if isinstance(found, ModuleType):
        return found if name in _MODULES else _refuse(name)
    return found if found is not None and getattr(found, "__module__", "slangpy") in _HOMES else _refuse(name)


def _refuse(name: str) -> NoReturn:
    raise no_name(name)
