"""What is in a tensor: copying it in, out and over, on the device where elements do not lie behind one another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fusepy.element import Element, element_of
from fusepy.errors import ArgumentError, ShapeError, TraceError, UnsupportedArgumentError
from fusepy.host_arrays import as_array
from fusepy.ir.ranges import check_range
from fusepy.ir.strides import span
from fusepy.ir.types import BOOL, FLOAT
from fusepy.pending import PENDING, before_write
from fusepy.recast import words

if TYPE_CHECKING:
    from fusepy.backend.runtime import Device
    from fusepy.tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]


def constructed(given: Sequence[Any], shape: Any, dtype: Any, device: Device) -> Tensor:
    """What ``Tensor(...)`` makes of what a user gives: rows of numbers, an array, another tensor, or extents.

    Raises:
        ArgumentError: for something else, or nothing.
        ShapeError, UnsupportedArgumentError, RangeError: for numbers that are no array of `dtype`.
    """
    from fusepy.tensor import Tensor

    while given and given[-1] is None:
        given = given[:-1]
    if not given or (len(given) == 1 and isinstance(given[0], tuple)):
        wanted = cast("Any", given[0] if given else shape)
        numbers = cast("list[Any]", np.atleast_1d(wanted).tolist())
        if (given and shape is not None) or not all(map(_is_whole, numbers)):
            raise _no_contents(wanted)
        return Tensor.zeros(device, wanted, FLOAT if dtype is None else dtype)
    made = _holding(given, dtype, device)
    return made if shape is None else made.reshape(shape)


def _holding(given: Sequence[Any], dtype: Any, device: Device) -> Tensor:
    from fusepy.backend.marshals.array import list_array
    from fusepy.tensor import Tensor

    first: Any = given[0]
    if len(given) == 1 and isinstance(first, Tensor):
        return first.detach() if dtype is None else first.view(first.shape, dtype)
    if len(given) == 1 and isinstance(first, np.ndarray):
        array, struct = cast("Array", first), None if dtype is None else element_of(dtype)
        if struct is not None and struct.dtype.names is not None and array.dtype.names is None:
            return _structs(array, struct, device)
        return Tensor.from_numpy(device, array, dtype)
    if len(given) == 1 and hasattr(first, "__dlpack__"):
        return Tensor.from_dlpack(device, first, dtype)
    if not all(isinstance(row, list) for row in given):
        raise _no_contents(next(row for row in given if not isinstance(row, list)))
    array = list_array(first if len(given) == 1 else list(given))
    element = element_of((BOOL if array.dtype.kind == "b" else FLOAT) if dtype is None else dtype)
    scalar = element.type.scalar
    if scalar is not None:
        if array.dtype.kind == "f" and not scalar.is_float:
            raise ArgumentError(f"Tensor() of {element.type} would cut floats", saw=repr(first)[:60], hint="round them first")
        check_range(array, scalar, "a number in a list")
        array = array.astype(element.dtype)
    return Tensor.from_numpy(device, array, element) if scalar is not None else _structs(array, element, device)


def _structs(array: Array, element: Element, device: Device) -> Tensor:
    """Structs from rows of plain numbers, whose last axis is one struct."""
    made, idle = fresh(device, element, array.shape[:-1])
    copy_from_numpy(made, array.astype(np.dtype(element.dtype[0].base)), idle)
    return made


def _is_whole(number: object) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)


def _no_contents(saw: object) -> ArgumentError:
    return ArgumentError(
        "Tensor() takes lists of numbers, an array, another tensor, or a shape as a tuple",
        saw="nothing" if saw is None else repr(saw)[:60],
        hint="write Tensor([1, 2, 3]), Tensor([1, 2], [3, 4]), Tensor((4, 5)) or Tensor(shape=(4, 5), dtype=m.float3)",
    )


def to_numpy(tensor: Tensor) -> Array:
    """A copy of the contents as an array."""
    device, element = tensor.device, tensor.element
    device.check()
    if tensor.size == 0:
        return np.empty(tensor.shape + element.shape, element.dtype)
    if tensor.block.buffer is None:
        return copy(tensor).to_numpy()
    low, high = span(tensor.shape, tensor.strides)
    start = tensor.offset + low * element.nbytes
    data = device.transfer.download(tensor.block.buffer, start, (high - low) * element.nbytes)
    flat = np.frombuffer(data, element.stored).reshape((high - low, *element.shape))
    if tensor.strides and not _is_plain(tensor):
        steps = tuple(s * element.nbytes for s in tensor.strides) + flat.strides[1:]
        view = np.lib.stride_tricks.as_strided(flat[-low:], tensor.shape + element.shape, steps)
        return _as_bools(view, element.dtype) if element.stored != element.dtype else np.copy(view)
    view = flat.reshape(tensor.shape + element.shape)
    return _as_bools(view, element.dtype) if element.stored != element.dtype else view


def _as_bools(stored: Array, dtype: np.dtype[Any]) -> Array:
    """Bools, which the device stores as integers; an array also without axes, where ``!=`` gives a scalar."""
    bools: Array = np.empty(stored.shape, dtype)
    np.not_equal(stored, 0, out=bools)
    return bools


def fresh(device: Device, element: Element, shape: tuple[int, ...]) -> tuple[Tensor, bool]:
    """A tensor for the host to write, and whether no work uses its memory any more, so that it can be written at once."""
    from fusepy.tensor import Tensor

    block = None
    if device.transfer.host_addressable:
        block = device.pool.allocate_idle(math.prod(shape) * element.nbytes)
    return Tensor(device, element, shape, block=block), block is not None


def copy_from_numpy(tensor: Tensor, array: Array, idle: bool = False) -> None:
    """Overwrites the contents; a tensor of structs takes plain numbers too, one struct behind the other.

    Args:
        idle: no work uses the memory.

    Raises:
        ShapeError: unless the array has the tensor's shape with the components behind it, or if elements are repeated.
        UnsupportedArgumentError: for another dtype.
    """
    tensor.device.check()
    element = tensor.element
    array = as_array(array)
    if element.dtype.names is not None and array.dtype.names is None:
        from fusepy.aos import as_structs  # which works on tensors

        array = as_structs(np.ravel(array), element)
        array = array.reshape(tensor.shape) if array.size == tensor.size else array
    if array.shape != tensor.shape + element.shape:
        raise ShapeError("copy_from_numpy", saw=array.shape, expected=tensor.shape + element.shape, hint="reshape the array")
    if array.dtype != element.dtype:
        if array.dtype.names is None or array.dtype.names != element.dtype.names:
            plain = element.dtype.names is None
            raise UnsupportedArgumentError(
                f"an array of {array.dtype} cannot be copied into a tensor of {element.type}",
                saw=array.dtype,
                expected=element.dtype,
                hint=f"convert it with .astype(np.{element.dtype})" if plain else "use the dtype of the struct",
            )
        array = array.astype(element.dtype)
    if tensor.block.buffer is None or not _is_plain(tensor):
        _check_writable(tensor)
        staged = tensor.empty(tensor.device, tensor.shape, tensor.element)
        copy_from_numpy(staged, array)
        copy_elements(staged, tensor)
    else:
        stored = np.ascontiguousarray(array).astype(element.stored, copy=False)
        tensor.device.transfer.upload(tensor.block.buffer, tensor.offset, stored, idle=idle)


def clear(tensor: Tensor, idle: bool = False) -> None:
    """Sets every byte to zero."""
    tensor.device.check()
    if tensor.block.buffer is not None and _is_plain(tensor):
        tensor.device.transfer.zero(tensor.block.buffer, tensor.offset, tensor.size * tensor.element.nbytes, idle=idle)
    elif tensor.size:
        copy_from_numpy(tensor, np.zeros(tensor.shape + tensor.element.shape, tensor.element.dtype))


def fill(tensor: Tensor, value: Any, idle: bool = False) -> Tensor:
    """`value` in every element.

    Raises:
        RangeError: for a number that the element cannot hold.
    """
    element = tensor.element
    if isinstance(value, (int, float)):
        check_range(value, element.type, str(value), hint="widen dtype")
    else:
        value = as_array(value)
    if tensor.size:
        copy_from_numpy(tensor, np.full(tensor.shape + element.shape, value, element.dtype), idle)
    return tensor


def item(tensor: Tensor) -> Any:
    """The one element of a tensor of size 1."""
    if tensor.size != 1:
        raise ShapeError(f"a tensor of {tensor.size} elements is not one number", saw=tensor.shape, hint="index it, or reduce it")
    return tensor.to_numpy().reshape(tensor.element.shape).tolist()


def number(tensor: Tensor, what: str) -> Any:
    """The one number of a tensor of size 1, where Python wants a number.

    Raises:
        ShapeError: for any other size, and for elements with components.
        TraceError: in a fused function, whose program would keep the number of today.
    """
    check_read(tensor, what)
    if tensor.size != 1 or not tensor.element.scalar:
        raise ShapeError(
            f"{what} of a tensor of {tensor.size} {tensor.dtype}",
            saw=f"shape {tensor.shape}",
            expected="one number",
            hint="ask fp.any(t) or fp.all(t) about it" if what == "the truth" else "index it, or reduce it",
        )
    return item(tensor)


def check_read(tensor: Tensor, what: str) -> None:
    """Raises `TraceError` where a fused function is traced: what is read there would be a constant of its program."""
    from fusepy.trace import current_trace  # which captures tensors

    if current_trace() is not None:
        raise TraceError(
            f"{what} of a tensor that a fused function uses",
            saw=f"{tensor.dtype}{list(tensor.shape)}",
            hint="compute with operators and fusepy's functions, e.g. fp.where, or read it before the call, as t.to_numpy()",
        )


def assign(view: Tensor, value: Any) -> None:
    """Writes a tensor, an array, or a number for each element over the elements of a view."""
    from fusepy.tensor import Tensor  # whose contents these are

    check_read(view, "writing an element")
    if isinstance(value, Tensor):
        if (value.address, value.shape, value.strides) != (view.address, view.shape, view.strides):  # `t[0] += 1` has written
            copy_elements(value.broadcast_to(view.shape), view)
        return
    if PENDING:
        before_write(view)
    if isinstance(value, (int, float)):
        fill(view, value)
    else:
        copy_from_numpy(view, np.broadcast_to(as_array(value), view.shape + view.element.shape))


def copy(tensor: Tensor) -> Tensor:
    """The same contents, contiguous, in memory of their own."""
    made = tensor.empty(tensor.device, tensor.shape, tensor.element)
    copy_elements(tensor, made)
    return made


# One element is so many words: copying needs no kernel for each struct. Sizes are no part of a kernel, so these are few.
_SOURCE = """
uint8_t copy1(uint8_t word) { return word; }
uint16_t copy2(uint16_t word) { return word; }
uint copy4(uint word) { return word; }
"""


def copy_elements(source: Tensor, target: Tensor) -> None:
    """Copies on the device, between any strides.

    Raises:
        ShapeError: if shapes, elements or devices differ, if they share memory, or if `target` repeats elements.
    """
    if source.shape != target.shape or not source.element.same(target.element) or source.device is not target.device:
        raise ShapeError(
            "a tensor can be copied into one of its own shape, type and device only",
            saw=f"{source.dtype}{list(source.shape)} on {source.device.name}",
            expected=f"{target.dtype}{list(target.shape)} on {target.device.name}",
            hint="make the target with Tensor.empty(device, shape, dtype)",
        )
    _check_writable(target)
    if not source.size:
        return
    device = source.device
    module = device.copies
    if module is None:
        from fusepy.module import Module  # a module is made of functions, which take tensors

        module = device.copies = Module.load_from_source(device, "fusepy_copies", _SOURCE)
    size, given, wanted = words(source, target)
    module.find_function(f"copy{size}")(given, _result=wanted)


def _check_writable(tensor: Tensor) -> None:
    if tensor.size and any(n > 1 and not s for n, s in zip(tensor.shape, tensor.strides)):
        raise ShapeError(
            "a broadcast tensor cannot be written to: it repeats elements",
            saw=f"strides {tensor.strides}",
            hint="write to the tensor that was broadcast, or to a copy",
        )


def _is_plain(tensor: Tensor) -> bool:
    """Whether elements lie behind one another; `Tensor.linear` speaks for the gradients as well."""
    return tensor.linear or (tensor.grads is not None and tensor.detach().linear)
