"""Slots, which write values to a shader object, and the bindings and copies that result.

Plain data is packed here: sgl's cursors accept wrong values without an error (they read an array of doubles as floats).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.plain import Plain
from fusepy.backend.kernels.values import HostArray, Listed, in_memory, shown
from fusepy.backend.memory.sharing import memory_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.types import Type


@dataclass
class Staged:
    """A Tensor for a structured buffer: sgl binds only whole buffers, so it is copied to a separate buffer and back."""

    tensor: Tensor
    buffer: spy.Buffer
    writable: bool

    @property
    def _memory(self) -> spy.Buffer:
        """The tensor's memory. Unlike `Tensor.buffer`, this does not end deferral."""
        return memory_of(self.tensor)

    def copy_in(self, sink: Sink) -> None:
        sink.copy(self.buffer, 0, self._memory, self.tensor.byte_offset, self.buffer.size)

    def copy_out(self, sink: Sink) -> None:
        if self.writable:
            sink.copy(self._memory, self.tensor.byte_offset, self.buffer, 0, self.buffer.size)


@dataclass
class WriteContext:
    """The context of writing one value: the device, and the copies that the value needs.

    `foreign` is set by resources of the user. slangpy may read and write them at any time, so that no work may be deferred.
    """

    device: Device
    staged: list[Staged] = field(default_factory=list[Staged])
    foreign: bool = False

    def address(self, value: Any, path: str) -> int:
        """Returns the device address for a pointer, or the descriptor handle of a resource."""
        tensor = in_memory(value, self.device)
        if tensor is not None:
            self.check(tensor, path)
            return tensor.address
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
                hint="create it with usage=TextureUsage.shader_resource | …"
                if handle is None
                else "all handles are in use: declare the global without DescriptorHandle, which needs no handle",
            )
        return handle.value

    def array(self, value: Any, element: Type, written: bool, path: str) -> Tensor:
        """Returns a tensor without a copy; an array or list is uploaded, with the lifetime of the value that was set."""
        listed = isinstance(value, Listed) and element.dtype is not None and not written
        given = value.host(element, path) if listed else value
        tensor = None if written and isinstance(given, HostArray) else in_memory(given, self.device)
        if tensor is None:
            raise UnsupportedArgumentError(
                f"{path} cannot be set to this",
                saw=shown(value),
                expected=f"a Tensor of {element}" + ("" if written else ", or an array"),
                hint="copy it to the device: Tensor.from_numpy(device, array)",
            )
        self.check_device(tensor, path)
        return tensor

    def meet(self, value: Any) -> None:
        """Sets `foreign` for a resource of the user."""
        self.foreign |= isinstance(value, (spy.Buffer, spy.Texture, spy.TextureView))

    def check_device(self, tensor: Tensor, path: str) -> None:
        """Raises if a tensor is on another device."""
        if tensor.device is not self.device:
            hint = "copy it over with Tensor.from_numpy(device, t.to_numpy())"
            raise ShapeError(f"{path} lies on another device", saw=tensor.device.opened, expected=self.device.opened, hint=hint)

    def check(self, tensor: Tensor, path: str) -> None:
        """Raises unless a tensor is contiguous and on this device."""
        self.check_device(tensor, path)
        if not tensor.linear:
            raise ShapeError(f"{path} must be contiguous", saw=f"strides {tensor.strides}", hint="copy the view first")


class Slot(Protocol):
    def write(self, value: Any, path: str, binding: WriteContext) -> None: ...


class PlainSlot(Slot):
    """The slot of plain data: packed on the host in the device's layout, and written with one ``set_data``, without checks.

    Attributes:
        is_float: it is one floating-point number, which accepts any Python float.
    """

    def __init__(self, cursor: spy.ShaderCursor, plain: Plain):
        self.cursor = cursor
        self.plain = plain
        self.data = np.zeros(plain.dtype.itemsize, np.uint8)
        self.view = self.data.view(plain.dtype.base if plain.dtype.subdtype else plain.dtype)
        self.view = self.view.reshape(plain.dtype.shape)
        self.is_float = plain.kind == "number" and plain.dtype.kind == "f"  # of a vector it is "V"

    def write(self, value: Any, path: str, binding: WriteContext) -> None:
        self.plain.fill(self.view, value, path, binding)
        self.cursor.set_data(self.data)
