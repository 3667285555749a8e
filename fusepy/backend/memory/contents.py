"""Contents of tensors: upload, download, fill and copy. Non-contiguous tensors are copied on the device."""

from __future__ import annotations

import math
from typing import Any, TypeVar, cast

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.device.recorder import Written
from fusepy.backend.device.sink import Sink, sink_on
from fusepy.backend.device.strided_copy import Side
from fusepy.backend.memory.element import Element, scalar_type
from fusepy.backend.memory.host_arrays import as_array, full, list_as
from fusepy.backend.memory.pending import PENDING, before_write
from fusepy.backend.memory.recast import element_in
from fusepy.backend.memory.storage import Storage, overlap
from fusepy.backend.memory.structs import as_structs
from fusepy.backend.memory.views import broadcast
from fusepy.errors import ShapeError, TraceError, UnsupportedArgumentError
from fusepy.ir.ranges import check_fits, check_whole
from fusepy.ir.strides import contiguous_strides
from fusepy.symbolic import TRACING

Array = np.ndarray[Any, np.dtype[Any]]
Made = TypeVar("Made", bound=Storage)


def to_numpy(tensor: Storage) -> Array:
    """Returns a copy of the contents as an array."""
    device, element = tensor.device, tensor.element
    if device.lost is not None:
        device.check()
    if tensor.size == 0:
        return np.empty(tensor.shape + element.shape, element.dtype)
    buffer = tensor.block.buffer
    if buffer is None:
        made = tensor.alike(element)
        _copy(tensor, made)
        return to_numpy(made)
    base, shape = tensor.address - tensor.low, tensor.shape + element.shape
    data = device.transfer.download(buffer, tensor.byte_offset - base, tensor.high - tensor.low)
    if tensor.shape and not _is_plain(tensor):
        steps = (*tensor.steps, *(s * element.stored.itemsize for s in contiguous_strides(element.shape)))
        view: Array = np.ndarray(shape, element.stored, data, base, steps)
        return _as_bools(view, element.dtype) if element.stored != element.dtype else np.copy(view)
    view = np.frombuffer(data, element.stored).reshape(shape)
    return _as_bools(view, element.dtype) if element.stored != element.dtype else view


def _as_bools(stored: Array, dtype: np.dtype[Any]) -> Array:
    """Converts stored integers to bools. Returns an array also without axes, where ``!=`` would give a scalar."""
    bools: Array = np.empty(stored.shape, dtype)
    np.not_equal(stored, 0, out=bools)
    return bools


def fresh(made: type[Made], device: Device, element: Element, shape: tuple[int, ...]) -> tuple[Made, bool]:
    """Allocates a tensor for the host to fill. Also returns true if no queued work uses its memory: it can be written at once."""
    block = None
    if device.transfer.host_addressable:
        block = device.pool.allocate_idle(math.prod(shape) * element.nbytes)
    return made(device, element, shape, block=block), block is not None


def zeros(made: type[Made], device: Device, element: Element, shape: tuple[int, ...]) -> Made:
    """Returns a tensor of zeros."""
    tensor, idle = fresh(made, device, element, shape)
    clear(tensor, idle)
    return tensor


def from_array(made: type[Made], device: Device, array: Any, dtype: Any = None) -> Made:
    """Returns a copy of an array as a tensor; see `Tensor.from_numpy`."""
    array = as_array(array)
    element, shape = element_in(array.shape, scalar_type(array.dtype) if dtype is None else dtype)
    tensor, idle = fresh(made, device, element, shape)
    copy_from_numpy(tensor, array, idle)
    return tensor


def copy_from_numpy(tensor: Storage, array: Array, idle: bool = False) -> None:
    """Overwrites the contents. A tensor of structs also takes plain numbers, those of one struct after the other.

    Args:
        idle: true if no queued work uses the memory.

    Raises:
        ShapeError: unless the array's shape is the tensor's shape and then the components, up to axes of extent 1, or the array
            has these numbers along one axis; and if the tensor repeats elements.
        UnsupportedArgumentError: for another dtype.
    """
    tensor.device.check()
    element = tensor.element
    array = as_array(array)
    if element.dtype.names is not None and array.dtype.names is None:
        array = as_structs(np.ravel(array), element)
        array = array.reshape(tensor.shape) if array.size == tensor.size else array
    wanted = tensor.shape + element.shape
    if array.shape != wanted and (array.shape == (math.prod(wanted),) or _without_ones(array.shape) == _without_ones(wanted)):
        array = array.reshape(wanted)
    if array.shape != wanted:
        larger = "Numpy array is larger" if array.size > math.prod(wanted) else "its shape does not match"
        raise ShapeError(f"copy_from_numpy: {larger}", saw=array.shape, expected=wanted, hint="reshape the array")
    if array.dtype != element.dtype:
        if array.dtype.names is None or array.dtype.names != element.dtype.names:
            plain = element.dtype.names is None
            raise UnsupportedArgumentError(
                f"an array of {array.dtype} does not match a tensor of {element.type}",
                saw=array.dtype,
                expected=element.dtype,
                hint=f"convert it with .astype(np.{element.dtype})" if plain else "use the dtype of the struct",
            )
        array = array.astype(element.dtype)
    if tensor.block.buffer is None or not _is_plain(tensor):
        _check_writable(tensor)
        staged = tensor.alike(tensor.element)
        copy_from_numpy(staged, array)
        _copy(staged, tensor)
    else:
        _upload(tensor, array, idle)


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _upload(tensor: Storage, array: Array, idle: bool) -> None:
    """Writes an array of the tensor's shape and dtype into a contiguous tensor."""
    buffer = tensor.block.buffer
    assert buffer is not None
    stored = np.ascontiguousarray(array).astype(tensor.element.stored, copy=False)
    tensor.device.transfer.upload(buffer, tensor.byte_offset, stored, idle=idle)


def from_scalars(made: type[Made], device: Device, array: Array, element: Element) -> Made:
    """Uploads an argument of a call: `from_array` without checks, for a plain array of `element`'s dtype and a device in use."""
    tensor, idle = fresh(made, device, element, array.shape)
    _upload(tensor, array, idle)
    return tensor


def clear(tensor: Storage, idle: bool = False) -> None:
    """Sets every byte to zero."""
    tensor.device.check()
    if tensor.block.buffer is not None and _is_plain(tensor):
        tensor.device.transfer.zero(tensor.block.buffer, tensor.byte_offset, tensor.size * tensor.element.nbytes, idle=idle)
    elif tensor.size:
        copy_from_numpy(tensor, np.zeros(tensor.shape + tensor.element.shape, tensor.element.dtype))


def fill(tensor: Made, value: Any, idle: bool = False) -> Made:
    """Writes `value` into every element.

    Raises:
        RangeError: if the element cannot hold the number.
        ArgumentError: for a value that is no element.
    """
    element = tensor.element
    if isinstance(value, (int, float)):
        check_fits(value, element.type, str(value), hint="widen dtype")
    elif value is not None:
        value = as_array(value)
    filled = full(tensor.shape, value, element)
    if tensor.size:
        copy_from_numpy(tensor, filled, idle)
    return tensor


def item(tensor: Storage) -> Any:
    """Returns the element of a tensor of size 1."""
    if tensor.size != 1:
        raise ShapeError(f"a tensor of {tensor.size} elements is not one number", saw=tensor.shape, hint="index it, or reduce it")
    device, element, buffer = tensor.device, tensor.element, tensor.block.buffer
    if buffer is None:
        return to_numpy(tensor).reshape(element.shape).tolist()
    if device.lost is not None:
        device.check()
    stored = np.frombuffer(device.transfer.read(buffer, tensor.byte_offset, element.nbytes), element.stored)
    if element.scalar and element.stored is element.dtype:
        return stored.item()
    stored = stored.reshape(element.shape)
    return (_as_bools(stored, element.dtype) if element.stored != element.dtype else stored).tolist()


def number(tensor: Storage, what: str) -> Any:
    """Returns the number in a tensor of size 1, for Python's conversions such as ``float()``.

    Raises:
        ShapeError: for any other size, and if the element has components.
        TraceError: while a fused function is traced: the number would become a constant of its program.
    """
    check_read(tensor, what)
    if tensor.size != 1 or not tensor.element.scalar:
        raise ShapeError(
            f"{what} of a tensor of {tensor.size} {tensor.dtype}",
            saw=f"shape {tensor.shape}",
            expected="one number",
            hint="write fp.any(t) or fp.all(t)" if what == "the truth" else "index it, or reduce it",
        )
    return item(tensor)


def check_read(tensor: Storage, what: str) -> None:
    """Raises `TraceError` while a fused function is traced: a number that is read becomes a constant of its program."""
    if TRACING.get() is not None:
        raise TraceError(
            f"{what} of a tensor that a fused function uses",
            saw=f"{tensor.dtype}{list(tensor.shape)}",
            hint="compute with operators and fusepy's functions, e.g. fp.where, or read it before the call, as t.to_numpy()",
        )


def assign(view: Storage, value: Any) -> None:
    """Overwrites the elements of a view with a tensor, an array, or a number."""
    check_read(view, "writing an element")
    if isinstance(value, Storage):
        if (value.address, value.shape, value.steps) != (view.address, view.shape, view.steps):  # `t[0] += 1` has written
            copy_elements(value.seen(broadcast, view.shape), view)
        return
    if PENDING:
        before_write(view)
    if isinstance(value, (int, float)):
        check_whole(value, view.element.type)
        fill(view, value)
        return
    if isinstance(value, (list, tuple)) and view.element.type.is_numeric:
        value = list_as(cast("list[Any]", value), view.element, "a list for a tensor")
    array, wanted = as_array(value), view.shape + view.element.shape
    try:
        array = np.broadcast_to(array, wanted)
    except ValueError:
        hint = "give as many elements, or one for all"
        raise ShapeError("the elements do not fit those that are written", saw=array.shape, expected=wanted, hint=hint) from None
    copy_from_numpy(view, array)


def copy(tensor: Made) -> Made:
    """Returns a contiguous copy in new memory."""
    check_read(tensor, "a copy")
    made = tensor.alike(tensor.element)
    _copy(tensor, made)
    made.stand_for(tensor.as_numbers)
    return made


def copy_elements(source: Storage, target: Storage, sink: Sink | None = None) -> None:
    """Copies elements on the device, between any strides, into the device's queue or another sink.

    Raises:
        ShapeError: if shapes, elements or devices differ, if they share memory, or if `target` repeats elements.
        TraceError: while a fused function is traced: its program would not contain the copy.
    """
    if source.shape != target.shape or not source.element.same(target.element) or source.device is not target.device:
        raise ShapeError(
            "a tensor can be copied into one of its own shape, type and device only",
            saw=f"{source.dtype}{list(source.shape)} on {source.device.opened}",
            expected=f"{target.dtype}{list(target.shape)} on {target.device.opened}",
            hint="make the target with Tensor.empty(device, shape, dtype)",
        )
    _check_writable(target)
    check_read(source, "a copy")
    _copy(source, target, sink)


def _copy(source: Storage, target: Storage, sink: Sink | None = None) -> None:
    if not source.size:
        return
    sides = [Side(t.address, t.low, t.steps) for t in (source, target)]
    if sides[0] == sides[1]:
        return
    if overlap(source, target):
        raise ShapeError(
            "the target of a copy overlaps its source",
            saw="elements that are read and written at different places",
            hint="copy the source first: target.copy_from(source.copy())",
        )
    if PENDING:
        before_write(target)
    device = source.device
    device.check()
    with device.lock:
        into = sink_on(device) if sink is None else sink
        device.copies.record(into, source.shape, source.element.nbytes, *sides)
        into.keep(source, Written((target,)))


def _check_writable(tensor: Storage) -> None:
    if tensor.size and any(n > 1 and not s for n, s in zip(tensor.shape, tensor.steps)):
        raise ShapeError(
            "a broadcast tensor cannot be written to: it repeats elements",
            saw=f"strides of {tensor.steps} bytes",
            hint="write to the tensor that was broadcast, or to a copy",
        )


def _is_plain(tensor: Storage) -> bool:
    """True if the elements are contiguous; `Tensor.linear` covers the gradients as well."""
    return tensor.linear or (tensor.grads is not None and tensor.detach().linear)
