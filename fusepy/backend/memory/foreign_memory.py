"""Tensors over memory of other frameworks: host arrays, CUDA arrays, and any other array with DLPack.

On lavapipe and on the cpu device a device address is a host pointer, so an array is shared. A CUDA device shares memory of its
own context. On other GPUs the contents are copied.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar, cast

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.memory.contents import from_array
from fusepy.backend.memory.element import Element, scalar_type
from fusepy.backend.memory.host_arrays import refuse_loss
from fusepy.backend.memory.recast import element_in
from fusepy.backend.memory.storage import TENSORS, Storage
from fusepy.backend.torch import is_torch
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.strides import TensorShape, contiguous_strides, is_contiguous, span

Array = np.ndarray[Any, np.dtype[Any]]
Made = TypeVar("Made", bound=Storage)
CPU, CUDA = 1, 2  # DLPack's device types


class HostMemory:
    """Host memory in place of an sgl buffer, on devices that can address it."""

    __slots__ = ("device_address", "size")

    def __init__(self, address: int, nbytes: int):
        self.device_address = address
        self.size = nbytes


class Foreign:
    """Memory of another framework, in place of a block of the pool. It keeps `owner` alive while a kernel may use the memory.

    Attributes:
        address: device pointer of the first byte, which is the first of `buffer`, if there is one.
    """

    __slots__ = ("_device", "_owner", "address", "buffer")
    offset = 0

    def __init__(self, device: Device, address: int, owner: Any, buffer: Any = None):
        self._device = device
        self._owner = owner
        self.address = address
        self.buffer = buffer

    def __del__(self) -> None:
        # Kernels in the queue may still read the memory, and this runs on any thread: it only hands over the owner.
        self._device.retired.append(self._owner)


def from_dlpack(made: type[Made], device: Device, array: Any, dtype: Any = None) -> Made:
    """Returns an array with ``__dlpack__`` as a tensor of class `made`; see `Tensor.from_dlpack`."""
    where = dlpack_place(array)
    if where == CPU:
        found = host_view_of(array)
        if device.transfer.host_addressable and found.flags.writeable and found.dtype != np.bool_:
            return from_host(made, device, found, dtype)
        return from_array(made, device, found, dtype)
    if where == CUDA and hasattr(array, "__cuda_array_interface__"):
        return from_cuda(made, device, array, dtype)
    raise UnsupportedArgumentError(
        f"a {type(array).__name__} is in memory that neither the host nor CUDA can access",
        saw=f"DLPack device {array.__dlpack_device__()}",
        expected="memory of the host or of CUDA",
        hint="copy it to the host, e.g. with .cpu()",
    )


def dlpack_place(array: Any) -> int:
    """Returns the DLPack device type of an array.

    Raises:
        UnsupportedArgumentError: if the array does not report one.
    """
    ask = getattr(array, "__dlpack_device__", None)
    if ask is None or not hasattr(array, "__dlpack__"):
        raise UnsupportedArgumentError(
            f"a {type(array).__name__} has no __dlpack__", saw=repr(array)[:60], hint="convert it with numpy.asarray"
        )
    return int(ask()[0])


def host_view_of(array: Any) -> Array:
    """Returns a NumPy view of a host array, without a copy.

    Raises:
        UnsupportedArgumentError: for dtypes that NumPy does not have.
    """
    refuse_loss(array)
    if isinstance(array, np.ndarray):
        return cast("Array", array)
    if is_torch(cast("type[Any]", type(array))):
        array = array.detach()
    try:
        return np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:  # each framework refuses in its own way
        raise UnsupportedArgumentError(
            f"a {type(array).__name__} cannot be read as an array",
            saw=error,
            hint="convert it before, to float32 for example",
        ) from error


def from_host(made: type[Made], device: Device, array: Array, dtype: Any = None) -> Made:
    """Returns a tensor that shares the memory of a host array, on a device that can address it."""
    low = array.__array_interface__["data"][0] + sum((n - 1) * s for n, s in zip(array.shape, array.strides) if s < 0)
    high = array.__array_interface__["data"][0] + sum((n - 1) * s for n, s in zip(array.shape, array.strides) if s > 0)
    memory = HostMemory(low, high + array.itemsize - low if array.size else 0)
    block = Foreign(device, low, array, memory)
    return _wrap(made, device, block, array.__array_interface__["data"][0] - low, array.shape, array.strides, array.dtype, dtype)


def from_cuda(made: type[Made], device: Device, array: Any, dtype: Any = None) -> Made:
    """Returns a tensor that shares the memory of a CUDA array, on a CUDA device."""
    if device.target.kind != "cuda":
        raise ShapeError(
            f"a {type(array).__name__} lies on another device",
            saw="CUDA memory",
            expected=device.name,
            hint="open the device with init_device('cuda'), or copy the array to the host",
        )
    if device.cuda is None:
        raise ShapeError(
            f"a {type(array).__name__} belongs to another CUDA context",
            saw="memory of the primary context",
            expected=f"the context that {device.name} was opened in",
            hint="open the device with init_device('cuda'), which takes the primary context",
        )
    found = array.__cuda_array_interface__
    kind = np.dtype(found["typestr"])
    shape = tuple(found["shape"])
    strides = found.get("strides") or tuple(s * kind.itemsize for s in contiguous_strides(shape))
    block = Foreign(device, found["data"][0], array)
    return _wrap(made, device, block, 0, shape, strides, kind, dtype)


def over(
    made: type[Made],
    device: Device,
    element: Element,
    extents: tuple[int, ...],
    block: Any,
    strides: tuple[int, ...] | None,
    key: object,
) -> Made:
    """Returns elements at the start of a block whose `key` is known, as the constructor does, in a third of its time."""
    new: Made = made.opened.__new__(made.opened)
    new.device, new.element, new.block, new.key = device, element, block, key
    new.shape, new.size = TensorShape(extents), math.prod(extents)
    new.origin, new.grads, new.as_numbers = 0, None, TENSORS
    low, high = block.address, new.size
    new.address = low
    new.linear = strides is None or is_contiguous(extents, strides)
    new.strides = contiguous_strides(extents) if strides is None or new.linear else TensorShape(strides)
    if not new.linear:
        first, high = span(extents, new.strides) if high else (0, 0)
        low += first * element.nbytes
    new.low, new.high = low, new.address + high * element.nbytes
    new.__class__ = made
    return new


def _wrap(
    made: type[Made],
    device: Device,
    block: Foreign,
    offset: int,
    shape: tuple[int, ...],
    steps: tuple[int, ...],
    kind: np.dtype[Any],
    dtype: Any,
) -> Made:
    """Returns a tensor over foreign memory; `steps` are strides in bytes."""
    device.queue.share()
    device.release_retired()
    element, batch = element_in(shape, scalar_type(kind) if dtype is None else dtype)
    if element.stored != kind and element.dtype != kind:
        raise UnsupportedArgumentError(
            f"memory of {kind} does not hold {element.type}", saw=kind, expected=element.stored, hint="convert the array first"
        )
    count = math.prod(element.shape)
    inner = tuple(s * kind.itemsize for s in contiguous_strides(element.shape))
    if steps[len(batch) :] != inner or any(s % element.nbytes for s in steps[: len(batch)]):
        raise ShapeError(
            f"memory with these strides does not hold {element.type}",
            saw=f"strides {steps} in bytes",
            expected=f"multiples of {element.nbytes}, contiguous components",
            hint="make it contiguous first",
        )
    assert element.nbytes == count * kind.itemsize or kind.names is not None
    strides = tuple(s // element.nbytes for s in steps[: len(batch)])
    return made(device, element, batch, block=block, offset=offset, strides=strides)
