"""Members of traced arrays beside operators: extents, and the methods that move elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fusepy.backend.marshals.generators import Shape
from fusepy.backend.memory.recast import no_numbers
from fusepy.ir.graph import Value
from fusepy.ir.strides import Count, TensorShape
from fusepy.location import user_line
from fusepy.trace.components.parts import part
from fusepy.trace.moves.arguments import axes_order, new_extents
from fusepy.trace.moves.indexing import indexed
from fusepy.trace.moves.record import moved
from fusepy.trace.moves.shapes import shape_of
from fusepy.trace.moves.steps import Broadcast, Permuted, Reshaped, ViewStep
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.traced import Traced
from fusepy.trace.writes.aliases import fresh, viewed

__all__ = ["array_member", "indexed", "part"]


def array_member(trace: OpenTrace, of: Traced, name: str) -> Any:
    """Returns the attribute or method `name` of a traced array; ``None`` if there is none."""
    if name == "flatten_dtype":
        return lambda: viewed(of, Traced(trace, _numbers(trace, trace.lift(of)), user_line()))
    if name not in _PROPERTIES and name not in _METHODS:
        return None
    value = trace.plain.array(trace.lift(of), user_line())
    if name in _PROPERTIES:
        return _PROPERTIES[name](trace, value)

    def method(*args: Any, **kwargs: Any) -> Traced:
        made = _stepped(trace, value, _METHODS[name](trace, value, *args, **kwargs))
        return fresh(made) if name == "copy" else viewed(of, made)

    return method


def _numbers(trace: OpenTrace, value: Value) -> Value:
    """Returns vectors, matrices and fixed arrays as numbers, with the components as trailing axes, as of tensors."""
    if value.type.scalar is None:
        raise no_numbers(value.type)
    value = trace.plain.array(value, user_line())
    return trace.plain.numbers(value, user_line()) if value.type.shape else value


def _stepped(trace: OpenTrace, value: Value, step: ViewStep | None) -> Traced:
    return Traced(trace, value if step is None else moved(trace, value, step), user_line())


def reshape(trace: OpenTrace, value: Value, *shape: Any) -> ViewStep:
    return Reshaped(value.rank, new_extents(shape))


def transpose(trace: OpenTrace, value: Value, *axes: Any) -> ViewStep | None:
    order = axes_order(axes, value.rank)
    return None if order == tuple(range(value.rank)) else Permuted(value.rank, order)


def broadcast_to(trace: OpenTrace, value: Value, *shape: Any) -> ViewStep:
    return Broadcast(value.rank, new_extents(shape))


def copy(trace: OpenTrace, value: Value) -> None:
    """Moves nothing: values do not change, so one is its own copy."""


def _extents(trace: OpenTrace, value: Value) -> tuple[int, ...]:
    """Returns the extents; those of a texture are the coordinates of its texels, as outside of traces."""
    if not value.rank:
        trace.refuse_part(value, ".shape")
    return Shape(shape_of(trace, value)) if value.arrival.texels else TensorShape(shape_of(trace, value))


_PROPERTIES: dict[str, Callable[[OpenTrace, Value], Any]] = {
    "shape": _extents,
    "ndim": lambda trace, value: value.rank,
    "size": lambda trace, value: Count(math.prod(_extents(trace, value))),
    "dtype": lambda trace, value: value.type,
    "T": lambda trace, value: _stepped(trace, value, transpose(trace, value)),
}
_METHODS: dict[str, Callable[..., ViewStep | None]] = {
    "reshape": reshape, "transpose": transpose, "broadcast_to": broadcast_to, "copy": copy, "contiguous": copy
}  # fmt: skip
