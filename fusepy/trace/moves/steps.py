"""Steps: views of an array by their arguments. A step finds the shape of its result, and views arrays of all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fusepy.backend.memory import views
from fusepy.backend.memory.host_arrays import ListView, list_array
from fusepy.backend.memory.storage import Storage
from fusepy.ir.strides import contiguous_strides
from fusepy.symbolic import TRACING

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Run:
    """A slice, which can be hashed; see `slice`."""

    start: int | None = None
    stop: int | None = None
    step: int | None = None

    def slice(self) -> slice:
        return slice(self.start, self.stop, self.step)

    def range(self, extent: int) -> range:
        """Returns the indices that the slice takes of an axis."""
        return range(*self.slice().indices(extent))


ALL = Run()
Item = int | None | Run


@dataclass(frozen=True)
class ViewStep:
    """One view of an array.

    Attributes:
        rank: the number of axes of the array that it is about. Axes behind these are components, which stay.
    """

    rank: int

    def shape(self, shape: Shape) -> Shape:
        """Returns the shape of the view of an array of this shape.

        Raises:
            ShapeError: if the step does not fit the shape.
        """
        return self.computed(shape, (0,) * len(shape))[0]

    def computed(self, shape: Shape, strides: Shape) -> views.View:
        """Returns shape, strides and start of the view; see `fusepy.backend.memory.views`."""
        raise NotImplementedError

    def of(self, value: Any) -> Any:
        """Returns the view of an array, a list, a tensor, or an array of another framework."""
        if isinstance(value, Storage):
            return value.seen(self._seen, None)
        if isinstance(value, (list, tuple)):
            made = np.asarray(self.of_array(list_array(cast("Any", value))))
            return ListView(made) if made.ndim else made.item()
        self.shape(tuple(value.shape))  # raises the errors of tensors
        return self.of_array(value)

    def of_array(self, array: Any) -> Any:
        """Returns the view of an array with NumPy's methods."""
        raise NotImplementedError

    def _seen(self, shape: Shape, strides: Shape, argument: None) -> views.View:
        return self.computed(shape, strides)


@dataclass(frozen=True)
class Indexed(ViewStep):
    """``x[items]`` for integers, slices and ``None``: one item for each of the `rank` axes, and any number of ``None``."""

    items: tuple[Item, ...] = ()

    def computed(self, shape: Shape, strides: Shape) -> views.View:
        return views.indexed(shape, strides, self._index())

    def of_array(self, array: Any) -> Any:
        if _is_torch(array):
            return self._of_torch(array)
        made: Any = array[self._index()]
        # a NumPy scalar counts as a number of Python's; an element has the type of its array
        return np.asarray(cast("Any", made)) if isinstance(made, np.number) else made

    def _index(self) -> tuple[Any, ...]:
        return tuple(item.slice() if isinstance(item, Run) else item for item in self.items)

    def _of_torch(self, tensor: Any) -> Any:
        """Slices forwards, then flips axes that run backwards: torch has no negative strides."""
        index: list[Any] = []
        flipped: list[int] = []
        axis, place = 0, 0
        for item in self.items:
            if isinstance(item, Run):
                found = item.range(int(tensor.shape[axis]))
                if found.step < 0:
                    flipped.append(place)
                    found = found[::-1]
                index.append(slice(found.start, found.stop, found.step))
            else:
                index.append(item)
            axis += item is not None
            place += not isinstance(item, int)
        made = tensor[tuple(index)]
        return made.flip(flipped) if flipped else made


@dataclass(frozen=True)
class Permuted(ViewStep):
    """The axes in another order."""

    axes: tuple[int, ...] = ()

    def computed(self, shape: Shape, strides: Shape) -> views.View:
        return views.transposed(shape, strides, self.axes_of(len(shape)))

    def of_array(self, array: Any) -> Any:
        axes = self.axes_of(array.ndim)
        return array.permute(axes) if _is_torch(array) else array.transpose(axes)

    def axes_of(self, rank: int) -> tuple[int, ...]:
        """Returns the order of all axes of an array in memory, whose components stay."""
        return (*self.axes, *range(self.rank, rank))


@dataclass(frozen=True)
class Reshaped(ViewStep):
    """The same elements in other extents; one may be -1. Arrays that are not contiguous are copied first, as in NumPy."""

    extents: tuple[int, ...] = ()

    def computed(self, shape: Shape, strides: Shape) -> views.View:
        return views.reshaped(shape, strides, self.wanted(shape))

    def shape(self, shape: Shape) -> Shape:
        return views.extents_of(shape, self.wanted(shape))

    def wanted(self, shape: Shape) -> Shape:
        """Returns the extents with the components of `shape`; one of them may still be -1."""
        return (*views.extents_of(shape[: self.rank], self.extents), *shape[self.rank :])

    def of(self, value: Any) -> Any:
        given: Any = value
        if isinstance(value, Storage) and not value.linear:
            if TRACING.get() is not None:  # where only the extents are asked for
                shape = self.shape(value.shape)
                return value.viewed(value.element, shape, contiguous_strides(shape))
            given = given.contiguous()
        return super().of(given)

    def of_array(self, array: Any) -> Any:
        return array.reshape(self.wanted(tuple(array.shape)))


@dataclass(frozen=True)
class Broadcast(ViewStep):
    """The array broadcast to other extents."""

    extents: tuple[int, ...] = ()

    def computed(self, shape: Shape, strides: Shape) -> views.View:
        return views.broadcast(shape, strides, (*self.extents, *shape[self.rank :]))

    def of_array(self, array: Any) -> Any:
        wanted = (*self.extents, *array.shape[self.rank :])
        return array.broadcast_to(wanted) if _is_torch(array) else np.broadcast_to(array, wanted)


def _is_torch(array: Any) -> bool:
    return hasattr(array, "permute")


def shape_after(steps: Sequence[ViewStep], shape: Shape) -> Shape:
    """Returns the shape of an array of this shape after all steps."""
    for step in steps:
        shape = step.shape(shape)
    return shape


def sliced(first: Indexed, then: Indexed, shape: Shape) -> Indexed | None:
    """Returns two steps that slice only as one, for an array of this shape; ``None`` for others.

    Example:
        >>> sliced(Indexed(1, (Run(1),)), Indexed(1, (Run(None, -1),)), (9,)).items
        (Run(start=1, stop=8, step=1),)
    """
    items: list[Run] = []
    if first.rank != then.rank or len(first.items) != len(then.items):
        return None
    for a, b, extent in zip(first.items, then.items, shape):
        if not isinstance(a, Run) or not isinstance(b, Run):
            return None
        found = a.range(extent)[b.slice()]
        items.append(Run(found.start, None if found.stop < 0 else found.stop, found.step))
    return Indexed(first.rank, tuple(items))
