"""Export of tensor memory to NumPy, torch, JAX, CuPy and other frameworks with DLPack.

On lavapipe and on the cpu device a device address is a host pointer, so NumPy shares the memory. On CUDA every framework that
computes in CUDA shares it. Other GPUs cannot share: `ExportError`, or a copy if one is requested.

Once memory is exported, others may read it at any time: from then on the device submits every call at once.
"""

from __future__ import annotations

import ctypes
from typing import Any, cast

import numpy as np

from fusepy.backend.memory.contents import check_read, number, to_numpy
from fusepy.backend.memory.foreign_memory import CPU, CUDA, HostMemory
from fusepy.backend.memory.pending import before_write
from fusepy.backend.memory.storage import Storage
from fusepy.backend.torch import as_torch
from fusepy.errors import ExportError, UnsupportedArgumentError
from fusepy.ir.strides import contiguous_strides

Array = np.ndarray[Any, np.dtype[Any]]


class _Memory:
    """An object from which NumPy makes an array over memory that a tensor keeps alive."""

    def __init__(self, tensor: Storage, interface: dict[str, Any]):
        self.tensor = tensor
        self.__array_interface__ = interface


def _interface(tensor: Storage) -> dict[str, Any]:
    """Returns address, extents and strides in the format of NumPy's and CUDA's array interfaces."""
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
        "strides": tensor.steps + tuple(s * element.dtype.itemsize for s in inner),
        "typestr": element.dtype.str,
        "version": 3,
    }


def _publish(tensor: Storage) -> None:
    """Marks the memory as exported: from now on others may read and write it."""
    before_write(tensor)
    tensor.device.queue.share()
    tensor.device.wait()


def host_array(tensor: Storage, *, publish: bool = True) -> Array:
    """Waits for all calls, then returns the memory of a tensor as an array, without a copy.

    Args:
        publish: false if no later call uses the memory, so that calls need not be submitted at once.

    Raises:
        ExportError: if the host cannot address it.
    """
    tensor.device.check()
    interface = _interface(tensor)
    if not tensor.device.transfer.host_addressable:
        raise ExportError(f"memory of {tensor.device.name} cannot be accessed by the host", hint="copy it with .to_numpy()")
    if publish:
        _publish(tensor)
    else:
        tensor.device.transfer.settle()
    return np.asarray(_Memory(tensor, interface))


def dlpack_device(tensor: Storage) -> tuple[int, int]:
    """Returns DLPack's device type and device number for a tensor.

    Raises:
        ExportError: for memory that only the device's API can access.
    """
    if tensor.device.transfer.host_addressable:
        return CPU, 0
    if tensor.device.cuda is not None:
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
    """Returns a DLPack capsule of the memory, or of a copy on the host if one is requested.

    NumPy makes the capsule and keeps the tensor alive until the consumer releases it: the deleter is C and takes no lock. For
    CUDA memory the device in the capsule is then overwritten.

    Raises:
        ExportError: for memory that cannot be shared.
    """
    here = dlpack_device(tensor)
    if copy or (dl_device is not None and tuple(dl_device) != here):
        if copy is False or (dl_device is not None and dl_device[0] != CPU):
            raise ExportError(f"a tensor on DLPack device {here} cannot be moved to {dl_device}", hint="copy it with .to_numpy()")
        return to_numpy(tensor).__dlpack__()
    interface = _interface(tensor)
    _publish(tensor)
    capsule = np.asarray(_Memory(tensor, interface)).__dlpack__()
    if here[0] != CPU:
        _write_device(capsule, here)
    return capsule


def _write_device(capsule: Any, place: tuple[int, int]) -> None:
    """Overwrites the device in an unversioned capsule: ``DLManagedTensor`` starts with a pointer, then two int32."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = cast("int", pointer(capsule, b"dltensor"))
    (ctypes.c_int32 * 2).from_address(address + ctypes.sizeof(ctypes.c_void_p))[:] = list(place)


def cuda_array_interface(tensor: Storage) -> dict[str, Any]:
    """Returns the array interface through which CuPy, torch and Numba read CUDA memory.

    Raises:
        AttributeError: on other devices, as the protocol requires.
    """
    if tensor.device.cuda is None:
        raise AttributeError("__cuda_array_interface__: the tensor is not in CUDA memory")
    interface = _interface(tensor)
    _publish(tensor)
    return interface


def memory_of(tensor: Storage) -> Any:
    """Returns the sgl buffer that holds a tensor, for copies in queue order.

    Raises:
        ExportError: for memory of another framework, which is in no buffer.
    """
    found = tensor.block.buffer
    if found is None or isinstance(found, HostMemory):
        raise ExportError(
            "this tensor lies in memory of another framework, in no buffer of the device", hint="use a copy of it: t.copy()"
        )
    return found


class SharedStorage(Storage):
    """Storage with the protocols through which other frameworks read it."""

    __slots__ = ()

    @property
    def buffer(self) -> Any:
        """The sgl buffer that holds the memory; the tensor starts at byte `byte_offset`. Turns deferred submission off.

        Raises:
            ExportError: for memory of another framework, which is in no buffer.
        """
        before_write(self)
        found = memory_of(self)
        self.device.queue.share()
        return found

    def torch(self) -> Any:
        """Returns a torch tensor of the contents: in the same memory if torch can address it, else a copy on the CPU.

        Shared memory needs synchronisation: call ``device.wait()`` before torch reads what a later call writes.

        Raises:
            MissingPackageError: if torch is not installed.
            UnsupportedArgumentError: for structs.
        """
        return as_torch(self)

    def __dlpack__(self, **options: Any) -> Any:
        return dlpack(self, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_device(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return cuda_array_interface(self)

    def __index__(self) -> int:
        """The integer of a tensor without axes, as of arrays of NumPy: ``range(t)``, ``items[t]``."""
        if self.shape or self.element.dtype.kind not in "iu":
            raise UnsupportedArgumentError(
                "a tensor is no integer",
                saw=f"{self.dtype}{list(self.shape)}",
                expected="one integer without axes",
                hint="write int(t), or t[0] for the first of several",
            )
        return int(number(self, "the integer"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        check_read(self, "a NumPy array")
        found = host_array(self) if copy is False else to_numpy(self)
        return found if dtype is None else found.astype(dtype, copy=copy is not False)
