"""The slot of a texture, buffer, sampler or acceleration structure, with checks, and copies of tensors for buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import slangpy as spy

from fusepy.backend.kernels.slots import Slot, Staged, WriteContext
from fusepy.backend.kernels.values import HostArray, in_memory
from fusepy.backend.marshals.texture_cuda import check_global, check_texture, check_written
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import kind_of
from fusepy.backend.scenes.levels import TopLevel, check_home
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.types import Kind, Type

_K = spy.TypeReflection.Kind
_S = spy.TypeReflection.ResourceShape
_BUFFERS = (_S.structured_buffer, _S.byte_address_buffer, _S.texture_buffer)
_USAGE = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
_COPIED = _USAGE | spy.BufferUsage.copy_source | spy.BufferUsage.copy_destination
_TEXTURES = {
    _S.texture_1d: spy.TextureType.texture_1d,
    _S.texture_2d: spy.TextureType.texture_2d,
    _S.texture_3d: spy.TextureType.texture_3d,
    _S.texture_cube: spy.TextureType.texture_cube,
    _S.texture_1d_array: spy.TextureType.texture_1d_array,
    _S.texture_2d_array: spy.TextureType.texture_2d_array,
    _S.texture_cube_array: spy.TextureType.texture_cube_array,
    _S.texture_2d_multisample: spy.TextureType.texture_2d_ms,
    _S.texture_2d_multisample_array: spy.TextureType.texture_2d_ms_array,
}


class ResourceSlot(Slot):
    """The slot of a texture, buffer, sampler or acceleration structure."""

    def __init__(self, cursor: spy.ShaderCursor, layout: spy.TypeLayoutReflection):
        self.cursor = cursor
        type = layout.type
        self.name = type.full_name
        self.sampler = layout.kind == _K.sampler_state
        self.shape = type.resource_shape
        self.writable = not self.sampler and type.resource_access not in (
            spy.TypeReflection.ResourceAccess.read,
            spy.TypeReflection.ResourceAccess.none,
        )
        self.item = type.resource_result_type.full_name if self.shape == _S.structured_buffer else ""
        self.stride = layout.element_type_layout.stride if self.shape == _S.structured_buffer else 4
        self.staging: spy.Buffer | None = None

    def write(self, value: Any, path: str, binding: WriteContext) -> None:
        binding.meet(value)
        if self.sampler:
            self.check(isinstance(value, spy.Sampler), value, path, "give a sampler")
            check_global(value, binding.device, path)
        elif self.shape in _BUFFERS:
            value = self.buffer(value, path, binding)
        elif self.shape == _S.acceleration_structure:
            self.check(isinstance(value, (TopLevel, spy.AccelerationStructure)), value, path, "give a Scene")
            if isinstance(value, TopLevel):
                check_home(value, binding.device, path)
                value = value.structure
        else:
            self.check_texture(value, path)
            check_texture(value, binding.device)
            check_written(kind_of(value).format, self.name, binding.device, path)
        try:
            self.cursor.write(value)
        except RuntimeError as error:
            raise UnsupportedArgumentError(
                f"{path} cannot be set to this", saw=type(value).__name__, expected=self.name, hint=str(error).splitlines()[0]
            ) from error

    def check(self, fits: bool, value: Any, path: str, hint: str) -> None:
        if not fits:
            raise UnsupportedArgumentError(
                f"{path} cannot be set to this", saw=type(value).__name__, expected=self.name, hint=hint
            )

    def check_texture(self, value: Any, path: str) -> None:
        self.check(isinstance(value, (spy.Texture, spy.TextureView)), value, path, "give a texture")
        texture = value.texture if isinstance(value, spy.TextureView) else value
        expected = _TEXTURES.get(self.shape)
        if isinstance(value, spy.Texture) and expected is not None and texture.desc.type != expected:
            self.refuse(path, texture.desc.type.name, "a texture of that shape")
        usage = spy.TextureUsage.unordered_access if self.writable else spy.TextureUsage.shader_resource
        if (texture.desc.usage & usage) == spy.TextureUsage.none:  # the driver would end the process
            self.refuse(path, f"usage {texture.desc.usage!s}", f"a texture made with usage {usage.name}")

    def buffer(self, value: Any, path: str, binding: WriteContext) -> spy.Buffer:
        """Returns the buffer to bind for a buffer, a Tensor, or an array."""
        if isinstance(value, spy.Buffer):
            usage = spy.BufferUsage.unordered_access if self.writable else spy.BufferUsage.shader_resource
            if (value.desc.usage & usage) == spy.BufferUsage.none:
                self.refuse(path, f"usage {value.desc.usage!s}", f"a buffer made with usage {usage.name}")
            return value
        if isinstance(value, (HostArray, tuple)):
            if self.writable:
                self.refuse(path, "an array", "a Tensor or a buffer, since the function may write to it")
            array = value if isinstance(value, HostArray) else HostArray(np.array(value, self.host_dtype(path)))
            value = array
        tensor = in_memory(value, binding.device)
        self.check(tensor is not None, value, path, "give a Tensor or a buffer")
        assert tensor is not None
        return self.stage(tensor, path, binding)

    def host_dtype(self, path: str) -> np.dtype[Any]:
        dtype = Type.parse(self.item).dtype if self.item else np.dtype(np.uint32)
        if dtype is None:
            self.refuse(path, "a list", f"a Tensor of {self.item}")
        assert dtype is not None
        return dtype

    def stage(self, tensor: Tensor, path: str, binding: WriteContext) -> spy.Buffer:
        """Returns a buffer for the elements of the tensor only, which is filled before the kernel runs."""
        binding.check(tensor, path)
        name = tensor.dtype.name
        scalar = tensor.dtype.scalar
        kind = self.item.partition("<")[2].partition(",")[0] or self.item  # rows of floats fit vector<float,3>
        if self.item and name != _plain_name(self.item) and (scalar is None or scalar.name != kind or self.per_item(tensor)):
            self.refuse(path, f"Tensor<{name}>{list(tensor.shape)}", f"elements of {self.item}, {self.stride} bytes each")
        nbytes = tensor.size * tensor.element.nbytes
        if not nbytes:
            self.refuse(path, "an empty tensor", "at least one element")
        if self.staging is None or self.staging.size != nbytes:
            self.staging = binding.device.raw.create_buffer(size=nbytes, struct_size=self.stride, usage=_COPIED)
        for other in binding.staged:
            if (other.writable or self.writable) and other.tensor.low < tensor.high and tensor.low < other.tensor.high:
                self.refuse(path, "memory that another parameter writes", "memory of its own")
        binding.staged.append(Staged(tensor, self.staging, self.writable))
        return self.staging

    def per_item(self, tensor: Tensor) -> bool:
        """True if rows of a tensor of scalars are *not* the items of the buffer."""
        inner = tensor.shape[-1] * tensor.element.nbytes if tensor.shape else 0
        return inner != self.stride

    def refuse(self, path: str, saw: str, expected: str) -> None:
        raise UnsupportedArgumentError(
            f"{path} ({self.name}) cannot be set to this", saw=saw, expected=expected, hint=f"give {expected}"
        )


def _plain_name(name: str) -> str:
    type = Type.parse(name)
    return type.name if type.kind is not Kind.NAMED else name
