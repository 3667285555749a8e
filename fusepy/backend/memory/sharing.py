"""Handing the memory of tensors to NumPy, torch, JAX, CuPy and whatever else speaks DLPack.

On lavapipe and on the cpu device an address of the device is a pointer of the host, so a tensor *is* an array; on CUDA it is
one for everything that computes in CUDA. Other GPUs keep their memory to themselves: `ExportError`, or a copy where one is asked.

Once memory has been handed out, somebody else may read it at any time, so the device then submits every call at once.
"""

from __future__ import annotations

import ctypes
from typing import Any, cast

import numpy as np

from fusepy.backend.memory.contents import to_numpy
from fusepy.backend.memory.foreign_block import HostMemory
from fusepy.backend.memory.foreign_memory import CPU, CUDA
from fusepy.backend.memory.pending import before_write
from fusepy.backend.memory.storage import Storage
from fusepy.errors import ExportError
from fusepy.ir.strides import contiguous_strides

Array = np.ndarray[Any, np.dtype[Any]]


class _Memory:
    """What NumPy needs to make an array over memory that a tensor keeps alive."""

    def __init__(self, tensor: Storage, interface: dict[str, Any]):
        self.tensor = tensor
        self.__array_interface__ = interface


def _interface(tensor: Storage) -> dict[str, Any]:
    """Address, extents and strides, as NumPy's and CUDA's array interfaces have them."""
    element = tensor.element
    if element.dtype.names is not None or element.stored != element.dtype:
        raise ExportError(
            f"a tensor of {tensor.dtype} cannot be shared",
            saw=tensor.dtype,
            expected="numbers" if element.dtype.names is not None else "a dtype that lies in memory as NumPy's does",
            hint="copy it with .to_numpy()",
        )
    inner = contiguous_strides(element.shape)
    return {
        "data": (tensor.address, False),
        "shape": tensor.shape + element.shape,
        "strides": tuple(s * element.nbytes for s in tensor.strides) + tuple(s * element.dtype.itemsize for s in inner),
        "typestr": element.dtype.str,
        "version": 3,
    }


def _publish(tensor: Storage) -> None:
    """From now on others may read the memory, and write it."""
    before_write(tensor)
    tensor.device.queue.share()
    tensor.device.wait()


def host_array(tensor: Storage, *, publish: bool = True) -> Array:
    """The memory of a tensor as an array, without a copy, when all that was called has been done.

    Args:
        publish: false where nothing of fusepy knows the memory any more, so that calls need not be submitted at once.

    Raises:
        ExportError: where the host cannot reach it.
    """
    tensor.device.check()
    interface = _interface(tensor)
    if not tensor.device.transfer.host_addressable:
        raise ExportError(f"memory of {tensor.device.name} is not reached from the host", hint="copy it with .to_numpy()")
    if publish:
        _publish(tensor)
    else:
        tensor.device.transfer.settle()
    return np.asarray(_Memory(tensor, interface))


def dlpack_device(tensor: Storage) -> tuple[int, int]:
    """DLPack's number for where a tensor lies, and which of these it is.

    Raises:
        ExportError: for memory that only the API of the device reaches.
    """
    if tensor.device.transfer.host_addressable:
        return CPU, 0
    if tensor.device.target.kind == "cuda" and tensor.device.shares_cuda:
        return CUDA, 0
    raise ExportError(
        f"memory of {tensor.device.name} cannot be shared", expected="a CUDA or software device", hint="copy it with .to_numpy()"
    )


def dlpack(
    tensor: Storage,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the memory, or of a copy on the host if one is asked for.

    NumPy makes the capsule, and keeps the tensor alive until its consumer lets go: its deleter is C and takes no lock. For CUDA
    memory the device in it is written over.

    Raises:
        ExportError: for memory that cannot be shared.
    """
    here = dlpack_device(tensor)
    if copy or (dl_device is not None and tuple(dl_device) != here):
        if copy is False or (dl_device is not None and dl_device[0] != CPU):
            raise ExportError(f"a tensor on DLPack device {here} cannot be had on {dl_device}", hint="copy it with .to_numpy()")
        return to_numpy(tensor).__dlpack__()
    interface = _interface(tensor)
    _publish(tensor)
    capsule = np.asarray(_Memory(tensor, interface)).__dlpack__()
    if here[0] != CPU:
        _write_device(capsule, here)
    return capsule


def _write_device(capsule: Any, place: tuple[int, int]) -> None:
    """Overwrites the device in a capsule without version: ``DLManagedTensor`` starts with a pointer, then two int32."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = cast("int", pointer(capsule, b"dltensor"))
    (ctypes.c_int32 * 2).from_address(address + ctypes.sizeof(ctypes.c_void_p))[:] = list(place)


def cuda_array_interface(tensor: Storage) -> dict[str, Any]:
    """What CuPy, torch and Numba read CUDA memory by.

    Raises:
        AttributeError: on other devices, as its consumers expect.
    """
    if not tensor.device.shares_cuda:
        raise AttributeError("__cuda_array_interface__: the tensor is not in CUDA memory")
    interface = _interface(tensor)
    _publish(tensor)
    return interface


def buffer(tensor: Storage) -> Any:
    """See `Tensor.buffer`."""
    before_write(tensor)
    found = memory_of(tensor)
    tensor.device.queue.share()
    return found


def memory_of(tensor: Storage) -> Any:
    """The sgl buffer that holds a tensor, for copies in the order of the queue.

    Raises:
        ExportError: for memory of another framework, which is in no buffer.
    """
    found = tensor.block.buffer
    if found is None or isinstance(found, HostMemory):
        raise ExportError(
            "this tensor lies in memory of another framework, in no buffer of the device", hint="use a copy of it: t.copy()"
        )
    return found
