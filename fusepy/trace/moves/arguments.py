"""The arguments of functions that move elements: axes, extents and shifts, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.memory.views import numbers
from fusepy.errors import ArgumentError, ShapeError
from fusepy.symbolic import Symbolic
from fusepy.trace.moves.steps import ALL, Indexed, Shape

AXES = "axes are counted from 0, or from the end with negative numbers"


def axis_hint(axis: Any) -> str:
    """Returns the hint for an axis that is no integer; a whole float, or an array of one such number, has the line to write."""
    single = not isinstance(axis, Symbolic) and getattr(axis, "size", 0) == 1
    number = cast("Any", axis).item() if single else axis
    if isinstance(number, bool) or not isinstance(number, (int, float)) or number % 1 != 0:
        return "count axes from 0"
    return f"axes are part of the program: write axis={int(number)}"


def one_axis(axis: Any, rank: int, name: str) -> int:
    """Returns an axis counted from the front.

    Raises:
        ArgumentError: if it is no integer.
        ShapeError: if it is out of range.
    """
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise ArgumentError(f"{name}(): axis {axis!r} is not an integer", hint=axis_hint(axis))
    place = int(cast("int", axis))
    if not -rank <= place < rank:
        raise ShapeError(
            f"{name}(): axis {axis} is out of range for an array of rank {rank}", hint=AXES,
            expected=f"{-rank} to {rank - 1}" if rank else "no axis, for one single value"
        )  # fmt: skip
    return place % rank


def several_axes(axis: Any, rank: int, name: str) -> tuple[int, ...]:
    """Returns one axis, or several, each counted from the front.

    Raises:
        ShapeError: if one is named twice.
    """
    listed = cast("Sequence[Any]", axis if isinstance(axis, (tuple, list)) else (axis,))
    found = tuple(one_axis(a, rank, name) for a in listed)
    if len(set(found)) != len(found):
        raise ShapeError(f"{name}(): an axis is named twice", saw=tuple(listed), hint="name each axis once")
    return found


def axes_order(axes: Sequence[Any], rank: int) -> tuple[int, ...]:
    """Returns the order of ``transpose(2, 0, 1)``, ``transpose((2, 0, 1))`` or ``transpose()``, which reverses the axes."""
    if not axes or axes == (None,):
        return tuple(reversed(range(rank)))
    order = several_axes(numbers(axes), rank, "transpose")
    if len(order) != rank:
        hint = "name every axis once, in their new order"
        raise ShapeError(f"transpose() of {rank} axes", saw=order, expected=f"{rank} axes", hint=hint)
    return order


def new_extents(shape: Sequence[Any]) -> tuple[int, ...]:
    """Returns the extents of ``reshape(2, 3)`` or ``reshape((2, 3))``; one may be -1."""
    return numbers(shape)


def squeezed(shape: Shape | None, rank: int, axis: Any) -> Indexed | None:
    """Returns the step that drops axes of extent 1: those that are named, or all in `shape`.

    Raises:
        ShapeError: if a named axis has another extent.
    """
    dropped = several_axes(axis, rank, "squeeze") if shape is None else [a for a, n in enumerate(shape) if n == 1]
    return Only(rank, tuple(0 if a in dropped else ALL for a in range(rank))) if dropped else None


class Only(Indexed):
    """The only element along some axes, which have extent 1."""

    def computed(self, shape: Shape, strides: Shape) -> Any:
        for item, extent in zip(self.items, shape):
            if item == 0 and extent != 1:
                raise ShapeError("squeeze() of an axis that is longer than 1", saw=shape, hint="index it: x[0]")
        return super().computed(shape, strides)
