"""torch tensors as arguments and as results. Functions of torch itself are in `backend.torch`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any, cast

from fusepy.backend.device.device import Device
from fusepy.backend.marshals.array import NumPyMarshal, check_features
from fusepy.backend.marshals.base import Array, CurrentStream, Description, Maker
from fusepy.backend.memory.element import Element, scalar_type
from fusepy.backend.memory.foreign_memory import over
from fusepy.backend.memory.host_arrays import as_array
from fusepy.backend.memory.sharing import host_array
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.torch import (
    check_gradient,
    check_numbers,
    is_torch,
    is_tracked,
    need_torch,
    numpy_dtype,
    stream_reader,
    torch_dtype,
)
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.strides import contiguous_strides, telling
from fusepy.ir.types import Type

SHARED_FROM = 1 << 16  # bytes: smaller results are copied, so that they do not keep a block of the pool


@cache
def _is_strided(layout: Any) -> bool:
    return str(layout) == "torch.strided"


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
        if not _is_strided(value.layout):
            raise UnsupportedArgumentError(
                "a sparse torch tensor cannot be passed to Slang",
                saw=f"layout {value.layout}",
                expected="torch.strided",
                hint="write t.to_dense()",
            )
        return Description(scalar_type(numpy_dtype(value.dtype)), telling(tuple(value.shape)), "Tensor")

    def place(self, value: Any, type: Type, device: Device) -> Tensor:
        if value.is_cpu:
            return self._numpy.place(self._array(value), type, device)
        check_gradient(value)
        check_features(type, device)
        return self._shared(value, device)

    def placer(self, value: Any, device: Device) -> Callable[[Any], Tensor] | None:
        return None if value.is_cpu else torch_placer(device, value)

    def array(self, value: Any) -> Array | None:
        return self._array(value) if value.is_cpu else None

    def _array(self, value: Any) -> Array:
        check_gradient(value)
        return as_array(value.detach().resolve_neg())

    def follows(self, value: Any) -> CurrentStream | None:
        return stream_reader(value.get_device()) if value.is_cuda else None

    # ---- as a result --------------------------------------------------------------------------------------------

    def hand_out(self, tensor: Tensor) -> Any:
        """Returns a result: torch's own memory if it was made there, else in CPU memory.

        A large one is not copied if torch can access its memory.
        """
        if isinstance(tensor.block, TorchResult):
            return tensor.block.handed(tensor)
        check_numbers(tensor)
        shared = tensor.device.transfer.host_addressable and tensor.element.stored == tensor.element.dtype
        large = tensor.size * tensor.element.nbytes >= SHARED_FROM
        return need_torch().from_numpy(host_array(tensor, publish=False) if shared and large else tensor.to_numpy())

    def maker(self, device: Device, args: Sequence[Any]) -> Maker | None:
        """Returns what makes torch's CUDA tensors for results, if an argument is there."""
        like = next((a for a in args if is_torch(cast("type[Any]", type(a))) and a.is_cuda), None)
        return None if like is None else torch_maker(device, like.device)

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
        if value.is_cpu:
            return self._array(value)
        if element.stored != element.dtype:
            raise UnsupportedArgumentError(
                "a torch tensor of bool in CUDA memory cannot be written",
                saw=value.dtype,
                expected="no destination: a result is returned",
            )
        return self._shared(value, device)

    def _shared(self, value: Any, device: Device) -> Tensor:
        """Returns the memory of a tensor on another device than the CPU. Calls run on torch's stream, and nobody waits.

        Raises:
            ShapeError: if `device` cannot access it.
        """
        if not value.is_cuda or device.cuda != value.get_device():
            raise ShapeError(
                "a torch tensor lies on another device",
                saw=str(value.device),
                expected=f"cpu, or {device.name if device.cuda is None else f'cuda:{device.cuda}'}, where the module is",
                hint="move the tensor with .cpu(), or load the module on a CUDA device",
            )
        return torch_placer(device, value)(value)


class Lent:
    """Memory of another framework, in place of a block of the pool, for calls on the stream of its allocator.

    The allocator gives the memory only to later work of the stream, so nothing keeps `owner` once this object is gone.
    """

    __slots__ = ("address", "buffer", "offset", "owner")

    def __init__(self, address: int, owner: Any):
        self.address = address
        self.owner = owner
        self.buffer = None
        self.offset = 0


class TorchResult(Lent):
    """Memory that torch has allocated for a result, on the stream of the call."""

    __slots__ = ()

    def handed(self, tensor: Tensor) -> Any:
        """Returns the result, which `tensor` views, as a torch tensor."""
        owner, shape = self.owner, tensor.shape + tensor.element.shape
        if owner.shape != shape:  # axes of extent 1 were added
            owner = owner.reshape(shape)
        if tensor.element.stored == tensor.element.dtype:
            return owner
        tensor.device.queue.rejoin()  # torch reads the numbers
        return owner.bool()


def torch_placer(device: Device, like: Any) -> Callable[[Any], Tensor]:
    """Returns a function that takes the CUDA memory of torch tensors like this one, for calls on torch's stream, without a copy.

    A lazily negated tensor is copied, and so is one of bool, which has four bytes in fusepy.
    """
    element = _element_of_torch(like.dtype)
    converted = torch_dtype(element) if element.stored != element.dtype else None
    key = element.key(telling(tuple(like.shape)), device)  # extents beside the telling ones are in no key

    def place(value: Any) -> Tensor:
        if value.is_neg():
            value = value.resolve_neg()
        if converted is not None:
            value = value.to(converted)
        strides = None if value.is_contiguous() else value.stride()
        return over(Tensor, device, element, tuple(value.shape), Lent(value.data_ptr(), value), strides, key)

    return place


def torch_maker(device: Device, where: Any) -> Callable[[Element, tuple[int, ...]], Tensor]:
    """Returns a function that makes memory for results on torch's device `where`, for torch's current stream.

    Structs, which torch lacks, are in memory of the pool.
    """
    empty, dtypes = need_torch().empty_strided, dict[Element, Any]()  # `empty` takes 5 µs more

    def make(element: Element, shape: tuple[int, ...]) -> Tensor:
        dtype = dtypes.get(element)
        if dtype is None:
            if element.dtype.names is not None:
                return Tensor(device, element, shape)
            dtype = dtypes[element] = torch_dtype(element)
        full = shape + element.shape
        owner = empty(full, contiguous_strides(full), dtype=dtype, device=where)
        return over(Tensor, device, element, shape, TorchResult(owner.data_ptr(), owner), None, None)

    return make


@cache
def _element_of_torch(dtype: Any) -> Element:
    return Element.of(scalar_type(numpy_dtype(dtype)))
