"""Elements of arrays at indices, under NumPy's names; ``t[i]`` of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from fusepy.arguments.mapped import Mapped
from fusepy.backend.memory.storage import Storage
from fusepy.backend.memory.tensor import Tensor
from fusepy.language.movement.extents import made, ndim
from fusepy.language.movement.graph_calls import node_of_values
from fusepy.language.movement.views import ravel
from fusepy.location import user_line
from fusepy.symbolic import Symbolic
from fusepy.trace.moves import joins
from fusepy.trace.moves.arguments import one_axis
from fusepy.trace.moves.indexing import host_indices, indexed, is_listed
from fusepy.trace.moves.steps import Run
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

__all__ = ["take", "take_along_axis"]


@node_of_values
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
    return made("take", _take, [x, _listed(indices)], one_axis(axis, ndim(x), "take"))


@node_of_values
def take_along_axis(x: Any, indices: Any, axis: int) -> Any:
    """Returns the elements at `indices` along an axis; along the other axes, an element has the place of its index.

    Raises:
        ShapeError: unless `indices` has the shape of `x` but for that axis.

    Example:
        >>> import fusepy as fp
        >>> fp.take_along_axis([[3.0, 1.0], [5.0, 7.0]], [[1], [0]], axis=1)
        [[1.0], [5.0]]
    """
    return made("take_along_axis", _take_along_axis, [x, _listed(indices)], one_axis(axis, ndim(x), "take_along_axis"))


def _at(index: Any) -> tuple[list[Any], tuple[Any, ...]] | None:
    """Returns the arrays of an index, and its items with `Place` for these; ``None`` if it has none."""
    items = cast("tuple[Any, ...]", index) if isinstance(index, tuple) else (index,)
    arrays = [item for item in items if isinstance(item, (Symbolic, Storage, Mapped)) or is_listed(item)]
    if not arrays:
        return None
    return arrays, tuple(_run(i) if isinstance(i, slice) else _ARRAY if any(i is array for array in arrays) else i for i in items)


def _run(item: Any) -> Run:
    return Run(item.start, item.stop, item.step)


_ARRAY = "array"  # stands for one in the items of an index
_slice: Callable[[Tensor, Any], Any] = Tensor.__getitem__


def _getitem(self: Tensor, index: Any) -> Any:
    return _slice(self, index) if _at(index) is None else elements(self, index)


def elements(x: Any, index: Any) -> Any:
    """Returns ``x[index]`` along the axes of `x`, which may be mapped; the index may hold arrays."""
    items = cast("tuple[Any, ...]", index) if isinstance(index, tuple) else (index,)
    found = _at(index) or ([], tuple(_run(i) if isinstance(i, slice) else i for i in items))
    return made("index", _index, [x, *map(_listed, found[0])], found[1])


Tensor.__getitem__ = _getitem


def _listed(indices: Any) -> Any:
    """Returns indices of the host as integers of 32 bits, a list as a list."""
    if not is_listed(indices):
        return indices
    found = host_indices(indices)
    return found.tolist() if isinstance(indices, list) else found


def _index(trace: Trace, values: Sequence[Any], items: Sequence[Any]) -> Any:
    arrays = iter(values[1:])
    found = [i.slice() if isinstance(i, Run) else Traced(trace, next(arrays), None) if i is _ARRAY else i for i in items]
    if len(found) == 1 and not values[0].rank and values[0].type.shape:  # components of a single vector
        return trace.lift(Traced(trace, values[0], user_line())[found[0]])
    return indexed(trace, values[0], tuple(found))


def _take(trace: Trace, values: Sequence[Any], axis: int) -> Any:
    x, at = values
    return indexed(trace, x, (*[slice(None)] * axis, Traced(trace, at, user_line())))


def _take_along_axis(trace: Trace, values: Sequence[Any], axis: int) -> Any:
    return joins.taken_along(trace, values[0], values[1], axis)
