"""Arrays of other frameworks as arguments: slangpy's tensors without a copy, and arrays with DLPack."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.marshals.array import NumPyMarshal, check_features
from fusepy.backend.marshals.base import Array, Description, Stream
from fusepy.backend.marshals.vector import as_vector
from fusepy.backend.memory.element import Element, scalar_type
from fusepy.backend.memory.foreign_memory import CPU, Foreign, dlpack_place, from_cuda, host_view_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.strides import telling
from fusepy.ir.types import Kind, Type


class SlangpyMarshal:
    """slangpy's ``Tensor`` on the same sgl device: passed with its gradient, without a copy. slangpy creates results."""

    returns, precedence = "slangpy", 30

    def key(self, value: Any) -> Hashable:
        return ("slangpy", value.dtype.full_name, telling(value.shape.as_tuple()), value.grad_in is not None)

    def describe(self, value: Any) -> Description:
        type = Type.parse(value.dtype.full_name)
        shape = value.shape.as_tuple()
        dims = telling(shape) if type.kind is Kind.SCALAR else (None,) * len(shape)
        return Description(type, dims, "Pair" if value.grad_in is not None else "Tensor")

    def place(self, value: Any, type: Type, device: Device) -> Tensor:
        return adopt(value, device)

    def memory(self, value: Any, device: Device, element: Element) -> Tensor:
        return adopt(value, device)

    def gradients(self, value: Any) -> tuple[Any, Any] | None:
        given, collected = value.grad_in, value.grad_out
        return None if given is None and collected is None else (given, collected)

    def make(self, device: Device, shape: tuple[int, ...], element: Element, args: Sequence[Any]) -> spy.Tensor | None:
        """Returns a new slangpy tensor; ``None`` for a result without axes, since slangpy's tensors have at least one.

        Raises:
            UnsupportedArgumentError: for a struct that is unknown to the program of the arguments, and for zero elements.
        """
        if not shape:
            return None
        if 0 in shape:
            raise UnsupportedArgumentError(
                "slangpy has no tensors without elements", saw=shape, hint="return it as a Tensor: _result='tensor'"
            )
        like = next((a for a in args if isinstance(a, spy.Tensor)), None)
        dtype: Any = element.type.name
        if like is not None:
            dtype = like.dtype.program.find_type_by_name(element.type.name)
            if dtype is None and like.dtype.full_name == element.type.name:
                dtype = like.dtype
        if dtype is None or (like is None and element.dtype.names is not None):
            raise UnsupportedArgumentError(
                f"slangpy does not know {element.type} here", saw=element.type, hint="return it as a Tensor: _result='tensor'"
            )
        device.queue.share()
        return spy.Tensor.empty(device.raw, shape, dtype)  # pyright: ignore[reportArgumentType]

    def hand_out(self, tensor: Tensor) -> Any:
        """Returns a result without axes as a number or array, like slangpy's own calls."""
        return as_vector(tensor)


def adopt(value: Any, device: Device) -> Tensor:
    """Returns the memory of a slangpy tensor as a tensor of `device`, gradient included.

    Raises:
        ShapeError: if it is on another device.
        UnsupportedArgumentError: for a struct with a layout that no module of this process has.
    """
    storage = value.storage
    if storage.device is not device.raw:
        raise ShapeError(
            "a slangpy tensor lies on another device",
            saw=f"{storage.device.info.adapter_name}, opened as {id(storage.device):#x}",
            expected=f"{device.name}, opened as {id(device.raw):#x}",
            hint="load the module on the tensor's device: fusepy takes slangpy devices",
        )
    device.queue.share()  # slangpy submits to the same queue, after fusepy's earlier calls
    element = element_named(value.dtype.full_name, value.dtype.buffer_layout.stride, frozenset(value.dtype.fields))
    block = Foreign(device, storage.device_address, value, storage)
    tensor = Tensor(
        device,
        element,
        value.shape.as_tuple(),
        block=block,
        offset=value.offset * element.nbytes,
        strides=value.strides.as_tuple(),
    )
    if value.grad_in is not None or value.grad_out is not None:
        tensor.attach(*(None if g is None else adopt(g, device) for g in (value.grad_in, value.grad_out)))
    return tensor


def element_named(name: str, stride: int, fields: frozenset[str]) -> Element:
    """Returns the element of a Slang type of another program, by its name, its stride in bytes and the names of its fields.

    Raises:
        UnsupportedArgumentError: unless exactly one layout in this process fits the struct.
    """
    type = Type.parse(name)
    if type.dtype is not None:
        return Element.of(type)
    elements = [
        e for e in Element.structs_named(type) if e.nbytes == stride and (not fields or fields == frozenset(e.dtype.names or ()))
    ]
    if not elements or not all(e.same(elements[0]) for e in elements):
        raise UnsupportedArgumentError(
            f"elements of {type} are not known to the module that is called",
            saw=f"{type} of {stride} bytes",
            expected=" or ".join(f"{type} of {e.nbytes} bytes" for e in Element.structs_named(type)) or "a struct of it",
            hint="use a struct of the module whose function is called",
        )
    return elements[0]


class DLPackMarshal:
    """Any array with ``__dlpack__``: uploaded like a NumPy array from host memory, passed without a copy from CUDA memory."""

    returns = "numpy"
    _numpy = NumPyMarshal()

    def on_host(self, value: Any) -> bool:
        return dlpack_place(value) == CPU

    def key(self, value: Any) -> Hashable:
        if self.on_host(value):
            return ("dlpack", self._numpy.key(host_view_of(value)))
        return ("cuda", _cuda_dtype(value), telling(tuple(value.shape)))

    def describe(self, value: Any) -> Description:
        if self.on_host(value):
            return self._numpy.describe(host_view_of(value))
        return Description(scalar_type(_cuda_dtype(value)), telling(tuple(value.shape)), "Tensor")

    def place(self, value: Any, type: Type, device: Device) -> Tensor:
        if self.on_host(value):
            return self._numpy.place(host_view_of(value), type, device)
        check_features(type, device)
        wait_for(self.stream(value))
        return from_cuda(Tensor, device, value)

    def array(self, value: Any) -> Array | None:
        return host_view_of(value) if self.on_host(value) else None

    def stream(self, value: Any) -> Stream | None:
        """Returns JAX's computation of the array, or the current stream of its package (CuPy)."""
        if self.on_host(value):
            return None
        if hasattr(value, "block_until_ready"):
            return _Ready(value)
        package: Any = sys.modules.get(type(value).__module__.partition(".")[0])
        current = getattr(getattr(package, "cuda", None), "get_current_stream", None)
        return None if current is None else current()


class CudaMarshal(DLPackMarshal):
    """Arrays that are always in CUDA memory, such as CuPy's."""

    returns = "tensor"

    def on_host(self, value: Any) -> bool:
        return False


class _Ready:
    """A pending computation of JAX."""

    def __init__(self, array: Any):
        self._array = array

    def synchronize(self) -> None:
        self._array.block_until_ready()


def wait_for(stream: Stream | None) -> None:
    """Waits for the work of another framework on an array that is about to be read or written."""
    if stream is not None:
        stream.synchronize()


def _cuda_dtype(value: Any) -> np.dtype[Any]:
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        raise UnsupportedArgumentError(
            f"a {type(value).__name__} lies where fusepy cannot reach it",
            saw=f"DLPack device {value.__dlpack_device__()}",
            expected="memory of the host or of CUDA",
            hint="copy it to the host",
        )
    return np.dtype(interface["typestr"])
