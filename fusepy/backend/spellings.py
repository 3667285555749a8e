"""Names of slangpy's graphics layer under which programs written for it find them here, and its device's methods.

fusepy has no vectors, textures or samplers of its own: slangpy's are its arguments. `fusepy.float3` equals `slangpy.float3`,
makes its objects, and takes traced values as well (`fusepy.backend.constructors`).
"""

from __future__ import annotations

from typing import Any

import slangpy as spy
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

from fusepy.backend.constructors import CONSTRUCTORS

__all__ = [
    "Bitmap",
    "Buffer",
    "BufferUsage",
    "CommandEncoder",
    "ComparisonFunc",
    "DeviceType",
    "Format",
    "ResourceState",
    "Sampler",
    "Texture",
    "TextureAddressingMode",
    "TextureFilteringMode",
    "TextureReductionOp",
    "TextureType",
    "TextureUsage",
    "TypeConformance",
    "bool1",
    "bool2",
    "bool3",
    "bool4",
    "float1",
    "float2",
    "float2x2",
    "float2x3",
    "float2x4",
    "float3",
    "float3x2",
    "float3x3",
    "float3x4",
    "float4",
    "float4x2",
    "float4x3",
    "float4x4",
    "float16_t",
    "float16_t2",
    "float16_t3",
    "float16_t4",
    "int1",
    "int2",
    "int3",
    "int4",
    "quatf",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
]


def spelled(name: str) -> Any:
    """The slangpy object of this name; what ``fusepy.__getattr__`` is.

    Raises:
        AttributeError: if it is none of those above.
    """
    if name in CONSTRUCTORS:
        return CONSTRUCTORS[name]
    if name in __all__:
        return globals()[name]
    raise AttributeError(f"module 'fusepy' has no attribute {name!r}")


class Spellings:
    """Methods of a slangpy device that programs written for it call on a device; all recorded work is submitted first."""

    @property
    def sgl(self) -> spy.Device:
        """The slangpy device."""
        raise NotImplementedError

    def create_buffer(self, *args: Any, **kwargs: Any) -> Any:
        """A raw buffer, as slangpy makes it."""
        return self.sgl.create_buffer(*args, **kwargs)

    def create_texture(self, *args: Any, **kwargs: Any) -> Any:
        """A texture, as slangpy makes it; `usage` says whether kernels may read it, write it, or both."""
        return self.sgl.create_texture(*args, **kwargs)

    def create_sampler(self, *args: Any, **kwargs: Any) -> Any:
        """A sampler, as slangpy makes it."""
        return self.sgl.create_sampler(*args, **kwargs)

    def create_command_encoder(self, *args: Any, **kwargs: Any) -> Any:
        """A command encoder, for `Function.append_to`."""
        return self.sgl.create_command_encoder(*args, **kwargs)

    def submit_command_buffer(self, *args: Any, **kwargs: Any) -> Any:
        """Submits what a command encoder has finished, behind all calls made so far."""
        return self.sgl.submit_command_buffer(*args, **kwargs)

    def wait_for_idle(self) -> None:
        """Waits until all work is done; the same as `wait`."""
        self.sgl.wait_for_idle()
