"""Arrays made of other arrays, under NumPy's names: joined, padded, rolled, repeated, and elements at indices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.memory.storage import Storage
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.views import integers
from fusepy.errors import ArgumentError, ShapeError
from fusepy.functions.fused import FusedFunction
from fusepy.language.movement.views import Extents, expand_dims, fused, ndim, ravel, reshape, shape
from fusepy.location import user_line
from fusepy.symbolic import Symbolic
from fusepy.trace.moves import joins
from fusepy.trace.moves.arguments import one_axis, several_axes
from fusepy.trace.moves.indexing import host_indices, indexed, is_listed
from fusepy.trace.moves.steps import Run
from fusepy.trace.trace import Trace, current_trace
from fusepy.trace.traced import Traced

__all__ = [
    "concatenate",
    "pad",
    "repeat",
    "roll",
    "stack",
    "take",
    "take_along_axis",
    "tile",
]


def _made(name: str, arrays: Sequence[Any], *settings: Any) -> Any:
    """Returns what `_MAKING` makes of arrays: recorded in a trace, else computed at once."""
    trace = current_trace()
    if name in _AT:
        arrays = [host_indices(x) if k and is_listed(x) else x for k, x in enumerate(arrays)]
    if trace is None or any(isinstance(x, Symbolic) and not isinstance(x, Traced) for x in arrays):
        return _eager(name, settings)(*arrays)
    values = [trace.lift(x) for x in arrays]
    return Traced(trace, _MAKING[name](trace, values, *settings), user_line())


@functools.lru_cache(maxsize=512)
def _eager(name: str, settings: tuple[Any, ...]) -> FusedFunction:
    """Returns the fused function that computes at once."""
    return fused(name, lambda *arrays: _made(name, arrays, *settings))


def concatenate(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Returns arrays one behind the other along an axis.

    Inside a fused function, what they are computed from element by element is computed in the kernel of the result.

    Raises:
        ShapeError: if they differ along another axis.

    Example:
        >>> import fusepy as fp
        >>> fp.concatenate([[1.0, 2.0], [3.0]])
        [1.0, 2.0, 3.0]
    """
    listed = _several("concatenate", arrays)
    return _made("concatenate", listed, one_axis(axis, ndim(listed[0]), "concatenate"))


def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Returns arrays of one shape along a new axis.

    Example:
        >>> import fusepy as fp
        >>> fp.stack([[1.0, 2.0], [3.0, 4.0]], axis=1)
        [[1.0, 3.0], [2.0, 4.0]]
    """
    listed = _several("stack", arrays)
    at = one_axis(axis, ndim(listed[0]) + 1, "stack")
    return _made("concatenate", [expand_dims(x, at) if ndim(x) else reshape(x, (1,)) for x in listed], at)


def _several(name: str, arrays: Sequence[Any]) -> list[Any]:
    """Returns a list of arrays.

    Raises:
        ArgumentError: for one array, or none.
    """
    listed = list(arrays) if isinstance(arrays, (list, tuple)) else None
    if not listed:
        raise ArgumentError(
            f"{name}() takes several arrays",
            place=user_line(),
            saw=repr(cast("Any", arrays))[:60],
            hint=f"write fp.{name}([a, b])",
        )
    return listed


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
        return _made("pad", [x, constant_values], widths, mode)
    return _made("pad", [x], widths, mode, constant_values)


def _widths(width: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """Returns a pair of widths for each axis.

    Raises:
        ShapeError: for anything else.
    """
    array = np.asarray(width)
    if array.dtype.kind not in "iu" or array.ndim > 2 or (array.size and array.min() < 0):
        raise ShapeError(
            "pad() takes widths of 0 or more", place=user_line(), saw=width, hint="write (before, behind) for each axis"
        )
    try:
        pairs = np.broadcast_to(array, (rank, 2))
    except ValueError:
        hint = f"write one pair for each of the {rank} axes"
        raise ShapeError("pad() takes (before, behind) for each axis", place=user_line(), saw=width, hint=hint) from None
    return tuple((int(a), int(b)) for a, b in pairs)


def roll(x: Any, shift: Any, axis: Extents | None = None) -> Any:
    """Returns `x` with its elements moved along some axes, by default in C order; what leaves the end comes in at the front.

    Args:
        shift: how far, for each axis; one number is for all. Inside a fused function it may be a traced integer.

    Example:
        >>> import fusepy as fp
        >>> fp.roll([1.0, 2.0, 3.0, 4.0], 1)
        [4.0, 1.0, 2.0, 3.0]
    """
    if axis is None and ndim(x) != 1:
        return reshape(roll(ravel(x), shift, 0), shape(x))
    axes = several_axes(0 if axis is None else axis, ndim(x), "roll")
    if isinstance(shift, (Traced, Storage)):
        return _made("roll", [x, shift], axes)
    shifts = integers(shift, "roll")
    if len(shifts) not in (1, len(axes)):
        raise ShapeError("roll() by other numbers of shifts and axes", place=user_line(), saw=(shift, axis), hint="pair them")
    return _made("roll", [x], axes, shifts if len(shifts) == len(axes) else shifts * len(axes))


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
    return _made("repeat", [x], count, one_axis(axis, ndim(x), "repeat"))


def tile(x: Any, reps: Extents) -> Any:
    """Returns `x` several times along each axis; more numbers than axes add leading axes.

    Example:
        >>> import fusepy as fp
        >>> fp.tile([1.0, 2.0], (2, 2))
        [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]]
    """
    counts = integers(reps, "tile")
    _check_count("tile", counts)
    return _made("tile", [x], (1,) * (ndim(x) - len(counts)) + counts)


def _check_count(name: str, counts: Sequence[int]) -> None:
    if any(n < 0 for n in counts):
        raise ShapeError(f"{name}() a negative number of times", place=user_line(), saw=tuple(counts), hint="0 or more")


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """Returns the elements of `x` at some indices along an axis, by default in C order. ``x[i]`` is the same along axis 0.

    A negative index counts from the end. One outside of the array takes the nearest element, since a device raises no errors.

    Args:
        indices: integers of any shape, which replaces the axis.

    Raises:
        ShapeError: for indices that are no integers.

    Example:
        >>> import fusepy as fp
        >>> fp.take([1.0, 2.0, 3.0], [2, 0, -1])
        [3.0, 1.0, 3.0]
    """
    if axis is None:
        return take(ravel(x), indices, 0)
    return _made("take", [x, indices], one_axis(axis, ndim(x), "take"))


def take_along_axis(x: Any, indices: Any, axis: int) -> Any:
    """Returns for each of `indices` the element at it along an axis, and at its own place along the other axes.

    Raises:
        ShapeError: unless `indices` has the shape of `x` but for that axis.

    Example:
        >>> import fusepy as fp
        >>> fp.take_along_axis([[3.0, 1.0], [5.0, 7.0]], [[1], [0]], axis=1)
        [[1.0], [5.0]]
    """
    return _made("take_along_axis", [x, indices], one_axis(axis, ndim(x), "take_along_axis"))


def _at(index: Any) -> tuple[list[Any], tuple[Any, ...]] | None:
    """Returns the arrays of an index, and its items with `Place` for these; ``None`` if it has none."""
    items = cast("tuple[Any, ...]", index) if isinstance(index, tuple) else (index,)
    arrays = [item for item in items if isinstance(item, (Symbolic, Storage)) or is_listed(item)]
    if not arrays:
        return None
    return arrays, tuple(Run(i.start, i.stop, i.step) if isinstance(i, slice) else _ARRAY if _is(i, arrays) else i for i in items)


def _is(item: Any, arrays: Sequence[Any]) -> bool:
    return any(item is array for array in arrays)


_ARRAY = "array"  # stands for one in the items of an index
_slice: Callable[[Tensor, Any], Any] = Tensor.__getitem__


def _getitem(self: Tensor, index: Any) -> Any:
    found = _at(index)
    return _slice(self, index) if found is None else _made("index", [self, *found[0]], found[1])


Tensor.__getitem__ = _getitem


def _index(trace: Trace, values: Sequence[Any], items: Sequence[Any]) -> Any:
    arrays = iter(values[1:])
    found = [i.slice() if isinstance(i, Run) else Traced(trace, next(arrays), None) if i is _ARRAY else i for i in items]
    return indexed(trace, values[0], tuple(found))


def _take(trace: Trace, values: Sequence[Any], axis: int) -> Any:
    x, at = values
    return indexed(trace, x, (*[slice(None)] * axis, Traced(trace, at, user_line())))


def _pad(trace: Trace, values: Sequence[Any], widths: Any, mode: str, constant: Any = 0) -> Any:
    return joins.padded(trace, values[0], widths, mode, Traced(trace, values[1], None) if len(values) > 1 else constant)


def _repeat(trace: Trace, values: Sequence[Any], count: int, axis: int) -> Any:
    return joins.repeated(trace, values[0], count, axis)


def _tile(trace: Trace, values: Sequence[Any], counts: Sequence[int]) -> Any:
    return joins.tiled(trace, values[0], counts)


def _take_along_axis(trace: Trace, values: Sequence[Any], axis: int) -> Any:
    return joins.taken_along(trace, values[0], values[1], axis)


def _roll(trace: Trace, values: Sequence[Any], axes: Sequence[int], shifts: Sequence[int] = ()) -> Any:
    return joins.rolled(trace, values[0], dict(zip(axes, shifts or [values[1]] * len(axes))))


_AT = ("index", "take", "take_along_axis")  # of whose arrays all but the first are indices
_MAKING: dict[str, Callable[..., Any]] = {
    "concatenate": joins.concatenated,
    "index": _index,
    "pad": _pad,
    "repeat": _repeat,
    "roll": _roll,
    "take": _take,
    "take_along_axis": _take_along_axis,
    "tile": _tile,
}
