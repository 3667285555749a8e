"""Construction of tensors: the constructor ``Tensor(...)`` takes rows of numbers, an array, another tensor, or a shape."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.memory.contents import copy, copy_from_numpy, fresh, from_array, zeros
from fusepy.backend.memory.element import Element, element_of
from fusepy.backend.memory.foreign_memory import from_dlpack
from fusepy.backend.memory.host_arrays import list_array, list_as
from fusepy.backend.memory.recast import seen_as
from fusepy.backend.memory.storage import Storage
from fusepy.backend.memory.views import as_shape, numbers, reshaped
from fusepy.errors import ArgumentError
from fusepy.ir.types import BOOL, FLOAT

Array = np.ndarray[Any, np.dtype[Any]]
Made = TypeVar("Made", bound=Storage)
C = TypeVar("C")


def on_default_device(*names: str) -> Callable[[type[C]], type[C]]:
    """Decorates a class whose static methods of these names take a device first: they run without one on the default device."""

    def decorate(cls: type[C]) -> type[C]:
        for name in names:
            setattr(cls, name, staticmethod(_device_first(getattr(cls, name))))
        return cls

    return decorate


def _device_first(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def made(*args: Any, device: Any = None, **named: Any) -> Any:
        left_out = not args or isinstance(args[0], (int, tuple, list, np.ndarray, np.generic))
        return method(device, *args, **named) if device is not None or left_out else method(*args, **named)

    return made


def constructed(made: type[Made], given: Sequence[Any], shape: Any, dtype: Any, device: Device) -> Made:
    """Builds a tensor from the arguments of ``Tensor(...)``: rows of numbers, an array, another tensor, or a shape.

    Raises:
        ArgumentError: for anything else, and without arguments.
        ShapeError, UnsupportedArgumentError, RangeError: if the numbers do not form an array of `dtype`.
    """
    while given and given[-1] is None:
        given = given[:-1]
    if not given or (len(given) == 1 and isinstance(given[0], tuple)):
        wanted = cast("Any", given[0] if given else shape)
        extents = cast("list[Any]", np.atleast_1d(wanted).tolist())
        if (given and shape is not None) or not all(map(_is_whole, extents)):
            raise _no_contents(wanted)
        return zeros(made, device, element_of(FLOAT if dtype is None else dtype), as_shape(wanted))
    tensor = _holding(made, given, dtype, device)
    return tensor if shape is None else tensor.seen(reshaped, numbers((shape,)))


def _holding(made: type[Made], given: Sequence[Any], dtype: Any, device: Device) -> Made:
    first: Any = given[0]
    if len(given) == 1 and isinstance(first, made):
        first = copy(first) if first.__class__ is made.of_field else first
        return first.detach() if dtype is None else seen_as(first, element_of(dtype), first.shape)
    if len(given) == 1 and isinstance(first, np.ndarray):
        array, struct = cast("Array", first), None if dtype is None else element_of(dtype)
        if struct is not None and struct.dtype.names is not None and array.dtype.names is None:
            return _structs(made, array, struct, device)
        return from_array(made, device, array, dtype)
    if len(given) == 1 and hasattr(first, "__dlpack__"):
        return from_dlpack(made, device, first, dtype)
    if not all(isinstance(row, list) for row in given):
        raise _no_contents(next(row for row in given if not isinstance(row, list)))
    rows = cast("list[Any]", first if len(given) == 1 else list(given))
    array = list_array(rows)
    element = element_of((BOOL if array.dtype.kind == "b" else FLOAT) if dtype is None else dtype)
    if element.type.scalar is None:
        return _structs(made, array, element, device)
    return from_array(made, device, list_as(rows, element, "Tensor()"), element)


def _structs(made: type[Made], array: Array, element: Element, device: Device) -> Made:
    """Builds structs from rows of plain numbers; the last axis holds the numbers of one struct."""
    tensor, idle = fresh(made, device, element, array.shape[:-1])
    copy_from_numpy(tensor, array.astype(np.dtype(element.dtype[0].base)), idle)
    return tensor


def _is_whole(number: object) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)


def _no_contents(saw: object) -> ArgumentError:
    return ArgumentError(
        "Tensor() takes lists of numbers, an array, another tensor, or a shape as a tuple",
        saw="nothing" if saw is None else repr(saw)[:60],
        hint="write Tensor([1, 2, 3]), Tensor([1, 2], [3, 4]), Tensor((4, 5)) or Tensor(shape=(4, 5), dtype=m.float3)",
    )
