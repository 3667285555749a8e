"""torch tensors, without importing torch: a class of torch is known by its name, and torch is there once it has one."""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fusepy.backend.marshals.array import NumPyMarshal, check_features
from fusepy.backend.marshals.base import Description
from fusepy.backend.memory.element import Element, scalar_type
from fusepy.backend.memory.foreign_memory import from_cuda
from fusepy.backend.memory.host_arrays import gradient_error, has_gradient
from fusepy.backend.memory.host_arrays import is_torch as is_class
from fusepy.backend.memory.sharing import host_array
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import GradientError, MissingPackageError, ShapeError, UnsupportedArgumentError
from fusepy.ir.strides import telling
from fusepy.ir.types import Type

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device

Array = np.ndarray[Any, np.dtype[Any]]

_NAMES = ("bool", "float16", "float32", "float64", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)))
_NUMPY = {f"torch.{name}": np.dtype(name) for name in _NAMES}
SHARED_FROM = 1 << 16  # bytes: smaller results are copied, so that they do not keep a block of the pool


def need_torch() -> Any:
    """torch itself, imported now if nobody has.

    Raises:
        MissingPackageError: if it is not installed.
    """
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingPackageError(
            "torch is not installed", saw=error, hint="install it with: pip install 'fusepy-slang[torch]'"
        ) from None


class TorchMarshal:
    """``torch.Tensor``: uploaded from the CPU, passed as it lies where a CUDA device shares torch's memory."""

    returns = "torch"
    _numpy = NumPyMarshal()

    def key(self, value: Any) -> Hashable:
        if value.requires_grad and has_gradient(value):
            raise gradient_error(value)
        return ("torch", value.dtype, value.layout, value.device, telling(tuple(value.shape)))

    def describe(self, value: Any) -> Description:
        if has_gradient(value):
            raise gradient_error(value)
        if str(value.layout) != "torch.strided":
            raise UnsupportedArgumentError(
                "a sparse torch tensor cannot be passed to Slang",
                saw=f"layout {value.layout}",
                expected="torch.strided",
                hint="write t.to_dense()",
            )
        return Description(scalar_type(numpy_dtype(value)), telling(tuple(value.shape)), "Tensor")

    def place(self, value: Any, type: Type, device: Device) -> Tensor:
        if value.requires_grad and has_gradient(value):  # one that was captured may have got it since
            raise gradient_error(value)
        if value.device.type == "cpu":
            return self._numpy.place(host_view(value), type, device)
        check_device(value, device)
        check_features(type, device)
        return from_cuda(Tensor, device, value.detach())


def in_cuda(value: Any) -> bool:
    """Whether a value is a torch tensor of CUDA: calls with one wait, since torch goes on in a stream of its own."""
    return is_class(cast("type[Any]", type(value))) and value.device.type == "cuda"


def numpy_dtype(value: Any) -> np.dtype[Any]:
    """The NumPy dtype of a torch tensor.

    Raises:
        UnsupportedArgumentError: for what Slang has no type for.
    """
    found = _NUMPY.get(str(value.dtype))
    if found is None:
        raise UnsupportedArgumentError(
            f"Slang has no type for {value.dtype}",
            saw=value.dtype,
            expected="bool, int8 to int64, uint8 to uint64, float16, float32, float64",
            hint="convert the tensor with .float()",
        )
    return found


def host_view(value: Any) -> Array:
    """A torch tensor of the CPU as an array in the same memory."""
    return value.detach().resolve_neg().numpy()


def check_device(value: Any, device: Device) -> None:
    """Raises `ShapeError` where `device` does not reach the memory of a torch tensor."""
    if value.device.type == "cuda" and device.target.kind == "cuda":
        need_torch().cuda.current_stream(value.device).synchronize()  # the device has a stream of its own
        return
    raise ShapeError(
        "a torch tensor lies on another device",
        saw=str(value.device),
        expected=f"cpu, or cuda where the module is on it; the module is on {device.name}",
        hint="move the tensor with .cpu(), or load the module on a CUDA device",
    )


def hand_out(tensor: Tensor) -> Any:
    """A result as a torch tensor; a large one keeps its memory, which nobody else knows, where torch can reach it."""
    element = tensor.element
    if element.dtype.names is not None:
        raise UnsupportedArgumentError(
            f"torch has no dtype for {element.type}", saw=element.type, hint="return it as 'tensor' or 'numpy'"
        )
    shared = tensor.device.transfer.host_addressable and element.stored == element.dtype
    large = tensor.size * element.nbytes >= SHARED_FROM
    return need_torch().from_numpy(host_array(tensor, publish=False) if shared and large else tensor.to_numpy())


def make(device: Device, shape: tuple[int, ...], element: Element, args: Sequence[Any]) -> Any:
    """A torch tensor of CUDA for a result, where an argument is one; ``None`` lets `hand_out` make one of the CPU."""
    found = [a for a in args if in_cuda(a)]
    if not found or element.dtype.names is not None:
        return None
    torch = need_torch()
    return torch.empty(shape + element.shape, dtype=getattr(torch, str(element.dtype)), device=found[0].device)


def target(given: Any, device: Device, name: str) -> Tensor | Array:
    """The memory of a torch tensor that receives a result.

    Raises:
        GradientError: for one that requires gradients.
        ShapeError: for one that repeats elements, or lies on another device.
        UnsupportedArgumentError: for a sparse one.
    """
    try:
        TorchMarshal().describe(given)
    except GradientError as error:
        error.what = f"{name}: {error.what}"
        raise
    if not given.is_inference():
        need_torch().autograd.graph.increment_version(given)  # or backward() would use what is written for what was saved
    if given.device.type == "cpu":
        return host_view(given)
    check_device(given, device)
    return from_cuda(Tensor, device, given)
