"""Arrays made of other arrays, under NumPy's names: joined, padded, rolled, repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.memory.host_arrays import lists_values
from fusepy.backend.memory.storage import Storage
from fusepy.backend.memory.views import integers
from fusepy.errors import ArgumentError, ShapeError
from fusepy.language.axes import numpys_words
from fusepy.language.movement.extents import made, ndim, shape
from fusepy.language.movement.graph_calls import node_of_values
from fusepy.language.movement.views import Extents, expand_dims, ravel, reshape
from fusepy.trace.moves import joins
from fusepy.trace.moves.arguments import one_axis, several_axes
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

__all__ = ["concatenate", "pad", "repeat", "roll", "stack", "tile"]


@numpys_words
@node_of_values
def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Returns arrays one after the other along an axis; with ``axis=None``, all elements along one axis.

    Inside a fused function, elementwise work before it runs in the kernel of the result.

    Raises:
        ShapeError: if they differ along another axis.

    Example:
        >>> import fusepy as fp
        >>> fp.concatenate([[1.0, 2.0], [3.0]])
        [1.0, 2.0, 3.0]
    """
    listed = _several("concatenate", arrays)
    if axis is None:
        listed, axis = [ravel(x) for x in listed], 0
    return made("concatenate", joins.concatenated, listed, one_axis(axis, ndim(listed[0]), "concatenate"))


@numpys_words
@node_of_values
def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Returns arrays of one shape along a new axis.

    Example:
        >>> import fusepy as fp
        >>> fp.stack([[1.0, 2.0], [3.0, 4.0]], axis=1)
        [[1.0, 3.0], [2.0, 4.0]]
    """
    listed = _several("stack", arrays)
    at = one_axis(axis, ndim(listed[0]) + 1, "stack")
    return made("concatenate", joins.concatenated, [expand_dims(x, at) for x in listed], at)


def _several(name: str, arrays: Sequence[Any]) -> list[Any]:
    """Returns a list of arrays; one array is that of its rows.

    Raises:
        ArgumentError: for a number, or no array.
    """
    if isinstance(arrays, (list, tuple)):
        listed: list[Any] = list(arrays)
    else:
        rows = hasattr(arrays, "shape") and ndim(arrays) > 0
        listed = [cast("Any", arrays)[i, ...] for i in range(shape(arrays)[0])] if rows else []
    listed = [stacked(x) for x in listed]
    if not listed:
        raise ArgumentError(f"{name}() takes several arrays", saw=repr(cast("Any", arrays))[:60], hint=f"write fp.{name}([a, b])")
    return listed


def stacked(x: Any) -> Any:
    """Returns nested lists with traced values or tensors among them as one array; anything else as it is."""
    return stack(cast("Sequence[Any]", x)) if lists_values(x) else x


@node_of_values
def pad(x: Any, width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    """Returns `x` with more elements before and behind it.

    Args:
        width: how many: a number, ``(before, behind)``, or such a pair for each axis.
        mode: ``"constant"``, ``"edge"`` (the nearest element), ``"wrap"``, ``"reflect"`` (without the edge) or ``"symmetric"``.
        constant_values: the number of the mode ``"constant"``.

    Raises:
        ArgumentError: for another mode.

    Example:
        >>> import fusepy as fp
        >>> fp.pad([1.0, 2.0], (1, 2)), fp.pad([1.0, 2.0], (1, 2), mode="edge")
        ([0.0, 1.0, 2.0, 0.0, 0.0], [1.0, 1.0, 2.0, 2.0, 2.0])
    """
    widths = _widths(width, ndim(x))
    if isinstance(constant_values, (Traced, Storage)):
        return made("pad", _pad, [x, constant_values], widths, mode)
    return made("pad", _pad, [x], widths, mode, constant_values)


def _widths(width: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """Returns a pair of widths for each axis.

    Raises:
        ShapeError: for anything else.
    """
    array = np.asarray(width)
    if array.dtype.kind not in "iu" or array.ndim > 2 or (array.size and array.min() < 0):
        raise ShapeError("pad() takes widths of 0 or more", saw=width, hint="write (before, behind) for each axis")
    try:
        pairs = np.broadcast_to(array, (rank, 2))
    except ValueError:
        hint = f"write one pair for each of the {rank} axes"
        raise ShapeError("pad() takes (before, behind) for each axis", saw=width, hint=hint) from None
    return tuple((int(a), int(b)) for a, b in pairs)


@node_of_values
def roll(x: Any, shift: Any, axis: Extents | None = None) -> Any:
    """Returns `x` with its elements moved along some axes, by default in C order; the last ones come in at the front.

    Args:
        shift: how far, for each axis; one number is for all. Inside a fused function it may be a traced integer.

    Example:
        >>> import fusepy as fp
        >>> fp.roll([1.0, 2.0, 3.0, 4.0], 1)
        [4.0, 1.0, 2.0, 3.0]
    """
    if axis is None and ndim(x) != 1:
        return reshape(roll(ravel(x), shift, 0), shape(x))
    if isinstance(axis, (tuple, list)) and len({a % max(ndim(x), 1) for a in axis}) < len(axis):  # one after the other
        shifts: Sequence[Any] = [*shift] if isinstance(shift, (tuple, list)) else [shift] * len(axis)
        for by, along in zip(shifts, axis, strict=True):
            x = roll(x, by, along)
        return x
    axes = several_axes(0 if axis is None else axis, ndim(x), "roll")
    if isinstance(shift, (Traced, Storage)):
        return made("roll", _roll, [x, shift], axes)
    shifts = integers(shift, "roll")
    if len(shifts) not in (1, len(axes)):
        raise ShapeError("roll() by other numbers of shifts and axes", saw=(shift, axis), hint="pair them")
    return made("roll", _roll, [x], axes, shifts if len(shifts) == len(axes) else shifts * len(axes))


@node_of_values
def repeat(x: Any, repeats: int, axis: int | None = None) -> Any:
    """Returns `x` with each element `repeats` times in a row along an axis, by default in C order.

    Example:
        >>> import fusepy as fp
        >>> fp.repeat([1.0, 2.0], 2)
        [1.0, 1.0, 2.0, 2.0]
    """
    if axis is None:
        return repeat(ravel(x), repeats, 0)
    (count,) = integers((repeats,), "repeat")
    _check_count("repeat", (count,))
    return made("repeat", _repeat, [x], count, one_axis(axis, ndim(x), "repeat"))


@node_of_values
def tile(x: Any, reps: Extents) -> Any:
    """Returns `x` several times along each axis; more numbers than axes add leading axes.

    Example:
        >>> import fusepy as fp
        >>> fp.tile([1.0, 2.0], (2, 2))
        [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]]
    """
    counts = integers(reps, "tile")
    _check_count("tile", counts)
    return made("tile", _tile, [x], (1,) * (ndim(x) - len(counts)) + counts)


def _check_count(name: str, counts: Sequence[int]) -> None:
    if any(n < 0 for n in counts):
        raise ShapeError(f"{name}() a negative number of times", saw=tuple(counts), hint="0 or more")


def _pad(trace: Trace, values: Sequence[Any], widths: Any, mode: str, constant: Any = 0) -> Any:
    return joins.padded(trace, values[0], widths, mode, Traced(trace, values[1], None) if len(values) > 1 else constant)


def _repeat(trace: Trace, values: Sequence[Any], count: int, axis: int) -> Any:
    return joins.repeated(trace, values[0], count, axis)


def _tile(trace: Trace, values: Sequence[Any], counts: Sequence[int]) -> Any:
    return joins.tiled(trace, values[0], counts)


def _roll(trace: Trace, values: Sequence[Any], axes: Sequence[int], shifts: Sequence[int] = ()) -> Any:
    return joins.rolled(trace, values[0], dict(zip(axes, shifts or [values[1]] * len(axes))))
