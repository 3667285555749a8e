"""How values get into a shader object: one slot for each parameter, field by field where it holds resources.

sgl's own cursors take what is wrong in silence (an array of doubles is read as floats), so plain data is packed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import slangpy as spy

from fusepy.backend.cudatexture import check_global, check_texture, check_written
from fusepy.backend.texture import kind_of
from fusepy.backend.values import HostArray, Plain, check_fields, plain_of
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.types import Kind, Type
from fusepy.sharing import memory_of
from fusepy.tensor import Tensor

if TYPE_CHECKING:
    from fusepy.backend.runtime import Device

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


@dataclass
class Staged:
    """A Tensor behind a structured buffer: sgl binds whole buffers only, so it is copied into one of its own, and back."""

    tensor: Tensor
    buffer: spy.Buffer
    writable: bool

    @property
    def _memory(self) -> spy.Buffer:
        """The tensor's memory, without handing it to anybody who would need every call submitted at once."""
        return memory_of(self.tensor)

    def copy_in(self, queue: Any) -> None:
        queue.copy(self.buffer, 0, self._memory, self.tensor.offset, self.buffer.size)

    def copy_out(self, queue: Any) -> None:
        if self.writable:
            queue.copy(self._memory, self.tensor.offset, self.buffer, 0, self.buffer.size)


@dataclass
class Binding:
    """What writing one value needs to know, and leaves behind.

    `foreign` is set by resources of the user's own, which slangpy reads and writes without asking us: nothing may wait.
    """

    device: Device
    staged: list[Staged] = field(default_factory=list[Staged])
    foreign: bool = False

    def address(self, value: Any, path: str) -> int:
        """The device address behind a pointer, or the descriptor handle of a resource."""
        if isinstance(value, Tensor):
            self.check(value, path)
            return value.address
        if isinstance(value, HostArray):
            return value.tensor(self.device, None).address
        self.meet(value)
        if isinstance(value, spy.Buffer):
            return value.device_address
        if isinstance(value, spy.Texture):
            readable = (value.desc.usage & spy.TextureUsage.shader_resource) != spy.TextureUsage.none
            handle = value.descriptor_handle_ro if readable else None
        elif isinstance(value, spy.Sampler):
            handle = value.descriptor_handle
        else:
            raise UnsupportedArgumentError(
                f"{path} cannot be set to this", saw=type(value).__name__, expected="an address", hint="give a Tensor or a buffer"
            )
        if handle is None or not handle:
            raise UnsupportedArgumentError(
                f"{path}: this {type(value).__name__} has no descriptor handle",
                hint="its usage forbids it, or all handles are taken",
            )
        return handle.value

    def meet(self, value: Any) -> None:
        """Notes a resource of the user's own."""
        self.foreign |= isinstance(value, (spy.Buffer, spy.Texture, spy.TextureView))

    def check(self, tensor: Tensor, path: str) -> None:
        """Raises where a kernel on this device cannot read a tensor as one piece of memory."""
        if tensor.device is not self.device:
            raise ShapeError(f"{path} lies on another device", saw=tensor.device.name, expected=self.device.name, hint="copy it")
        if not tensor.linear:
            raise ShapeError(f"{path} must be contiguous", saw=f"strides {tensor.strides}", hint="copy the view first")


class Slot(Protocol):
    def write(self, value: Any, path: str, binding: Binding) -> None: ...


class PlainSlot(Slot):
    """Plain data: packed on the host, written with one ``set_data``, which checks nothing: the bytes are the layout's.

    Attributes:
        is_float: whether it is one floating-point number, which takes any Python float.
    """

    def __init__(self, cursor: spy.ShaderCursor, plain: Plain):
        self.cursor = cursor
        self.plain = plain
        self.data = np.zeros(plain.dtype.itemsize, np.uint8)
        self.view = self.data.view(plain.dtype.base if plain.dtype.subdtype else plain.dtype)
        self.view = self.view.reshape(plain.dtype.shape)
        self.is_float = plain.kind == "number" and plain.dtype.kind == "f"  # of a vector it is "V"

    def write(self, value: Any, path: str, binding: Binding) -> None:
        self.plain.fill(self.view, value, path, binding.address)
        self.cursor.set_data(self.data)


class _StructSlot(Slot):
    """A struct that holds resources, a constant buffer or a parameter block: field by field."""

    def __init__(self, name: str, fields: Mapping[str, Slot]):
        self.name = name
        self.fields = fields

    def write(self, value: Any, path: str, binding: Binding) -> None:
        if not isinstance(value, dict):
            raise UnsupportedArgumentError(
                f"{path} cannot be set to this", saw=type(value).__name__, expected=self.name, hint="give a dict or an object"
            )
        given = cast("dict[str, Any]", value)
        check_fields(given, list(self.fields), path)
        for name, slot in self.fields.items():
            slot.write(given[name], f"{path}.{name}", binding)


class _ArraySlot(Slot):
    """An array of resources."""

    def __init__(self, name: str, items: Sequence[Slot]):
        self.name = name
        self.items = items

    def write(self, value: Any, path: str, binding: Binding) -> None:
        items = cast("tuple[Any, ...]", value if isinstance(value, tuple) else ())
        if len(items) != len(self.items):
            raise UnsupportedArgumentError(
                f"{path} cannot be set to this",
                saw=type(cast("Any", value)).__name__,
                expected=self.name,
                hint=f"give {len(self.items)} of them",
            )
        for i, (slot, item) in enumerate(zip(self.items, items)):
            slot.write(item, f"{path}[{i}]", binding)


class _ResourceSlot(Slot):
    """A texture, buffer, sampler or acceleration structure."""

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

    def write(self, value: Any, path: str, binding: Binding) -> None:
        binding.meet(value)
        if self.sampler:
            self.check(isinstance(value, spy.Sampler), value, path, "give a sampler")
            check_global(value, binding.device, path)
        elif self.shape in _BUFFERS:
            value = self.buffer(value, path, binding)
        elif self.shape == _S.acceleration_structure:
            self.check(isinstance(value, spy.AccelerationStructure), value, path, "give an acceleration structure")
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
        wanted = _TEXTURES.get(self.shape)
        if isinstance(value, spy.Texture) and wanted is not None and texture.desc.type != wanted:
            self.refuse(path, texture.desc.type.name, "a texture of that shape")
        usage = spy.TextureUsage.unordered_access if self.writable else spy.TextureUsage.shader_resource
        if (texture.desc.usage & usage) == spy.TextureUsage.none:  # the driver would end the process
            self.refuse(path, f"usage {texture.desc.usage!s}", f"a texture made with usage {usage.name}")

    def buffer(self, value: Any, path: str, binding: Binding) -> spy.Buffer:
        """What is bound for a buffer, a Tensor, or an array."""
        if isinstance(value, spy.Buffer):
            usage = spy.BufferUsage.unordered_access if self.writable else spy.BufferUsage.shader_resource
            if (value.desc.usage & usage) == spy.BufferUsage.none:
                self.refuse(path, f"usage {value.desc.usage!s}", f"a buffer made with usage {usage.name}")
            return value
        if isinstance(value, (HostArray, tuple)):
            if self.writable:
                self.refuse(path, "an array", "a Tensor or a buffer, since the function may write to it")
            array = value if isinstance(value, HostArray) else HostArray(np.array(value, self.host_dtype(path)))
            value = array.tensor(binding.device, None)
        self.check(isinstance(value, Tensor), value, path, "give a Tensor or a buffer")
        return self.stage(value, path, binding)

    def host_dtype(self, path: str) -> np.dtype[Any]:
        found = Type.parse(self.item).dtype if self.item else np.dtype(np.uint32)
        if found is None:
            self.refuse(path, "a list", f"a Tensor of {self.item}")
        assert found is not None
        return found

    def stage(self, tensor: Tensor, path: str, binding: Binding) -> spy.Buffer:
        """A buffer that holds just the tensor, filled before the kernel runs."""
        binding.check(tensor, path)
        name = tensor.dtype.name
        scalar = tensor.dtype.scalar
        kind = self.item.partition("<")[2].partition(",")[0] or self.item  # vector<float,3>: rows of floats are that too
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
        """Whether rows of a tensor of scalars are *not* just the items of the buffer."""
        inner = tensor.shape[-1] * tensor.element.nbytes if tensor.shape else 0
        return inner != self.stride

    def refuse(self, path: str, saw: str, expected: str) -> None:
        raise UnsupportedArgumentError(
            f"{path} ({self.name}) cannot be set to this", saw=saw, expected=expected, hint=f"give {expected}"
        )


class _Unsupported(Slot):
    def __init__(self, name: str):
        self.name = name

    def write(self, value: Any, path: str, binding: Binding) -> None:
        raise UnsupportedArgumentError(f"{path} is a {self.name}, which cannot be set", hint="set plain data or resources")


def _plain_name(name: str) -> str:
    found = Type.parse(name)
    return found.name if found.kind is not Kind.NAMED else name


def slot_of(cursor: spy.ShaderCursor, layout: spy.TypeLayoutReflection) -> Slot:
    """How values are written to the parameter behind `cursor`."""
    plain = plain_of(layout)
    if plain is not None:
        return PlainSlot(cursor, plain)
    kind = layout.kind
    if kind in (_K.resource, _K.sampler_state):
        return _ResourceSlot(cursor, layout)
    if kind in (_K.parameter_block, _K.constant_buffer):
        inner = layout.element_type_layout
        block = cursor.dereference()
        if inner.kind != _K.struct:
            return slot_of(block, inner)
        return _StructSlot(inner.type.full_name, _fields(block, inner))
    if kind == _K.struct:
        return _StructSlot(layout.type.full_name, _fields(cursor, layout))
    if kind == _K.array and 0 < layout.type.element_count < 1 << 16:
        items = [slot_of(cursor[i], layout.element_type_layout) for i in range(layout.type.element_count)]
        return _ArraySlot(layout.type.full_name, items)
    return _Unsupported(layout.type.full_name)


def _fields(cursor: spy.ShaderCursor, layout: spy.TypeLayoutReflection) -> dict[str, Slot]:
    listed = [layout.fields[i] for i in range(len(layout.fields))]
    return {f.name: slot_of(cursor[f.name], f.type_layout) for f in listed}
