"""torch tensors as arguments and as results. Functions of torch itself are in `backend.torch`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fusepy.backend.marshals.array import NumPyMarshal, check_features
from fusepy.backend.marshals.base import Array, Description, Stream
from fusepy.backend.marshals.foreign import wait_for
from fusepy.backend.memory.element import Element, scalar_type
from fusepy.backend.memory.foreign_memory import from_cuda
from fusepy.backend.memory.host_arrays import as_array
from fusepy.backend.memory.sharing import host_array
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.torch import check_gradient, check_numbers, is_torch, is_tracked, need_torch
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.strides import telling
from fusepy.ir.types import Type

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device

_NAMES = ("bool", "float16", "float32", "float64", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)))
_NUMPY = {f"torch.{name}": np.dtype(name) for name in _NAMES}
SHARED_FROM = 1 << 16  # bytes: smaller results are copied, so that they do not keep a block of the pool


class TorchMarshal:
    """``torch.Tensor``: uploaded from the CPU, or passed without a copy on a CUDA device that shares torch's memory."""

    returns, precedence = "torch", 20
    _numpy = NumPyMarshal()

    # ---- as an argument -----------------------------------------------------------------------------------------

    def key(self, value: Any) -> Hashable:
        tracked = value.requires_grad and is_tracked(value)
        return ("torch", value.dtype, value.layout, value.device, telling(tuple(value.shape)), tracked)

    def tracked(self, value: Any) -> bool:
        return is_tracked(value)

    def describe(self, value: Any) -> Description:
        if str(value.layout) != "torch.strided":
            raise UnsupportedArgumentError(
                "a sparse torch tensor cannot be passed to Slang",
                saw=f"layout {value.layout}",
                expected="torch.strided",
                hint="write t.to_dense()",
            )
        return Description(scalar_type(_numpy_dtype(value)), telling(tuple(value.shape)), "Tensor")

    def place(self, value: Any, type: Type, device: Device) -> Tensor:
        if value.device.type == "cpu":
            return self._numpy.place(self._array(value), type, device)
        check_gradient(value)
        check_features(type, device)
        return self._shared(value.detach(), device)

    def array(self, value: Any) -> Array | None:
        return self._array(value) if value.device.type == "cpu" else None

    def _array(self, value: Any) -> Array:
        check_gradient(value)
        return as_array(value.detach().resolve_neg())

    def stream(self, value: Any) -> Stream | None:
        return need_torch().cuda.current_stream(value.device) if value.device.type == "cuda" else None

    # ---- as a result --------------------------------------------------------------------------------------------

    def hand_out(self, tensor: Tensor) -> Any:
        """Returns a result in CPU memory. A large one is not copied if torch can access its memory."""
        check_numbers(tensor)
        shared = tensor.device.transfer.host_addressable and tensor.element.stored == tensor.element.dtype
        large = tensor.size * tensor.element.nbytes >= SHARED_FROM
        return need_torch().from_numpy(host_array(tensor, publish=False) if shared and large else tensor.to_numpy())

    def make(self, device: Device, shape: tuple[int, ...], element: Element, args: Sequence[Any]) -> Any:
        """Returns CUDA memory for a result, if an argument is there; otherwise ``None``."""
        places = [a.device for a in args if is_torch(cast("type[Any]", type(a))) and self.stream(a) is not None]
        if not places or element.dtype.names is not None:
            return None
        torch = need_torch()
        return torch.empty(shape + element.shape, dtype=getattr(torch, str(element.dtype)), device=places[0])

    def memory(self, value: Any, device: Device, element: Element) -> Tensor | Array:
        """Returns the memory of a tensor that receives a result.

        Raises:
            GradientError: for one that requires gradients.
            ShapeError: for one that repeats elements, or is on another device.
            UnsupportedArgumentError: for a sparse one.
        """
        self.describe(value)
        check_gradient(value)
        if not value.is_inference():
            need_torch().autograd.graph.increment_version(value)  # or backward() would use overwritten values
        if value.is_neg():  # NumPy would get a copy
            raise UnsupportedArgumentError(
                "a lazily negated torch tensor cannot be written", saw="is_neg()", hint="t.resolve_neg()"
            )
        return self._array(value) if value.device.type == "cpu" else self._shared(value, device)

    def _shared(self, value: Any, device: Device) -> Tensor:
        """Returns the memory of a tensor on another device than the CPU.

        Raises:
            ShapeError: if `device` cannot access it.
        """
        if value.device.type != "cuda" or device.target.kind != "cuda":
            raise ShapeError(
                "a torch tensor lies on another device",
                saw=str(value.device),
                expected=f"cpu, or cuda where the module is on it; the module is on {device.name}",
                hint="move the tensor with .cpu(), or load the module on a CUDA device",
            )
        wait_for(self.stream(value))  # the device has its own stream
        return from_cuda(Tensor, device, value)


def _numpy_dtype(value: Any) -> np.dtype[Any]:
    """Returns the NumPy dtype of a torch tensor.

    Raises:
        UnsupportedArgumentError: for a dtype without a Slang type.
    """
    dtype = _NUMPY.get(str(value.dtype))
    if dtype is None:
        raise UnsupportedArgumentError(
            f"Slang has no type for {value.dtype}",
            saw=value.dtype,
            expected="bool, int8 to int64, uint8 to uint64, float16, float32, float64",
            hint="pass t.real and t.imag as two tensors" if value.dtype.is_complex else "convert the tensor with .float()",
        )
    return dtype
