"""New arrays: zeros, ones, ranges. Outside of a trace they are tensors; in a trace they have no memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import Mapped
from fusepy.backend.device.open import default_device
from fusepy.backend.memory.element import element_of
from fusepy.backend.memory.host_arrays import list_array, lists_values, refuse_loss
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.views import as_shape
from fusepy.errors import ArgumentError
from fusepy.ir.ranges import check_fits
from fusepy.ir.types import BOOL, FLOAT, INT, Kind, Type
from fusepy.language.elementwise import composed
from fusepy.language.generators import grid
from fusepy.language.math import where
from fusepy.language.movement.graph_calls import node_of_values
from fusepy.language.movement.joins import stacked
from fusepy.language.movement.views import Extents
from fusepy.symbolic import Symbolic, misplaced
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced
from fusepy.trace.writes.aliases import fresh, viewed
from fusepy.vocabulary.arithmetic import traced, typed

__all__ = ["array", "asarray", "empty", "eye", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"]


def device_of(device: Any, name: str) -> Any:
    """Returns the device of a new tensor; ``None`` in a trace.

    Raises:
        ArgumentError: for a device in a trace, which has one.
    """
    if current_trace() is None:
        return device or default_device()
    if device is not None:
        raise ArgumentError(f"{name}(device=…) in a fused function", hint="leave out device: the call has one")
    return None


def coordinates(extents: Sequence[int]) -> list[Any]:
    """Returns the index along each axis of an array of these extents, in a trace: values over all of its elements."""
    at = grid(tuple(extents))
    return [at] if len(extents) == 1 else [at[len(extents) - 1 - axis] for axis in range(len(extents))]


def _spread(value: Any, extents: Sequence[int]) -> Any:
    """Returns an array of these extents with one value everywhere, in a trace."""
    return where(coordinates(extents)[0] >= 0, value, value) if extents else value


def zeros(shape: Extents, dtype: Any = "float", device: Any = None) -> Any:
    """Returns a tensor of zeros on the default device, or on `device`. In a fused function it is a constant without memory.

    Args:
        shape: extents, slowest first; one number for one axis. In a fused function at most 4.
        dtype: a Slang type or its name, a NumPy dtype, or Python's ``float``, ``int`` or ``bool``.

    Raises:
        ShapeError: for a negative extent.

    Example:
        >>> import fusepy as fp
        >>> fp.zeros((2, 3)).tolist(), fp.fuse(lambda x: x + fp.ones(3))(1.0).tolist()
        ([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [2.0, 2.0, 2.0])
    """
    device = device_of(device, "zeros")
    return Tensor.zeros(device, shape, dtype) if device else _spread(typed(0, dtype), as_shape(shape))


def ones(shape: Extents, dtype: Any = "float", device: Any = None) -> Any:
    """Returns a tensor of ones; see `zeros`."""
    return full(shape, 1, dtype, device)


def empty(shape: Extents, dtype: Any = "float", device: Any = None) -> Any:
    """Returns a tensor with arbitrary contents, in a fused function zeros; see `zeros`."""
    device = device_of(device, "empty")
    return Tensor.empty(device, shape, dtype) if device else zeros(shape, dtype)


@node_of_values
def full(shape: Extents, value: Any, dtype: Any = None, device: Any = None) -> Any:
    """Returns a tensor with `value` in every element; see `zeros`.

    Args:
        value: a number, or one per component of `dtype`; in a fused function also a traced value without axes.
        dtype: by default the type of `value`: a Python float is a ``float``, an integer an ``int``.

    Example:
        >>> import fusepy as fp
        >>> fp.full(3, 7).tolist(), fp.full((), 2.5).tolist()
        ([7, 7, 7], 2.5)
    """
    device = device_of(device, "full")
    if device is None:
        return _spread(_contents(value, dtype), as_shape(shape))
    return Tensor.full(device, shape, value, _type_of(value) if dtype is None else dtype)


def _type_of(value: Any) -> Any:
    """Returns the element type of numbers: 32 bits for Python's and single ones of NumPy, else that of the array."""
    if isinstance(value, Symbolic):
        raise misplaced(value)
    given = None if issubclass(value.__class__, np.generic) else getattr(value, "dtype", None)
    return {"b": bool, "f": float}.get(list_array(value).dtype.kind, int) if given is None else given


@composed("type")
def _like(x: Any, value: Any, type: Type | None) -> Any:
    x = traced(x)
    made = typed(value, x.type if type is None else type)
    if not x.rank:
        return made
    at = grid(x)
    return where((at if x.rank == 1 else at.x) >= 0, made, made)


def zeros_like(x: Any, dtype: Any = None) -> Any:
    """Returns zeros of the extents of `x`, and of its type unless `dtype` says another. `x` is not read."""
    return _like(x, 0, None if dtype is None else element_of(dtype).type)


def ones_like(x: Any, dtype: Any = None) -> Any:
    """Returns ones of the extents of `x`; see `zeros_like`."""
    return _like(x, 1, None if dtype is None else element_of(dtype).type)


def full_like(x: Any, value: Any, dtype: Any = None) -> Any:
    """Returns `value`, a number or a traced one, in every element, with the extents of `x`; see `zeros_like`."""
    return _like(x, value, None if dtype is None else element_of(dtype).type)


def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = "float", device: Any = None) -> Any:
    """Returns a matrix with ones on its `k`-th diagonal and zeros elsewhere, of `n` rows and `m` columns; see `zeros`.

    Example:
        >>> import fusepy as fp
        >>> fp.eye(2, dtype=int).tolist()
        [[1, 0], [0, 1]]
    """
    device = device_of(device, "eye")
    columns = n if m is None else m
    if device:
        element = element_of(dtype)
        return Tensor.from_numpy(device, np.eye(n, columns, k, dtype=element.dtype), element)
    row, column = coordinates((n, columns))
    return typed(column - row == k, dtype)


def _contents(x: Any, dtype: Any = None) -> Any:
    """Returns the contents of a tensor that a trace makes: numbers and lists have 32 bits, as eagerly, and are checked."""
    x = traced(x)
    own = x.type
    if x.is_weak and own.kind is Kind.SCALAR and own is not BOOL:
        own = FLOAT if own.is_float else INT
    return x if dtype is None and not x.is_weak else typed(x, own if dtype is None else dtype)


def _typed_items(x: Any, scalar: Any) -> Any:
    """Returns nested lists with each number and value in them converted by itself: the array of a list of numbers has 32 bits."""
    if isinstance(x, (list, tuple)):
        return [_typed_items(item, scalar) for item in cast("Sequence[Any]", x)]
    return typed(x, scalar)


@node_of_values
def asarray(x: Any, dtype: Any = None, device: Any = None) -> Any:
    """Returns `x` as a tensor; a tensor as it is, and in a fused function a traced value, unless `dtype` is another one.

    Args:
        x: a tensor, an array, a number, or lists of numbers, which have 32 bits: they are ``int`` or ``float``.
        dtype: the type to convert to; see `astype`. Numbers must fit it.

    Raises:
        RangeError: for a number that does not fit.

    Example:
        >>> import fusepy as fp
        >>> fp.asarray([1, 2.5]).tolist(), str(fp.asarray(3).dtype)
        ([1.0, 2.5], 'int')
    """
    target = device_of(device, "asarray")
    if target is None and dtype is not None and isinstance(x, (list, tuple)) and lists_values(cast("Any", x)):
        x = _typed_items(x, element_of(dtype).type.scalar or dtype)
    x = stacked(x)
    if target is None:
        cast("Any", current_trace()).moves.tensors = True
        made = _contents(x, dtype)
        return viewed(x, made) if isinstance(x, Traced) and made.type is x.type else made
    if isinstance(x, Symbolic):
        raise misplaced(x)
    held: Any = getattr(x, "element", None)  # of a tensor
    if held is not None and device is None:
        return x if dtype is None or element_of(dtype).same(held) else typed(x, dtype)
    if isinstance(x, Mapped):
        return asarray(+cast("Any", x), dtype, device)
    refuse_loss(x)
    if hasattr(x, "dtype") and not isinstance(x, np.generic):
        made = Tensor.from_numpy(target, np.asarray(x), held)
    else:  # numbers
        numbers, element = list_array(cast("Any", x)), element_of(_type_of(x) if dtype is None else dtype)
        scalar = element.type.scalar or FLOAT  # no struct is made of numbers
        check_fits(numbers, scalar, "a number", hint="widen dtype")
        made = Tensor.from_numpy(target, numbers.astype(scalar.dtype))
    return made if dtype is None or element_of(dtype).same(made.element) else typed(made, dtype)


def array(x: Any, dtype: Any = None, device: Any = None) -> Any:
    """Returns a new tensor with the contents of `x`; see `asarray`."""
    made = asarray(x, dtype, device)
    if isinstance(made, Traced):
        return fresh(made)
    return made.copy() if made is x and not isinstance(made, Symbolic) else made
