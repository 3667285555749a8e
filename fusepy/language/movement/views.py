"""Views of arrays under NumPy's names.

Inside a fused function they are recorded as strides, and no kernel runs for them. Outside of one, a view of a tensor or NumPy
array shares its memory; of a torch tensor it is a new one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.marshals.registry import host_array, kind_of_class
from fusepy.backend.memory.host_arrays import lists_values
from fusepy.backend.memory.storage import Storage
from fusepy.backend.memory.views import integers, numbers
from fusepy.errors import ShapeError
from fusepy.language.movement.extents import fused, ndim, seen, shape, trace_of
from fusepy.language.movement.graph_calls import called, node_of_values, of_parts, pieces
from fusepy.location import user_line
from fusepy.trace.moves.arguments import axes_order, one_axis, several_axes, squeezed
from fusepy.trace.moves.record import moved
from fusepy.trace.moves.shapes import shape_of
from fusepy.trace.moves.steps import ALL, Broadcast, Indexed, Permuted, Reshaped, Run, Shape, ViewStep
from fusepy.trace.trace import Trace, current_trace
from fusepy.trace.traced import Traced
from fusepy.trace.writes.aliases import viewed

__all__ = ["broadcast_to", "expand_dims", "flip", "moveaxis", "ravel", "reshape", "split", "squeeze", "swapaxes", "transpose"]

Extents = int | Sequence[int]
Making = Callable[[int, Callable[[], Shape]], "ViewStep | None"]


def _viewed(name: str, x: Any, make: Making) -> Any:
    """Returns a view of `x`; `make` gets its rank, and a function that returns its shape."""
    trace = current_trace()
    listed = isinstance(x, (list, tuple) if trace is not None else tuple) and not lists_values(x)
    of_host = listed or (_is_numpys(x, trace) and host_array(x) is not None and not isinstance(x, np.generic))
    if trace is not None and not of_host and not isinstance(x, Traced):
        x = trace.captured(x, "captured")
    if isinstance(x, Traced):
        trace = trace_of(x)
        value = seen(trace, x)
        step = make(value.rank, lambda: shape_of(trace, value))
        return x if step is None else viewed(x, Traced(trace, moved(trace, value, step), user_line()))
    if of_host or isinstance(x, Storage):
        array: Any = x if isinstance(x, Storage) else np.asarray(cast("Any", x))
        step = make(len(array.shape), lambda: tuple(array.shape))
        made = array if step is None else step.of(array)
        if trace is None or isinstance(x, (Storage, list, tuple)) or np.may_share_memory(made, array):
            return made.tolist() if isinstance(x, (list, tuple)) else made
        return _viewed(name, trace.captured(x, "captured"), make)  # a copy here would hide what is written between two calls

    def of_traced(y: Any) -> Any:
        return _viewed(name, y, make)

    return called(fused(name, of_traced), name, x)


def _is_numpys(x: Any, trace: Trace | None) -> bool:
    """False for a tensor of a framework with autograd, which sees what calls do; in a trace for one that requires gradients."""
    kind = kind_of_class(x.__class__)
    return kind is None or kind.tracked is None or (trace is not None and not x.requires_grad)


def reshape(x: Any, shape: Extents, *more: int) -> Any:
    """Returns the elements of `x` in C order, in other extents: a tuple, or one by one. One may be -1.

    Raises:
        ShapeError: if these are not as many elements.

    Example:
        >>> import fusepy as fp
        >>> fp.reshape([1.0, 2.0, 3.0, 4.0], (2, -1))
        [[1.0, 2.0], [3.0, 4.0]]
    """
    wanted = numbers((shape, *more))
    return _viewed("reshape", x, lambda rank, _: Reshaped(rank, wanted))


def ravel(x: Any) -> Any:
    """Returns the elements of `x` in C order along one axis."""
    return _viewed("ravel", x, lambda rank, _: Reshaped(rank, (-1,)) if rank != 1 else None)


def flatten(x: Any) -> Any:
    """Returns the elements of `x` in C order along one axis; of a tensor or NumPy array a copy."""
    copied: Any = x
    return ravel(copied.copy() if isinstance(x, (Storage, Traced)) or host_array(x) is not None else x)


def transpose(x: Any, axes: Sequence[int] | None = None) -> Any:
    """Returns `x` with its axes in another order, by default the opposite one.

    Raises:
        ShapeError: unless each axis is named once.

    Example:
        >>> import fusepy as fp
        >>> fp.transpose([[1.0, 2.0], [3.0, 4.0]])
        [[1.0, 3.0], [2.0, 4.0]]
    """
    return _viewed("transpose", x, lambda rank, _: _permuted(axes_order(() if axes is None else (axes,), rank)))


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Returns `x` with two axes exchanged."""

    def make(rank: int, _: Any) -> ViewStep | None:
        order = list(range(rank))
        a, b = one_axis(axis1, rank, "swapaxes"), one_axis(axis2, rank, "swapaxes")
        order[a], order[b] = order[b], order[a]
        return _permuted(order)

    return _viewed("swapaxes", x, make)


def moveaxis(x: Any, source: Extents, destination: Extents) -> Any:
    """Returns `x` with some axes at other places; the others keep their order.

    Example:
        >>> import fusepy as fp, numpy as np
        >>> fp.moveaxis(np.zeros((4, 6, 3)), -1, 0).shape
        (3, 4, 6)
    """

    def make(rank: int, _: Any) -> ViewStep | None:
        taken, to = several_axes(source, rank, "moveaxis"), several_axes(destination, rank, "moveaxis")
        if len(taken) != len(to):
            raise ShapeError("moveaxis() of other numbers of axes", saw=(source, destination), hint="pair them")
        order = [a for a in range(rank) if a not in taken]
        for place, a in sorted(zip(to, taken)):
            order.insert(place, a)
        return _permuted(order)

    return _viewed("moveaxis", x, make)


def _permuted(order: Sequence[int]) -> ViewStep | None:
    return Permuted(len(order), tuple(order)) if list(order) != list(range(len(order))) else None


def expand_dims(x: Any, axis: Extents) -> Any:
    """Returns `x` with new axes of extent 1 at these places of the result; ``x[..., None]`` adds one at the end."""

    def make(rank: int, _: Any) -> ViewStep:
        count = len(axis) if isinstance(axis, Sequence) else 1
        new = several_axes(axis, rank + count, "expand_dims")
        return Indexed(rank, tuple(None if d in new else ALL for d in range(rank + count)))

    return _viewed("expand_dims", x, make)


def squeeze(x: Any, axis: Extents | None = None) -> Any:
    """Returns `x` without axes of extent 1: all of them, or those that are named.

    Raises:
        ShapeError: if a named axis has another extent.
    """
    return _viewed("squeeze", x, lambda rank, shape: squeezed(shape() if axis is None else None, rank, axis))


def flip(x: Any, axis: Extents | None = None) -> Any:
    """Returns `x` backwards along some axes, by default along all.

    Example:
        >>> import fusepy as fp
        >>> fp.flip([[1.0, 2.0], [3.0, 4.0]], axis=1)
        [[2.0, 1.0], [4.0, 3.0]]
    """

    def make(rank: int, _: Any) -> ViewStep | None:
        turned = range(rank) if axis is None else several_axes(axis, rank, "flip")
        return Indexed(rank, tuple(Run(None, None, -1) if d in turned else ALL for d in range(rank))) if turned else None

    return _viewed("flip", x, make)


def broadcast_to(x: Any, shape: Extents) -> Any:
    """Returns `x` repeated along axes of extent 1 and new leading axes, by strides of 0.

    Raises:
        ShapeError: if `x` does not broadcast to `shape`.
    """
    wanted = numbers((shape,))
    return _viewed("broadcast_to", x, lambda rank, _: Broadcast(rank, wanted))


@of_parts(pieces, list)
@node_of_values
def split(x: Any, parts: Extents, axis: int = 0) -> list[Any]:
    """Returns `x` in pieces along an axis: a number of equal ones, or those between some indices. They are views.

    Raises:
        ShapeError: if the axis does not divide into so many.

    Example:
        >>> import fusepy as fp
        >>> fp.split([1.0, 2.0, 3.0, 4.0], 2)
        [[1.0, 2.0], [3.0, 4.0]]
    """
    at = one_axis(axis, ndim(x), "split")
    if isinstance(parts, (int, np.integer)):
        extent = shape(x)[at]
        if parts < 1 or extent % parts:
            hint = "name the indices at which to split: fp.split(x, (2, 5))"
            raise ShapeError(f"split() of {extent} elements into {parts}", saw=shape(x), hint=hint)
        ends: list[int | None] = [extent // int(parts) * k for k in range(1, int(parts))]
    else:
        ends = list(integers(parts, "split"))
    runs = [Run(a, b) for a, b in zip([None, *ends], [*ends, None])]
    return [_viewed("split", x, functools.partial(_part, at, run)) for run in runs]


def _part(axis: int, run: Run, rank: int, _: Any) -> ViewStep:
    return Indexed(rank, tuple(run if d == axis else ALL for d in range(rank)))
