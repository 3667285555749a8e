"""Arrays of structs over arrays of numbers: the same memory, read as elements of a Slang struct."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast

import numpy as np

from fusepy.backend.memory.element import Element, scalar_type
from fusepy.backend.memory.host_arrays import as_array
from fusepy.backend.memory.storage import Storage
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.narrowing import DEFAULTS, is_narrower
from fusepy.ir.ranges import as_narrower
from fusepy.ir.strides import contiguous_strides
from fusepy.ir.types import Kind

Array = np.ndarray[Any, np.dtype[Any]]
Made = TypeVar("Made", bound=Storage)


def as_structs(value: Any, element: Element) -> Any:
    """Returns an array, list or `Tensor` of numbers as elements of the struct `element`, without a copy if the memory allows it.

    The numbers of one struct may fill one trailing axis, ``(N, 6)``, several, ``(N, 2, 3)``, or a part of one, ``(N*6,)``.

    Raises:
        UnsupportedArgumentError: if the struct does not consist of such numbers only, or the extents do not fit.
    """
    if isinstance(value, Storage):
        return value if value.element.same(element) else _of_tensor(value, element)
    array = as_array(value, None if isinstance(value, np.ndarray) else _scalar(element) or None)
    if array.dtype == element.dtype:
        return array.view(element.dtype)
    made = _of_array(_narrowed(array, element), element)
    if array.dtype in _DEFAULTS and not np.may_share_memory(made, array):
        made.flags.writeable = False  # writes to a converted copy would be lost
    return made


def struct_rank(value: Any, element: Element) -> int:
    """Returns the number of axes of `as_structs`. It follows from the extents.

    Raises:
        UnsupportedArgumentError: if the extents do not fit.
    """
    if isinstance(value, Storage):
        shape, own, nbytes = value.shape, value.element.same(element), value.element.nbytes
    else:
        scalar = _scalar(element)
        shape, own = np.shape(value), scalar is None or getattr(value, "dtype", None) == element.dtype
        nbytes = 0 if scalar is None else scalar.itemsize
    if own:
        return len(shape)
    cut, count = _split(value, shape, nbytes, element)
    return len(shape) - cut + (count is not None)


def holds_structs(value: Any) -> bool:
    """True if `as_structs` takes the value."""
    return isinstance(value, (Storage, np.ndarray, list))


def holds_numbers(value: Any) -> bool:
    """True if the value is an array, list or tensor of numbers."""
    if isinstance(value, Storage):
        return value.dtype.kind is not Kind.NAMED
    if isinstance(value, np.ndarray):
        return cast("Array", value).dtype.names is None
    first = cast("list[Any]", value)[0] if isinstance(value, list) and value else None
    return holds_numbers(first) if isinstance(first, list) else isinstance(first, (int, float))


_DEFAULTS = tuple(type.dtype for type in DEFAULTS)


def _narrowed(array: Array, element: Element) -> Array:
    """Converts an array of one of NumPy's default dtypes to the smaller dtype of the struct's members."""
    scalar = _scalar(element)
    if scalar is None or scalar == array.dtype or array.dtype not in _DEFAULTS:
        return array
    have, want = scalar_type(array.dtype), scalar_type(scalar)
    return as_narrower(array, scalar, want) if is_narrower(want, have) else array


@dataclass(frozen=True)
class ArgumentView:
    """A conversion of an argument of a fused function. Every call applies it to its own argument.

    Attributes:
        place: the graph input of the argument.
    """

    place: int

    def of(self, value: Any) -> Any:
        """Returns the converted argument."""
        raise NotImplementedError

    def within(self, given: Callable[[int], Any]) -> Any:
        """Returns the converted argument of a call, where ``given(place)`` is the argument of a graph input."""
        return self.of(given(self.place))


@dataclass(frozen=True)
class StructView(ArgumentView):
    """A conversion of an argument to structs. Every call applies it to its own array.

    Attributes:
        rank: the number of axes of structs. It follows from the extents of an array, and they are not part of a program.
    """

    element: Element
    rank: int

    def of(self, value: Any) -> Any:
        """Returns the argument as structs."""
        return as_structs(value, self.element)


def _of_tensor(tensor: Made, element: Element) -> Made:
    scalar = tensor.dtype.scalar
    _check_packed(scalar.dtype if scalar is not None else None, element, f"a tensor of {tensor.dtype}")
    cut, count = _split(tensor, tensor.shape, tensor.element.nbytes, element)
    if tensor.strides[len(tensor.shape) - cut :] != contiguous_strides(tensor.shape[len(tensor.shape) - cut :]):
        raise UnsupportedArgumentError(
            f"the numbers of one {element.type} are not contiguous", saw=f"strides {tensor.strides}", hint="copy the view first"
        )
    kept = len(tensor.shape) - cut
    factor = element.nbytes // tensor.element.nbytes
    strides = tensor.strides[:kept]
    if factor == 0 or any(s % factor for s in strides):
        raise UnsupportedArgumentError(
            f"the stride of the rows is no multiple of {element.type}",
            saw=f"strides {tensor.strides}",
            hint="copy the view first",
        )
    return tensor.viewed(
        element,
        tensor.shape[:kept] + ((count,) if count is not None else ()),
        tuple(s // factor for s in strides) + ((1,) if count is not None else ()),
    )


def _of_array(array: Array, element: Element) -> Array:
    _check_packed(array.dtype, element, f"an array of {array.dtype}")
    cut, count = _split(array, array.shape, array.itemsize, element)
    batch = array.shape[: array.ndim - cut]
    flat = np.reshape(array, (*batch, math.prod(array.shape[array.ndim - cut :])))  # NumPy finds no -1 among zero elements
    copied = not np.may_share_memory(flat, array)
    flat = np.ascontiguousarray(flat) if flat.size and flat.strides[-1] != array.itemsize else flat
    made = flat.view(element.dtype)
    made = made if count is not None else made[..., 0]
    if copied or not np.may_share_memory(made, array):
        made.flags.writeable = False  # writes to a copy would be lost
    return made


def _split(value: Any, shape: tuple[int, ...], nbytes: int, element: Element) -> tuple[int, int | None]:
    """Returns the number of trailing axes that structs take, and the number of structs on the last one if it holds several."""
    found = _taken(shape, nbytes, element.nbytes)
    if found is not None:
        return found
    what = f"a tensor of {value.dtype}{list(shape)}" if isinstance(value, Storage) else f"an array of shape {shape}"
    raise UnsupportedArgumentError(
        f"{what} does not hold {element.type}",
        saw=f"{math.prod(shape)} elements of {nbytes} bytes",
        expected=f"trailing axes of {element.nbytes // max(nbytes, 1)} elements, or a multiple of them",
        hint="reshape it to (…, components of one struct)",
    )


@lru_cache(maxsize=1024)
def _taken(shape: tuple[int, ...], nbytes: int, unit: int) -> tuple[int, int | None] | None:
    taken = nbytes
    for cut in range(len(shape) + 1):
        if taken == unit:
            return cut, None
        if cut < len(shape):
            taken *= shape[-1 - cut]
    return (1, shape[-1] * nbytes // unit) if shape and shape[-1] * nbytes % unit == 0 else None


def _check_packed(dtype: np.dtype[Any] | None, element: Element, what: str) -> None:
    scalar = _scalar(element)
    if scalar is None or scalar != dtype:
        holds = f"members of type {scalar}, one behind the other" if scalar else "members of several types, or gaps between them"
        raise UnsupportedArgumentError(
            f"{what} cannot be read as {element.type}",
            saw=dtype,
            expected=f"{element.type} has {holds}",
            hint="convert the array with .astype" if scalar else "pass a structured array with dtype=m.Name.dtype",
        )


@lru_cache(maxsize=256)
def _scalar(element: Element) -> np.dtype[Any] | None:
    """Returns the scalar dtype that a struct consists of without gaps, or None."""
    found: set[np.dtype[Any]] = set()
    size = _leaves(element.dtype, found)
    return found.pop() if len(found) == 1 and size == element.nbytes else None


def _leaves(dtype: np.dtype[Any], found: set[np.dtype[Any]]) -> int:
    """Collects the scalar dtypes of a dtype and returns the number of bytes that they take."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return _leaves(base, found) * math.prod(shape)
    if dtype.fields is None:
        found.add(dtype)
        return dtype.itemsize
    return sum(_leaves(field[0], found) for field in dtype.fields.values())
