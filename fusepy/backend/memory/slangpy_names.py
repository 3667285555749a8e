"""Names of slangpy's ``Tensor`` that `Tensor` has beside its own: `storage`, `usage`, `element_count`, `view`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np
import slangpy as spy

from fusepy.backend.device.block import BUFFER_USAGE
from fusepy.backend.memory.element import element_of
from fusepy.backend.memory.pending import before_write
from fusepy.backend.memory.recast import seen_as
from fusepy.backend.memory.sharing import SharedStorage, memory_of
from fusepy.backend.memory.storage import Storage
from fusepy.backend.memory.views import as_shape, integers, numbers, reshaped, strided
from fusepy.backend.sealed import Sealed
from fusepy.errors import ArgumentError, ShapeError
from fusepy.ir.strides import contiguous_strides

Self = TypeVar("Self", bound="SlangpyNames")
Array = np.ndarray[Any, np.dtype[Any]]


class TensorStorage(Sealed):
    """The whole memory of a tensor, with the attributes of slangpy's ``Buffer``. Functions take it like a buffer.

    It is a part of a larger buffer of the graphics layer, so commands of an encoder take ``tensor.buffer`` from
    ``tensor.byte_offset`` on instead.

    Attributes:
        tensor: all elements of the memory, along one axis.
        size: bytes; `struct_size` those of one element.
        device_address: address of the first byte.
        device: the device of slangpy.
    """

    def __init__(self, tensor: SlangpyNames):
        self.tensor = tensor
        self.size: int = tensor.size * tensor.element.nbytes
        self.struct_size: int = tensor.element.nbytes
        self.device_address: int = tensor.address
        self.device: spy.Device = tensor.device.raw

    @property
    def desc(self) -> spy.BufferDesc:
        """The description of the buffer that holds the memory; only its `usage` says something about this part."""
        return memory_of(self.tensor).desc

    def to_numpy(self) -> Array:
        """Returns a copy of the bytes, as ``uint8``."""
        buffer, tensor = memory_of(self.tensor), self.tensor
        tensor.device.check()
        data = tensor.device.transfer.download(buffer, tensor.byte_offset, self.size) if self.size else b""
        return np.frombuffer(data, np.uint8)

    def copy_from_numpy(self, array: Array) -> None:
        """Overwrites the first bytes with those of an array.

        Raises:
            ShapeError: if there are more than fit.
        """
        if array.nbytes > self.size:
            raise ShapeError(
                "copy_from_numpy", saw=f"{array.nbytes} bytes", expected=f"{self.size} at most", hint="cut the array"
            )
        before_write(self.tensor)
        if array.nbytes:
            self.tensor.device.check()
            self.tensor.device.transfer.upload(memory_of(self.tensor), self.tensor.byte_offset, np.ascontiguousarray(array))

    def __repr__(self) -> str:
        return f"TensorStorage({self.size} bytes at {self.device_address:#x})"


class SlangpyNames(SharedStorage):
    """Storage with the properties of slangpy's tensors."""

    __slots__ = ()

    @property
    def storage(self) -> TensorStorage:
        """The memory that the tensor and its views share, as a buffer; the tensor starts at element `offset` of it.

        Raises:
            ExportError: for memory of another framework.

        Example:
            >>> import fusepy as fp
            >>> t = fp.Tensor([1, 2, 3])
            >>> t.storage.size, t[1:].offset, t[1:].storage.to_numpy().view(np.float32).tolist()
            (12, 1, [1.0, 2.0, 3.0])
        """
        before_write(self)
        buffer = memory_of(self)
        nbytes = getattr(self.block, "nbytes", buffer.size)
        count = (nbytes,) if not self.element.nbytes else (nbytes // self.element.nbytes,)
        return TensorStorage(self.viewed(self.element, count, (1,), -self.origin))

    @property
    def usage(self) -> spy.BufferUsage:
        """The uses of the buffer that holds the memory."""
        return memory_of(self).desc.usage

    @property
    def memory_type(self) -> spy.MemoryType:
        """The place of the buffer that holds the memory."""
        return memory_of(self).desc.memory_type

    @property
    def element_count(self) -> int:
        """The number of elements; the same as `size`."""
        return self.size

    def is_contiguous(self) -> bool:
        """True if the elements lie in C order without gaps."""
        return self.linear

    def view(
        self: Self, shape: int | Sequence[int], dtype: Any = None, offset: int = 0, *, strides: Sequence[int] | None = None
    ) -> Self:
        """Returns a view with another shape, as `reshape`, and optionally another dtype, whose components are the last axes.

        With `strides` (also as the second argument, as in slangpy) or `offset`, it is any view of the tensor's memory: its
        first element is `offset` elements after the tensor's first one, and strides are counted in elements.

        Raises:
            ShapeError: if the sizes differ, if the tensor is not contiguous, or if the view exceeds the memory.

        Example:
            >>> import fusepy as fp
            >>> fp.Tensor([1, 2, 3, 4, 5]).view((2, 2), (1, 2), 1).tolist()
            [[2.0, 4.0], [3.0, 5.0]]
        """
        if isinstance(dtype, (tuple, list)):
            dtype, strides = None, cast("Sequence[int]", dtype)
        if strides is not None or offset:
            extents = as_shape(shape)
            steps = contiguous_strides(extents) if strides is None else integers(strides, "view: strides")
            made = self.seen(strided, (extents, steps, offset))
            self._check_inside(made)
            return made
        if dtype is None:
            return self.seen(reshaped, numbers((shape,)))
        return seen_as(self, element_of(dtype), as_shape(shape))

    def _check_inside(self, made: Storage) -> None:
        """Raises `ShapeError` for a view that leaves the memory of the tensor."""
        start, stop = self.block.address, self.block.address + getattr(self.block, "nbytes", 0)
        if made.size and stop > start and not start <= made.low <= made.high <= stop:
            negative = made.low < start  # slangpy's words
            raise ShapeError(
                "Tensor view offset is negative: it starts before the memory"
                if negative
                else "a view exceeds the memory of its tensor",
                saw=f"elements {(made.low - start) // self.element.nbytes} to {(made.high - start) // self.element.nbytes}",
                expected=f"0 to {(stop - start) // self.element.nbytes}",
                hint="the offset is counted in elements, from the first one of the tensor",
            )


def check_buffer(device: Any, usage: spy.BufferUsage | None, memory_type: spy.MemoryType | None) -> None:
    """Checks the arguments ``usage=`` and ``memory_type=`` of slangpy against the memory that tensors lie in.

    Raises:
        ArgumentError: for a usage that this memory does not have.
    """
    missing = list[spy.BufferUsage]() if usage is None else [f for f in spy.BufferUsage if f & usage and not f & BUFFER_USAGE]
    if missing or memory_type not in (None, spy.MemoryType.device_local):
        asked = _names(missing) or str(memory_type)
        raise ArgumentError(
            "the memory of tensors is for kernels and copies, and cannot be created for this usage",
            saw=asked,
            expected=_names([f for f in spy.BufferUsage if f & BUFFER_USAGE]),
            hint="make a buffer, device.sgl.create_buffer(…, usage=…): functions take it as an array",
        )


def _names(usages: Sequence[spy.BufferUsage]) -> str:
    return " | ".join(str(usage.name) for usage in usages)
