"""`Layout`: the shape, strides and alignment of an argument or destination. Launches depend on layouts, addresses and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fusepy.backend.kernels.overlap import span_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.strides import contiguous_strides


class Layout(NamedTuple):
    """The layout of an argument or result in memory.

    Attributes:
        base: elements between its lowest address and its first element.
        low: the last bits of its lowest address.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    base: int = 0
    linear: bool = True
    low: int = 0

    @staticmethod
    def of(value: Any) -> Layout:
        """Returns the layout of a placed argument; an argument that is no tensor has extents only."""
        if isinstance(value, Tensor):
            return Layout(value.shape, value.strides, 0 if value.linear else value.base, value.linear, value.low & 15)
        return Layout.contiguous(getattr(value, "shape", ()))

    @staticmethod
    def expected(value: Any, extents: Callable[[Any], tuple[int, ...]]) -> Layout:
        """Returns the layout that an argument will have once it is placed; all but computed tensors become contiguous."""
        placed = isinstance(value, Tensor) and getattr(value, "pending", None) is None
        return Layout.of(value) if placed else Layout.contiguous(extents(value))

    @staticmethod
    def contiguous(shape: tuple[int, ...]) -> Layout:
        """Returns the layout of new memory."""
        return Layout(shape, contiguous_strides(shape))

    def with_ones(self, axes: tuple[int, ...]) -> Layout:
        """Returns the layout of the same memory with axes of extent 1 at these places."""
        shape, strides = list(self.shape), list(self.strides)
        for axis in axes:
            shape.insert(axis, 1)
            strides.insert(axis, 0)
        return self._replace(shape=tuple(shape), strides=tuple(strides))


def layout_key(args: Sequence[Any], outs: Sequence[Any] | None) -> Any:
    """Returns the key of a tape: equal for calls that may share one.

    With destinations it also has the result of `shared_memory`.
    """
    key = tuple(
        [
            (a.shape, a.strides, 0 if a.linear else a.base, a.low & 15, a.grads and _of_gradients(a.grads))
            if isinstance(a, Tensor)
            else getattr(a, "shape", ())
            for a in args
        ]
    )
    if outs is None:
        return key
    described: list[Any] = []
    for out in outs:
        if isinstance(out, Tensor):
            described.append((out.key, out.shape, out.strides, out.base, out.low & 15))
        else:
            described.append(None if out is None else out.shape)
    return key, tuple(described), *shared_memory(args, outs)


def shared_memory(args: Sequence[Any], outs: Sequence[Any]) -> list[tuple[int, int, int]]:
    """Returns the destinations that overlap an argument: result, argument, and the bytes between their starts."""
    spans = [(out.low, out.high, j) for j, out in enumerate(outs) if isinstance(out, Tensor)]
    found: list[tuple[int, int, int]] = []
    for i, argument in enumerate(args):
        cls = argument.__class__
        if cls is Tensor:
            low, high = argument.low, argument.high
        elif cls is float or cls is int or (span := span_of(argument)) is None:
            continue
        else:
            low, high = span
        for start, end, j in spans:
            if low < end and start < high:
                found.append((j, i, start - low))
    return found


def _of_gradients(grads: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(None if g is None else (g.shape, g.strides, g.linear, g.low & 15) for g in grads)
